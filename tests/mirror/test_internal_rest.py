"""Requests between nodes of the dedicated mode."""

from __future__ import annotations

import json
from typing import Any

from kafkapy.connect.errors import ConnectRestException
from kafkapy.http.messages import HttpRequest, path_parts
from kafkapy.mirror import SourceAndTarget
from kafkapy.mirror.internal_rest import InternalMirrorApi


class NotedHerder:
    """Takes the configs of tasks, and refuses to fence."""

    stage = None

    def __init__(self) -> None:
        self.taken: list[Any] = []

    def put_task_configs(self, connector: str, configs: Any, callback: Any, signature: Any) -> None:
        self.taken.append((connector, configs, signature))
        callback(None, None)

    def fence_zombie_source_tasks(self, connector: str, callback: Any, signature: Any) -> None:
        callback(ConnectRestException(403, "Internal request contained invalid signature."), None)


def request(method: str, path: str, body: Any = None) -> HttpRequest:
    data = b"" if body is None else json.dumps(body).encode()
    return HttpRequest(method, path, path_parts(path), {}, {"content-type": "application/json"}, data)


def test_flows_are_apart() -> None:
    api, herder, other = InternalMirrorApi(), NotedHerder(), NotedHerder()
    api.add(SourceAndTarget("A b", "B"), herder)
    api.add(SourceAndTarget("B", "A b"), other)
    assert api.handle(request("POST", "/A%20b/B/connectors/m%2F1/tasks", [{"n": "0"}])).status in (200, 204)
    assert herder.taken == [("m/1", [{"n": "0"}], None)] and other.taken == []


def test_errors() -> None:
    api = InternalMirrorApi()
    api.add(SourceAndTarget("A", "B"), NotedHerder())
    refused = api.handle(request("PUT", "/A/B/connectors/m/fence"))
    assert refused.status == 403 and b"invalid signature" in refused.body
    unknown = api.handle(request("PUT", "/A/C/connectors/m/fence"))
    assert unknown.status == 404 and b"no replication flow 'A -> C'" in unknown.body
    assert api.handle(request("GET", "/")).status == 404
    assert api.handle(request("GET", "/A/B/connectors")).status == 404
    assert api.handle(request("GET", "/A/B/connectors/m/tasks")).status == 405
