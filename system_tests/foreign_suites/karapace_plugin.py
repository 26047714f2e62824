"""The pytest plugin of Karapace's suite: its fixtures get registries and proxies of kafkapy in place of its own.

It runs under the Python that has Karapace's packages, and imports nothing of kafkapy's. Every test gets servers and a topic
of its own, as the suite expects.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

BROKER = os.environ["FOREIGN_BROKER"]


class _Nothing(Exception):
    """What its build makes, and its tests of servers don't need: a version, and a library in Go."""


for name in ("karapace.version", "karapace.core.protobuf.protopace", "karapace.core.protobuf.protopace.protopace"):
    sys.modules[name] = types.ModuleType(name)
    names = ("check_compatibility", "format_proto", "IncompatibleError", "Proto")
    sys.modules[name].__dict__.update({"__version__": "0"}, **dict.fromkeys(names, _Nothing))


class Servers:
    """The process with all servers of this run."""

    def __init__(self) -> None:
        command = [os.environ["FOREIGN_PYTHON"], "-m", "system_tests.foreign_suites.http_servers"]
        environment = {**os.environ, "PYTHONPATH": os.environ["FOREIGN_ROOT"]}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=environment["PYTHONPATH"],
            env=environment,
        )

    def start(self, kind: str, **properties: Any) -> int:
        """The port."""
        assert self._process.stdin is not None and self._process.stdout is not None
        texts = {name.replace("_", "."): str(value) for name, value in properties.items()}
        self._process.stdin.write(json.dumps({"kind": kind, "properties": texts}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if not isinstance(answer, int):
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


servers = Servers()


def pytest_unconfigure() -> None:
    servers.close()


def _install() -> None:
    """Before any conftest.py takes over names of these modules."""
    cluster: Any = importlib.import_module("tests.integration.utils.cluster")
    utilities: Any = importlib.import_module("tests.utils")
    rest: Any = importlib.import_module("karapace.kafka_rest_apis")

    @asynccontextmanager
    async def start_schema_registry_cluster(config_templates: list[Any], data_dir: Any) -> AsyncIterator[list[Any]]:
        group, topic = utilities.new_random_name("group_id"), utilities.new_random_name("_schemas")
        found = []
        for config in config_templates:
            properties = {"kafkastore.topic": topic, "schema.registry.group.id": group, "host.name": "127.0.0.1"}
            port = servers.start(
                "registry",
                **properties,
                **{"listeners": "http://127.0.0.1:0", "kafkastore.bootstrap.servers": BROKER},
                **{
                    "kafkastore.topic.replication.factor": "1",
                    "leader.eligibility": str(config.master_eligibility).lower(),
                },
            )
            found.append(cluster.RegistryDescription(cluster.RegistryEndpoint("http", "127.0.0.1", port), topic))
        for instance in reversed(found):  # whoever came last has had them elect anew
            await primary_is_known(instance)
        yield found

    async def primary_is_known(instance: Any) -> None:
        client = cluster.Client(server_uri=instance.endpoint.to_url())
        await repeat_until_master_is_available(client)
        await client.close()

    async def repeat_until_master_is_available(client: Any) -> None:
        """A primary says that there is no such subject; while there is none, writes get a 500."""
        while (await client.delete("subjects/nobody-has-this")).status_code >= 500:
            await asyncio.sleep(0.05)

    # A field that neither Confluent's proxy nor ours knows.
    utilities.consumer_valid_payload.pop("topic.metadata.refresh.interval.ms", None)

    @asynccontextmanager
    async def after_master_is_available(instances: list[Any], server_ca: Any) -> AsyncIterator[None]:
        await primary_is_known(instances[0])
        yield

    cluster.after_master_is_available = after_master_is_available
    cluster.start_schema_registry_cluster = start_schema_registry_cluster
    for module in (cluster, utilities):
        module.repeat_until_master_is_available = repeat_until_master_is_available
    rest.KafkaRest = Proxy


class Proxy:
    """In the place of KafkaRest: `app` answers every request with what a proxy of ours answers."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self.serializer = types.SimpleNamespace(registry_client=types.SimpleNamespace(client=None))

    @property
    def app(self) -> Any:
        registry = self.serializer.registry_client.client
        url = registry.server_uri if registry else f"http://{self._config.registry_host}:{self._config.registry_port}"
        port = servers.start(
            "rest",
            **{"listeners": "http://127.0.0.1:0", "bootstrap.servers": BROKER, "schema.registry.url": url},
            **{"producer.max.request.size": str(self._config.producer_max_request_size)},
        )
        return _passing_on(f"http://127.0.0.1:{port}")

    async def close(self) -> None:
        pass


def _passing_on(url: str) -> Any:
    aiohttp: Any = importlib.import_module("aiohttp")
    web: Any = importlib.import_module("aiohttp.web")

    async def handle(request: Any) -> Any:
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in ("host", "content-length")
        }
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method, url + request.raw_path, data=await request.read(), headers=headers
            ) as answer,
        ):
            dropped = ("content-length", "transfer-encoding", "content-encoding")
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in dropped}
            return web.Response(status=answer.status, body=await answer.read(), headers=kept)

    app = web.Application(client_max_size=64 << 20)  # the bounds are those of the proxy behind it
    app.router.add_route("*", "/{rest:.*}", handle)
    return app


_install()
