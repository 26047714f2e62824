"""New configs reach the parts of a running broker."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkapy.common.config_def import ConfigException
from kafkapy.network.socket_server import ConnectionLimits, SocketServer
from kafkapy.server.dynamic_config_rules import DYNAMIC_CONFIGS
from kafkapy.server.kafka_config import KafkaConfig
from kafkapy.server.reconfigurables import (
    DynamicCleanerConfig,
    DynamicConnectionLimits,
    DynamicLogConfig,
    DynamicThreadPools,
)


class Recorder:
    """Notes every call of any method."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


def config(**properties: str) -> KafkaConfig:
    return KafkaConfig(
        {"zookeeper.connect": "nowhere:2181", **{name.replace("_", "."): value for name, value in properties.items()}}
    )


def test_all_of_them_are_dynamic_configs() -> None:
    parts = (DynamicLogConfig, DynamicConnectionLimits, DynamicThreadPools, DynamicCleanerConfig)
    for part in parts:
        assert part.reconfigurable_configs <= set(DYNAMIC_CONFIGS)
    assert "message.max.bytes" in DynamicLogConfig.reconfigurable_configs


@pytest.mark.parametrize("unclean", ["true", "false"])
def test_defaults_of_topics(unclean: str) -> None:
    logs: Any = Recorder()
    controller: Any = Recorder()
    new = config(message_max_bytes="77", unclean_leader_election_enable=unclean)
    part = DynamicLogConfig(logs, controller)
    part.validate_reconfiguration(new)
    part.reconfigure(config(), new)
    ((name, defaults),) = logs.calls
    assert (name, defaults.max_message_bytes) == ("reconfigure_default_config", 77)
    expected = "enable" if unclean == "true" else "disable"
    assert controller.calls == [(f"{expected}_default_unclean_leader_election",)]


def test_limits_of_connections() -> None:
    server = SocketServer(Clock(), [], 100, ConnectionLimits())
    part = DynamicConnectionLimits(server)
    new = config(
        max_connections="5", max_connections_per_ip="4", max_connections_per_ip_overrides="127.0.0.1:3,10.0.0.1:9"
    )
    part.validate_reconfiguration(new)
    part.reconfigure(config(), new)
    limits = server.limits
    assert (limits.max_connections, limits.allowed_from("1.2.3.4"), limits.allowed_from("127.0.0.1")) == (5, 4, 3)


def test_limits_of_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    part = DynamicConnectionLimits(SocketServer(Clock(), [], 100, ConnectionLimits()))
    part.reconfigure(config(), config(max_connections_per_ip_overrides="localhost:3"))
    assert part._sockets.limits.allowed_from("127.0.0.1") == 3

    def unknown(*arguments: Any, **options: Any) -> Any:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigException, match=r"no-such-host\.invalid"):
        part.validate_reconfiguration(config(max_connections_per_ip_overrides="no-such-host.invalid:3"))


def test_threads() -> None:
    reactor: Any = Recorder()
    requests: Any = Recorder()
    part = DynamicThreadPools(reactor, requests)
    part.reconfigure(config(), config(background_threads="3", num_io_threads="7"))
    assert reactor.calls == [("suggestThreadPoolSize", 3)]
    assert requests.calls == [("adjustPoolsize", 0, 7)]


def test_without_a_cleaner_there_is_nothing_to_do() -> None:
    reactor: Any = Recorder()
    logs: Any = SimpleNamespace(cleaner=None)
    part = DynamicCleanerConfig(logs, reactor)
    new = config(log_cleaner_threads="2")
    part.validate_reconfiguration(new)
    part.reconfigure(config(), new)
    assert reactor.calls == []
