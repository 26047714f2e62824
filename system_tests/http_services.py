"""Schema registries and HTTP proxies as processes."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from system_tests.services import ROOT, Service

JSON = "application/json"


def ask(url: str, content: Any = None, method: str | None = None, timeout: float = 30) -> tuple[int, Any]:
    """Status and JSON. Raises OSError."""
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(url, body, {"content-type": JSON}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refused:
        return refused.code, json.loads(refused.read() or b"null")


class HasBootstrap(Protocol):
    """A broker that the service is to use."""

    @property
    def bootstrap(self) -> str: ...


class HttpService(Service):
    """`configs` come on top of what suits tests."""

    module = ""
    page = "/"

    def __init__(self, directory: Path, configs: Mapping[str, object]) -> None:
        super().__init__(directory)
        self.properties = {"listeners": f"http://{self.address}", **configs}

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def command(self) -> list[str]:
        file = self.directory / f"{self.name}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in self.properties.items()))
        return [sys.executable, "-m", self.module, str(file)]

    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), "LOG_DIR": str(self.directory / "logs")}

    def is_serving(self) -> bool:
        try:
            return ask(self.url + self.page, timeout=2)[0] == 200
        except OSError:
            return False


class SchemaRegistryProcess(HttpService):
    name = "schema-registry"
    module = "kafkapy.tools.schema_registry_start"
    page = "/subjects"

    def __init__(self, directory: Path, broker: HasBootstrap, configs: Mapping[str, object] | None = None) -> None:
        own = {"kafkastore.bootstrap.servers": broker.bootstrap, "kafkastore.topic.replication.factor": 1}
        super().__init__(directory, {**own, "host.name": self.host, **(configs or {})})

    @property
    def is_primary(self) -> bool:
        """By its own last word."""
        said = [line for line in self.text().splitlines() if "The primary is" in line]
        return self.is_running and bool(said) and "this instance" in said[-1]


class RestProxyProcess(HttpService):
    name = "kafka-rest"
    module = "kafkapy.tools.kafka_rest_start"
    page = "/topics"

    def __init__(self, directory: Path, broker: HasBootstrap, configs: Mapping[str, object] | None = None) -> None:
        super().__init__(directory, {"bootstrap.servers": broker.bootstrap, **(configs or {})})
