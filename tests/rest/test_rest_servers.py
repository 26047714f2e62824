"""Registry and proxy as processes on a real broker: Confluent's clients, all formats, a second registry that takes over."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext

from kafkapy.common.free_ports import free_ports
from tests.broker_process import BrokerProcess
from tests.rest.http_server_process import HttpServerProcess
from tests.rest.odd_requests import endpoints, odd_requests
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

V2 = "application/vnd.kafka.v2+json"
RECORD = json.dumps({"type": "record", "name": "R", "fields": [{"name": "u", "type": ["null", "string"]}]})


class Servers:
    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        ports = free_ports(3)
        options = {"kafkastore_bootstrap_servers": f"PLAINTEXT://{broker.address}", "host_name": "127.0.0.1"}
        self.registries = [
            HttpServerProcess("schema_registry_start", broker.directory, port, kafkastore_timeout_ms="5000", **options)
            for port in ports[:2]
        ]
        registry_url = ",".join(f"http://127.0.0.1:{port}" for port in ports[:2])
        self.proxy = HttpServerProcess(
            "kafka_rest_start",
            broker.directory,
            ports[2],
            bootstrap_servers=broker.address,
            schema_registry_url=registry_url,
            access_control_allow_origin="https://shop.example.org",
            kafkapy_max_body_bytes="1000000",
        )


@pytest.fixture(scope="module")
def servers(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    broker.start()
    found = Servers(broker)
    started = [*found.registries, found.proxy]
    for server in started:
        server.start()
    yield found
    for server in started:
        if server.process is not None and server.process.poll() is None:
            assert server.stop() == 0
    assert broker.stop() == 0


def register(server: HttpServerProcess, subject: str, schema: str) -> Any:
    return server.ask("POST", f"/subjects/{subject}/versions", {"schema": schema})


def test_registering_at_either_instance(servers: Servers) -> None:
    one, other = servers.registries
    wait_until(lambda: register(one, "either", '"int"')[0] == 200)
    wait_until(lambda: register(other, "either", '"long"')[0] == 200)
    wait_until(
        lambda: (
            one.ask("GET", "/subjects/either/versions")
            == other.ask("GET", "/subjects/either/versions")
            == (200, [1, 2])
        )
    )
    status, answer = register(other, "either", '"string"')
    assert (status, answer["error_code"]) == (409, 409)


def test_confluents_python_client(servers: Servers) -> None:
    url = f"http://127.0.0.1:{servers.registries[1].port}"
    client = SchemaRegistryClient({"url": url})
    wait_until(lambda: register(servers.registries[1], "warm", '"int"')[0] == 200)
    context = SerializationContext("orders", MessageField.VALUE)
    data = AvroSerializer(client, RECORD)({"u": "hi"}, context)
    assert AvroDeserializer(SchemaRegistryClient({"url": url}))(data, context) == {"u": "hi"}
    version = client.get_latest_version("orders-value")
    assert (version.version, version.subject) == (1, "orders-value")
    assert client.get_subjects()
    assert client.test_compatibility("orders-value", Schema('"int"', "AVRO")) is False
    client.set_compatibility("orders-value", "NONE")
    assert client.get_compatibility("orders-value") == "NONE"
    assert client.delete_subject("orders-value") == [1]
    with pytest.raises(SchemaRegistryError, match="40401"):
        client.get_latest_version("nowhere")


def test_events(servers: Servers) -> None:
    proxy = servers.proxy
    assert proxy.ask("POST", "/events/clicks", {"a": 1})[1]["count"] == 1
    lines = b'{"user":{"id":"x"}}\n{"user":{"id":"x"}}\n\n'
    status, headers, body = proxy.send(
        "POST",
        "/events/clicks?keyField=user.id",
        lines,
        content_type="application/x-ndjson",
        origin="https://shop.example.org",
    )
    assert (status, json.loads(body)["count"]) == (200, 2)
    assert headers["access-control-allow-origin"] == "https://shop.example.org"
    assert proxy.send("POST", "/events/clicks", b'{"a":1}\n{', content_type="application/x-ndjson")[0] == 400
    assert proxy.send("POST", "/events/clicks", b"[" + b"1," * 600_000 + b"1]")[0] == 413
    status, headers, _ = proxy.send(
        "OPTIONS", "/events/clicks", origin="https://shop.example.org", access_control_request_method="POST"
    )
    assert (status, "POST" in headers["access-control-allow-methods"]) == (204, True)
    status, offsets = proxy.ask("GET", "/topics/clicks/partitions/0/offsets")
    assert offsets == {"beginning_offset": 0, "end_offset": 3}


@pytest.mark.parametrize(
    ("kind", "body", "values"),
    [
        ("binary", {}, ["aGk=", "AA=="]),
        ("json", {}, [{"a": 1}, [1, "x"]]),
        ("avro", {"value_schema": RECORD}, [{"u": {"string": "hi"}}, {"u": None}]),
        ("jsonschema", {"value_schema": '{"type":"object"}'}, [{"a": 5}]),
        (
            "protobuf",
            {"value_schema": 'syntax="proto3"; message A { int32 a = 1; repeated string some_texts = 2; }'},
            [{"a": 5, "someTexts": ["x"]}, {"a": 0, "someTexts": []}],
        ),
    ],
)
def test_v2_produce_and_consume(servers: Servers, kind: str, body: dict[str, Any], values: list[Any]) -> None:
    proxy, topic = servers.proxy, f"v2-{kind}"
    records = [{"value": value} for value in values]
    status, sent = proxy.ask(
        "POST", f"/topics/{topic}", {**body, "records": records}, f"application/vnd.kafka.{kind}.v2+json"
    )
    assert status == 200, sent
    assert [row["offset"] for row in sent["offsets"]] == list(range(len(values)))
    assert (sent["value_schema_id"] is not None) is bool(body)
    made = proxy.ask("POST", f"/consumers/{kind}", {"name": "i", "format": kind, "auto.offset.reset": "earliest"}, V2)[
        1
    ]
    instance = made["base_uri"].partition(f":{proxy.port}")[2]
    assert proxy.ask("POST", f"{instance}/subscription", {"topics": [topic]}, V2) == (204, None)
    got: list[Any] = []

    def all_there() -> bool:
        answer = proxy.ask("GET", f"{instance}/records?timeout=2000", accept=f"application/vnd.kafka.{kind}.v2+json")
        assert answer[0] == 200, answer
        got.extend(record["value"] for record in answer[1])
        return len(got) >= len(values)

    wait_until(all_there)
    assert got == values
    assert proxy.ask("GET", f"{instance}/records", accept="application/vnd.kafka.unknown+json")[0] == 406
    assert proxy.ask("POST", f"{instance}/offsets", {}, V2) == (204, None)
    status, committed = proxy.ask("GET", f"{instance}/offsets", {"partitions": [{"topic": topic, "partition": 0}]}, V2)
    assert committed["offsets"][0]["offset"] == len(values)
    assert proxy.ask("DELETE", instance, kind=V2) == (204, None)
    assert proxy.ask("DELETE", instance, kind=V2)[1]["error_code"] == 40403


def test_v2_refusals(servers: Servers) -> None:
    proxy = servers.proxy
    for path, content, kind, code in [
        ("/topics/refused", {"records": []}, V2, 422),
        ("/topics/refused", {"records": [{"value": "no base64!"}]}, V2, 400),
        ("/topics/refused", {"records": [{"value": "aGk=", "partition": 99}]}, V2, 40402),
        ("/topics/refused", {"records": [{"value": {"u": None}}]}, "application/vnd.kafka.avro.v2+json", 42202),
        (
            "/topics/refused",
            {"value_schema": RECORD, "records": [{"value": 3}]},
            "application/vnd.kafka.avro.v2+json",
            42203,
        ),
        (
            "/topics/refused",
            {"value_schema": "{", "records": [{"value": 3}]},
            "application/vnd.kafka.avro.v2+json",
            40801,
        ),
        ("/topics/refused", {"records": [{"value": 3}]}, "text/html", 415),
        ("/consumers/g", {"format": "xml"}, V2, 422),
    ]:
        assert proxy.ask("POST", path, content, kind)[1]["error_code"] == code, (path, content)
    schema_id = register(servers.registries[0], "another-value", RECORD)[1]["id"]
    by_id = {"value_schema_id": schema_id, "records": [{"value": {"u": None}}]}
    kind = "application/vnd.kafka.avro.v2+json"
    assert proxy.ask("POST", "/topics/elsewhere", by_id, kind)[1]["error_code"] == 40801, "not of this subject"
    assert proxy.ask("POST", "/topics/another", by_id, kind)[0] == 200
    assert proxy.ask("GET", "/topics/nowhere")[1]["error_code"] == 40401
    assert proxy.ask("GET", "/consumers/g/instances/none/records")[1]["error_code"] == 40403


def test_odd_requests(servers: Servers) -> None:
    proxy, topic = servers.proxy, "odd-requests"
    cluster = proxy.ask("GET", "/v3/clusters")[1]["data"][0]["cluster_id"]
    assert proxy.ask("POST", f"/v3/clusters/{cluster}/topics", {"topic_name": topic, "partitions_count": 1})[0] == 201
    one = {"name": "one", "consumer.request.timeout.ms": 1}
    assert proxy.ask("POST", "/consumers/odd", one, V2)[0] == 200
    found = endpoints(cluster, topic, ("odd", "one"), True)
    slow = {("PATCH", topic), ("GET", "records")}  # many partitions, or a wait
    safe = [each for each in found if (each.method, each.path[-1]) not in slow]
    for request in odd_requests(7, 600, safe):
        status, _, answer = proxy.send(request.method, request.target, request.body, content_type=request.kind)
        assert status < 500, (request, answer)


def test_v3(servers: Servers) -> None:
    proxy = servers.proxy
    cluster = proxy.ask("GET", "/v3/clusters")[1]["data"][0]["metadata"]["self"].partition(f":{proxy.port}")[2]
    body = {"topic_name": "three", "partitions_count": 2, "configs": [{"name": "retention.ms", "value": "5000"}]}
    assert proxy.ask("POST", f"{cluster}/topics", body)[0] == 201
    assert proxy.ask("POST", f"{cluster}/topics", body)[1]["error_code"] == 40002
    assert proxy.ask("GET", f"{cluster}/topics/three/configs/retention.ms")[1]["value"] == "5000"
    assert proxy.ask("PUT", f"{cluster}/topics/three/configs/retention.ms", {"value": "6000"}) == (204, None)
    assert proxy.ask("GET", f"{cluster}/topics/three/configs/retention.ms")[1]["value"] == "6000"
    assert proxy.ask("DELETE", f"{cluster}/topics/three/configs/retention.ms") == (204, None)
    assert proxy.ask("GET", f"{cluster}/topics/three/configs/retention.ms")[1]["is_default"] is True
    assert proxy.ask("PATCH", f"{cluster}/topics/three", {"partitions_count": 3})[1]["partitions_count"] == 3
    assert len(proxy.ask("GET", f"{cluster}/topics/three/partitions")[1]["data"]) == 3
    assert proxy.ask("GET", f"{cluster}/topics/three/partitions/0/replicas")[1]["data"][0]["is_leader"] is True
    one = {"key": {"type": "STRING", "data": "k"}, "value": {"type": "JSON", "data": {"a": 1}}}
    status, answer = proxy.ask("POST", f"{cluster}/topics/three/records", one)
    assert (status, answer["error_code"], answer["offset"], answer["value"]["size"]) == (200, 200, 0, 7)
    two = json.dumps(one).encode() + b"\n" + b'{"value": 3}'
    status, _, raw = proxy.send("POST", f"{cluster}/topics/three/records", two, content_type="application/json")
    assert (status, [json.loads(line)["error_code"] for line in raw.splitlines()]) == (200, [200, 400])
    assert proxy.ask("GET", f"{cluster}/brokers")[1]["data"][0]["broker_id"] == 0
    assert proxy.ask("GET", f"{cluster}/consumer-groups")[0] == 200
    assert proxy.ask("DELETE", f"{cluster}/topics/three") == (204, None)
    assert proxy.ask("GET", "/v3/clusters/another/topics")[0] == 404


def test_another_instance_takes_over(servers: Servers) -> None:
    """The primary is killed; when its session is over, the other one writes. Nothing is lost, and ids go on."""
    one, other = servers.registries
    wait_until(lambda: register(one, "before", '"int"')[0] == 200)
    highest = max(register(one, f"before-{i}", f'{{"type":"fixed","name":"F{i}","size":1}}')[1]["id"] for i in range(3))
    primary = one if b"The primary is this instance" in one.output.read_bytes() else other
    left = other if primary is one else one
    primary.kill()
    wait_until(lambda: register(left, "after", '{"type":"fixed","name":"After","size":1}')[0] == 200)
    assert register(left, "after", '{"type":"fixed","name":"After","size":1}')[1]["id"] == highest + 1
    assert left.ask("GET", "/subjects/before-2/versions") == (200, [1])
