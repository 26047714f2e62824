"""zookeeper.properties and `zookeeper.connect=embedded`."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.zk.embedded.connect import EmbeddedConnect
from kafkapy.zk.embedded.settings import ServerProperties, SettingsError


def test_defaults_are_zookeepers() -> None:
    properties = ServerProperties.of({"dataDir": "/zk"})
    settings = properties.settings
    assert (properties.port, properties.host, properties.data_log_dir) == (2181, "0.0.0.0", Path("/zk"))
    assert (settings.tick_time_ms, settings.min_session_timeout_ms, settings.max_session_timeout_ms) == (
        3000,
        6000,
        60_000,
    )
    assert (settings.max_client_connections, settings.commands, settings.force_sync) == (60, frozenset({"srvr"}), True)


def test_names_that_say_nothing_here_are_told() -> None:
    properties = ServerProperties.of(
        {"dataDir": "/zk", "admin.enableServer": "true", "initLimit": "5", "forceSync": "no"}
    )
    assert properties.without_effect == ("admin.enableServer", "initLimit")
    assert not properties.settings.force_sync


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "dataDir is missing"),
        ({"tickTime": "soon"}, "tickTime=soon is no number"),
        ({"clientPort": "70000"}, "clientPort=70000 is out of range"),
        ({"server.1": "a:1:2"}, "server.1 asks for an ensemble"),
        ({"secureClientPort": "2182", "ssl.crl": "true"}, "ssl.crl=true cannot be served"),
        ({"secureClientPort": "2182", "ssl.clientAuth": "maybe"}, "ssl.clientAuth"),
        ({"authProvider.x": "my.Provider"}, "Invalid value my.Provider for configuration authProvider.x"),
        ({"sessionRequireClientSASLAuth": "true"}, "Authentication scheme sasl is not available"),
        ({"kerberos.removeHostFromPrincipal": "true"}, "does not know kerberos.removeHostFromPrincipal"),
        ({"4lw.commands.whitelist": "ruok, hash"}, "names hash, which"),
        ({"minSessionTimeout": "9", "maxSessionTimeout": "8"}, "must not be larger"),
        ({"forceSync": "maybe"}, "forceSync=maybe is neither"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        ServerProperties.of({**({"dataDir": "/zk"} if given else {}), **given})


def test_where_the_data_of_the_brokers_own_is() -> None:
    def data_dir(connect: str) -> Path | None:
        parsed = EmbeddedConnect.parse(connect, "/kafka/logs/")
        assert parsed is not None
        return parsed.data_dir

    assert data_dir("embedded") == Path("/kafka/logs-zookeeper")
    assert data_dir("embedded:/zk") == Path("/zk")
    assert data_dir("embedded:memory") is None
    assert EmbeddedConnect.parse("zk1:2181,zk2:2181/kafka", "/kafka/logs") is None
    for wrong in ("embedded:", "embedded:2181", "embedded/chroot", "zk1:2181,embedded"):
        with pytest.raises(ValueError, match="embedded:DIR"):
            EmbeddedConnect.parse(wrong, "/kafka/logs")
