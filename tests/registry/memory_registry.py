"""A registry without Kafka: what it writes is applied at once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl

from kafkapy.http.messages import HttpAnswer, HttpRequest, path_parts
from kafkapy.registry.api import RegistryApi
from kafkapy.registry.election import InstanceIdentity
from kafkapy.registry.records import RegistryRecord
from kafkapy.registry.refusals import RegistryRefusal
from kafkapy.registry.service import RegistryService
from kafkapy.registry.state import RegistryState

ME = InstanceIdentity("here", 8081)
JSON = "application/vnd.schemaregistry.v1+json"


class MemoryLog:
    def __init__(self, service: RegistryService) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self._service = service

    def write(self, records: Sequence[RegistryRecord]) -> None:
        for record in records:
            raw = record.to_bytes()
            self.records.append(raw)
            again = RegistryRecord.from_bytes(*raw)
            assert again == record
            self._service.apply(record)


class MemoryRegistry:
    """`ask` gives status and JSON."""

    def __init__(self, level: str = "BACKWARD", mode_mutability: bool = True) -> None:
        self.api = RegistryApi(RegistryState(), level, mode_mutability)
        self.service = RegistryService(self.api, self._forward)
        self.log = MemoryLog(self.service)
        self.service.use(self.log)
        self.service.elected(ME, ME)
        self.forwarded: list[tuple[str, str]] = []

    def _forward(self, url: str, request: HttpRequest) -> HttpAnswer:
        self.forwarded.append((url, request.path))
        if url.endswith(":1"):
            raise RegistryRefusal(500, 50003, "no way")
        return HttpAnswer(200, b'{"id":77}')

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> HttpAnswer:
        where, _, query = path.partition("?")
        named = {"content-type": JSON} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.service.handle(
            HttpRequest(method, where, path_parts(where), dict(parse_qsl(query, keep_blank_values=True)), named, body)
        )

    def ask(self, method: str, path: str, content: Any = None) -> tuple[int, Any]:
        answer = self.send(method, path, b"" if content is None else json.dumps(content).encode())
        return answer.status, json.loads(answer.body) if answer.body else None

    def register(self, subject: str, schema: Any, **more: Any) -> int:
        text = schema if isinstance(schema, str) else json.dumps(schema)
        status, answer = self.ask("POST", f"/subjects/{subject}/versions", {"schema": text, **more})
        assert status == 200, answer
        return int(answer["id"])

    def refused(self, method: str, path: str, content: Any = None) -> int:
        """The error's code."""
        status, answer = self.ask(method, path, content)
        assert status >= 400, answer
        assert answer["message"]
        assert str(answer["error_code"]).startswith(str(status))
        return int(answer["error_code"])

    def copy(self) -> MemoryRegistry:
        """Another instance that has read the same topic, compacted."""
        other = MemoryRegistry()
        last = {key: place for place, (key, _) in enumerate(self.log.records)}
        for place, (key, value) in enumerate(self.log.records):
            record = RegistryRecord.from_bytes(key, value)
            if last[key] == place and record is not None:
                other.service.apply(record)
        return other
