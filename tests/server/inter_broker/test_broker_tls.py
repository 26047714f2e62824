"""TLS of a broker's connections to others, whose stores change."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.errors import KafkaConfigurationError
from kafkapy.security.tls.certificates import CertificateAuthority
from kafkapy.security.tls.contexts import server_context
from kafkapy.security.tls.session import TlsSession
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.broker_tls import BrokerTls
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from tests.security.tls.pki import NOW, authority, credential, exchange, keys, trust

TRUSTED = "listener.name.in.ssl.truststore.location"
OTHER = CertificateAuthority("CN=other-ca", NOW)


def config(trusted: Path) -> KafkaConfig:
    return KafkaConfig.from_properties(
        {
            "broker.id": "0",
            "zookeeper.connect": "unused:2181",
            "listeners": "IN://localhost:9093",
            "listener.security.protocol.map": "IN:SSL",
            "inter.broker.listener.name": "IN",
            "ssl.truststore.type": "PEM",
            TRUSTED: str(trusted),
        }
    )


def is_trusted(context: BrokerTls, by: CertificateAuthority) -> bool:
    """Does a new connection trust a broker whose certificate is of this authority?"""
    of = credential() if by is authority() else by.issue("CN=broker", ["localhost"])
    server = TlsSession(server_context({**keys(of), **trust()}), server_side=True)
    client = TlsSession(context, server_hostname="localhost")
    exchange(server, client)
    return client.handshake_complete


def test_new_connections_follow_configs_and_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second = tmp_path / "first.pem", tmp_path / "second.pem"
    first.write_text(authority().certificate)
    second.write_text(OTHER.certificate)
    broker = config(first)
    context = inter_broker_client_config(broker, "1", 1000).ssl_context
    assert isinstance(context, BrokerTls)
    assert is_trusted(context, authority())
    broker.update_current_config(KafkaConfig.from_properties({**broker.originals, TRUSTED: str(second)}))
    assert not is_trusted(context, authority())
    assert is_trusted(context, OTHER)
    second.write_text(authority().certificate + OTHER.certificate)
    assert is_trusted(context, authority())
    second.unlink()
    for _ in range(2):
        assert is_trusted(context, OTHER)
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_stores_that_cannot_be_used_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(KafkaConfigurationError, match=r"missing\.pem"):
        inter_broker_client_config(config(tmp_path / "missing.pem"), "1", 1000)
