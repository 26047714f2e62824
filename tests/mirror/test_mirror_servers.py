"""The servers of the dedicated mode, without clusters."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import MockTime
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.mirror import SourceAndTarget
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.mirror.mirror_servers import FlowMetrics, MirrorServers

AB, BA = SourceAndTarget("A", "B"), SourceAndTarget("B", "A")


def herder(tasks: int) -> Any:
    metrics = ConnectMetrics(MockTime())
    metrics.group("connect-worker-metrics").add("task-count", "Tasks.", lambda now: tasks)
    return SimpleNamespace(worker=SimpleNamespace(metrics=metrics), is_ready=True)


def test_flows_are_apart() -> None:
    flows = FlowMetrics()
    flows.add(AB, herder(1))
    flows.add(BA, herder(2))
    assert {name.tags: value for name, value in flows.read().items()} == {
        (("flow", "A->B"),): 1,
        (("flow", "B->A"),): 2,
    }


def test_it_is_ready_when_all_flows_are() -> None:
    flows, late = FlowMetrics(), herder(0)
    assert flows.unready()
    flows.expect([AB, BA])
    flows.add(AB, herder(1))
    assert flows.unready() == "These flows are starting up: B->A"
    late.is_ready = False
    flows.add(BA, late)
    assert flows.unready() == "These flows are starting up: B->A"
    late.is_ready = True
    assert flows.unready() == ""


def test_there_are_none_unless_they_are_configured() -> None:
    base = {"clusters": "A, B", "A->B.enabled": "true"}
    assert MirrorServers.of(MirrorMakerConfig(base)) is None
    servers = MirrorServers.of(MirrorMakerConfig(base | {"kafkapy.metrics.listener": "localhost:0"}))
    assert servers is not None and servers.url is None
    with pytest.raises(ConfigException, match="host:port is expected"):
        MirrorServers.of(MirrorMakerConfig(base | {"kafkapy.metrics.listener": "9404"}))
