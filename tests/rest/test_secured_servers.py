"""Registry and proxy with a secured Kafka behind them, by `kafkastore.*` and `client.*`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.free_ports import free_ports
from kafkapy.testing import KafkaCluster
from kafkapy.testing.cluster_security import JAVA
from tests.rest.http_server_process import HttpServerProcess
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

JSON = "application/vnd.kafka.json.v2+json"


def test_registry_and_proxy(tmp_path: Path) -> None:
    registry_port, proxy_port = free_ports(2)
    with KafkaCluster(topics="orders", secured=True, users=["registry", "proxy"]) as kafka:
        kafka.allow("registry", topic="_schemas")
        kafka.allow("registry", "READ", group="schema-registry")
        kafka.allow("proxy", "WRITE", topic="orders")

        def configs(user: str, prefix: str) -> dict[str, Any]:
            options = kafka.client_options(user, JAVA)
            del options["bootstrap.servers"]
            return {f"{prefix}.{name}": value for name, value in options.items()}

        registry = HttpServerProcess(
            "schema_registry_start",
            tmp_path,
            registry_port,
            host_name="127.0.0.1",
            kafkastore_topic_replication_factor="1",
            kafkastore_bootstrap_servers=f"SASL_SSL://{kafka.bootstrap_servers}",
            **configs("registry", "kafkastore"),
        )
        proxy = HttpServerProcess(
            "kafka_rest_start",
            tmp_path,
            proxy_port,
            bootstrap_servers=f"SASL_SSL://{kafka.bootstrap_servers}",
            schema_registry_url=f"http://127.0.0.1:{registry_port}",
            **configs("proxy", "client"),
        )
        for server in (registry, proxy):
            server.start()
        try:
            wait_until(lambda: registry.ask("POST", "/subjects/s/versions", {"schema": '"int"'})[0] == 200)
            records = json.dumps({"records": [{"value": {"order": 1}}]}).encode()
            status, _, answer = proxy.send("POST", "/topics/orders", records, Content_Type=JSON)
            assert (status, json.loads(answer)["offsets"][0]["offset"]) == (200, 0)
            assert [record.value for record in kafka.records("orders")] == [b'{"order":1}']
            status, _, answer = proxy.send("POST", "/topics/_schemas", records, Content_Type=JSON)
            assert status == 403, answer
        finally:
            for server in (registry, proxy):
                assert server.stop() == 0
        for server in (registry, proxy):
            assert kafka.client_options("proxy")["sasl_plain_password"] not in server.output.read_text()
