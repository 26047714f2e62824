"""New configs reach the parts of a running broker."""

from __future__ import annotations

import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.socket_server import ListenError, SocketServer
from kafkapy.runtime.clock import MockClock
from kafkapy.security.tls.certificates import CertificateAuthority
from kafkapy.server.config.dynamic_config_rules import DYNAMIC_CONFIGS
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.reconfiguration.dynamic_parts import (
    DynamicCleanerConfig,
    DynamicConnectionLimits,
    DynamicListeners,
    DynamicLogConfig,
    DynamicThreadPools,
    DynamicTls,
    HostAddresses,
)
from kafkapy.server.security.tls_listeners import TlsListeners, make_tls_listener


class Recorder:
    """Notes every call of any method."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


class Sockets:
    """Of a recorder, with the methods that are awaited."""

    def __init__(self, recorder: Any) -> None:
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorder, name)

    async def remove_listener(self, name: str) -> None:
        self._recorder.calls.append(("remove_listener", name))

    def register(self) -> None:
        self._recorder.calls.append(("register",))


DEFAULTS = (HostAddresses(), MockClock().in_thread)


def listeners_of(
    config: KafkaConfig, recorder: Recorder, register: Callable[[], None] | None = None
) -> DynamicListeners:
    sockets: Any = Sockets(recorder)
    return DynamicListeners(config, sockets, *DEFAULTS, register or sockets.register)


PROTOCOLS = {"listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,GOES:PLAINTEXT,COMES:PLAINTEXT"}


def config(**properties: str) -> KafkaConfig:
    return KafkaConfig(
        {"zookeeper.connect": "nowhere:2181", **{name.replace("_", "."): value for name, value in properties.items()}}
    )


def test_all_of_them_are_dynamic_configs() -> None:
    parts = (
        DynamicLogConfig,
        DynamicConnectionLimits,
        DynamicListeners,
        DynamicThreadPools,
        DynamicCleanerConfig,
        DynamicTls,
    )
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
    server = SocketServer(Clock(), [], 100, ConnectionLimits(), MockClock().in_thread, MockClock().in_thread)
    part = DynamicConnectionLimits(server, HostAddresses())
    new = config(
        max_connections="5", max_connections_per_ip="4", max_connections_per_ip_overrides="127.0.0.1:3,10.0.0.1:9"
    )
    part.validate_reconfiguration(new)
    part.reconfigure(config(), new)
    limits = server.quotas.limits
    assert (limits.broker.max_connections, limits.allowed_from("1.2.3.4"), limits.allowed_from("127.0.0.1")) == (
        5,
        4,
        3,
    )


def test_limits_of_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = HostAddresses()
    part = DynamicConnectionLimits(
        SocketServer(Clock(), [], 100, ConnectionLimits(), MockClock().in_thread, MockClock().in_thread), addresses
    )
    part.reconfigure(config(), config(max_connections_per_ip_overrides="localhost:3"))
    assert part._sockets.quotas.limits.allowed_from("127.0.0.1") == 3

    def unknown(*arguments: Any, **options: Any) -> Any:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    # What was looked up ahead is not looked up again, on the reactor thread.
    part.reconfigure(config(), config(max_connections_per_ip_overrides="localhost:4"))
    assert part._sockets.quotas.limits.allowed_from("127.0.0.1") == 4
    addresses.look_up({"max.connections.per.ip.overrides": "no-such-host.invalid:3"})
    with pytest.raises(ConfigException, match=r"no-such-host\.invalid"):
        part.validate_reconfiguration(config(max_connections_per_ip_overrides="no-such-host.invalid:3"))


def test_threads() -> None:
    reactor: Any = Recorder()
    requests: Any = Recorder()
    part = DynamicThreadPools(reactor.suggestThreadPoolSize, requests.resize)
    part.reconfigure(config(), config(background_threads="3", num_io_threads="7", num_network_threads="5"))
    assert reactor.calls == [("suggestThreadPoolSize", 3)]
    assert requests.calls == [("resize", 7, 5)]


def test_without_a_cleaner_there_is_nothing_to_do() -> None:
    reactor: Any = Recorder()
    logs: Any = SimpleNamespace(cleaner=None)
    part = DynamicCleanerConfig(logs, reactor)
    new = config(log_cleaner_threads="2")
    part.validate_reconfiguration(new)
    part.reconfigure(config(), new)
    assert reactor.calls == []


def test_listeners_come_and_go() -> None:
    sockets: Any = Recorder()
    old = config(listeners="PLAINTEXT://localhost:9092,GOES://localhost:9093", **PROTOCOLS)
    new = config(listeners="PLAINTEXT://localhost:9092,COMES://localhost:9094", **PROTOCOLS)
    part = listeners_of(new, sockets)
    part.reconfigure(old, new)
    assert [call[:2] for call in sockets.calls if call[0] != "set_limits"] == [
        ("remove_listener", "GOES"),
        ("listen", EndPoint("localhost", 9094, "COMES", "PLAINTEXT")),
        ("register",),
    ]


def test_a_listener_that_moves_is_opened_anew() -> None:
    sockets: Any = Recorder()
    old, new = config(listeners="PLAINTEXT://localhost:9092"), config(listeners="PLAINTEXT://localhost:9093")
    listeners_of(new, sockets).reconfigure(old, new)
    assert [call[0] for call in sockets.calls] == ["remove_listener", "set_limits", "listen", "register"]


def test_what_could_not_be_opened_is_not_registered(caplog: pytest.LogCaptureFixture) -> None:
    def fails(*arguments: Any) -> Any:
        raise ListenError("Socket server failed to bind to localhost:9093")

    sockets: Any = Recorder()
    sockets.listen = fails
    old, new = config(listeners="PLAINTEXT://localhost:9092"), config(listeners="PLAINTEXT://localhost:9093")
    listeners_of(new, sockets).reconfigure(old, new)
    assert [call[0] for call in sockets.calls] == ["remove_listener", "set_limits"]
    assert "Listeners could not be changed: Socket server failed to bind to localhost:9093" in caplog.text


def test_a_failure_to_register_is_told(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> None:
        raise OSError("ZooKeeper is away")

    sockets: Any = Recorder()
    old, new = config(listeners="PLAINTEXT://localhost:9092"), config(listeners="PLAINTEXT://localhost:9093")
    listeners_of(new, sockets, fails).reconfigure(old, new)
    assert "Listeners could not be changed: ZooKeeper is away" in caplog.text


def test_a_listener_may_go_that_advertised_listeners_does_not_name() -> None:
    two = config(listeners="PLAINTEXT://localhost:9092,GOES://localhost:9093", **PROTOCOLS)
    one = config(listeners="PLAINTEXT://localhost:9092", **PROTOCOLS)
    unused: Any = Recorder()
    for old, new in ((one, two), (two, one)):  # without advertised.listeners the listeners are what is advertised
        DynamicListeners(old, unused, unused, unused, unused).validate_reconfiguration(new)
    gone = "GOES://localhost:9093"
    with pytest.raises(ConfigException, match="must be equal to or a subset of the ones defined in listeners"):
        config(
            listeners="PLAINTEXT://localhost:9092",
            advertised_listeners=f"PLAINTEXT://localhost:9092,{gone}",
            **PROTOCOLS,
        )


def test_listeners_that_could_not_be_opened_are_refused() -> None:
    def check(new_config: KafkaConfig, end_point: EndPoint) -> None:
        if end_point.security_protocol == "SSL":
            raise ConfigException("A listener with TLS needs a key store")

    in_thread: Any = MockClock().in_thread
    sockets: Any = Recorder()
    old = config(listeners="PLAINTEXT://:9092")
    part = DynamicListeners(old, sockets, HostAddresses(), in_thread, lambda: None, check)
    part.validate_reconfiguration(config(listeners="PLAINTEXT://:9092,OTHER://:9093", **_OTHER_IS_PLAINTEXT))
    with pytest.raises(ConfigException, match="needs a key store"):
        part.validate_reconfiguration(config(listeners="PLAINTEXT://:9092,SSL://:9093"))


_OTHER_IS_PLAINTEXT = {"listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT"}


def test_stores_of_closed_listeners_are_not_watched(tmp_path: Path) -> None:
    authority = CertificateAuthority("CN=ca", datetime.now(UTC))
    store = tmp_path / "broker.pem"
    store.write_text(authority.issue("CN=broker", ["localhost"]).store)
    tls = TlsListeners(config(ssl_keystore_type="PEM", ssl_keystore_location=str(store)))
    end_point = EndPoint("localhost", 0, "SSL", "SSL")
    assert tls.of(end_point) is not None
    store.write_text("no store")
    with pytest.raises(ConfigException):
        make_tls_listener(tls._config, end_point)
    tls.closed("SSL")
    tls.refresh()
    assert tls._open == {}
