"""What a listener's TLS is made of."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.security.tls.certificates import CertificateAuthority
from kafkapy.security.tls.contexts import client_context
from kafkapy.security.tls.session import TlsSession
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.reconfiguration.dynamic_parts import DynamicTls
from kafkapy.server.security.tls_listeners import TlsListener, TlsListeners, make_tls_listener
from tests.security.tls.pki import authority, credential, exchange, trust


@pytest.mark.parametrize(
    ("protocol", "prefix", "expected"),
    [
        ("SSL", "", ssl.CERT_REQUIRED),
        ("SSL", "listener.name.out.", ssl.CERT_REQUIRED),
        ("SASL_SSL", "", ssl.CERT_NONE),
        ("SASL_SSL", "listener.name.out.", ssl.CERT_REQUIRED),
    ],
)
def test_the_broker_s_client_auth_is_not_that_of_sasl_ssl(
    tmp_path: Path, protocol: str, prefix: str, expected: ssl.VerifyMode
) -> None:
    """KIP-684: clients that authenticate by SASL need no certificate unless the listener's own config asks for it."""
    authority = CertificateAuthority("CN=ca", datetime.now(UTC))
    (tmp_path / "ca.pem").write_text(authority.certificate)
    (tmp_path / "broker.pem").write_text(authority.issue("CN=broker", ["localhost"]).store)
    config = KafkaConfig(
        {
            "broker.id": "0",
            "zookeeper.connect": "unused:2181",
            "listeners": "OUT://localhost:9093",
            "listener.security.protocol.map": f"OUT:{protocol}",
            "inter.broker.listener.name": "OUT",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(tmp_path / "broker.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
            f"{prefix}ssl.client.auth": "required",
        }
    )
    made = make_tls_listener(config, EndPoint("localhost", 9093, "OUT", protocol))
    assert made is not None
    assert made._watch.context.verify_mode is expected


IN, OUT = "listener.name.in.", "listener.name.out."


def running(tmp_path: Path) -> tuple[DynamicBrokerConfig, TlsListener, TlsListener]:
    """A broker's configs with the TLS of its listeners IN, between brokers, and OUT."""
    (tmp_path / "ca.pem").write_text(authority().certificate)
    (tmp_path / "first.pem").write_text(credential().store)
    config = KafkaConfig.from_properties(
        {
            "broker.id": "0",
            "zookeeper.connect": "unused:2181",
            "listeners": "IN://localhost:9093,OUT://localhost:9094",
            "listener.security.protocol.map": "IN:SSL,OUT:SSL",
            "inter.broker.listener.name": "IN",
            "password.encoder.secret": "5ecret",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(tmp_path / "first.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
        }
    )
    listeners, dynamic = TlsListeners(config), DynamicBrokerConfig(config)
    opened = [listeners.of(end_point) for end_point in config.listeners]
    dynamic.add_reconfigurable(DynamicTls(listeners))
    of_in, of_out = opened
    assert of_in is not None
    assert of_out is not None
    return dynamic, of_in, of_out


def presented(listener: TlsListener) -> bytes | None:
    """The certificate that a new connection is shown."""
    server, client = listener.new_session(), TlsSession(client_context(trust()), server_hostname="localhost")
    exchange(server, client)
    return client.peer_certificate()


def test_a_store_s_configs_act_at_once_on_their_listener_alone(tmp_path: Path) -> None:
    dynamic, of_in, of_out = running(tmp_path)
    before = presented(of_in)
    encrypted = authority().issue("CN=broker,OU=kafka,O=kit", ["localhost", "127.0.0.1", "::1"], password="key-5ecret")
    (tmp_path / "second.pem").write_text(encrypted.store)
    configs = {f"{OUT}ssl.keystore.location": str(tmp_path / "second.pem"), f"{OUT}ssl.key.password": "wrong"}
    with pytest.raises(ConfigException, match=r"check ssl\.key\.password"):
        dynamic.validate(configs, per_broker=True)
    configs[f"{OUT}ssl.key.password"] = "key-5ecret"
    dynamic.validate(configs, per_broker=True)
    assert presented(of_out) == before
    dynamic.update_broker_config(dynamic.to_persistent(configs, per_broker=True))
    assert presented(of_in) == before
    assert presented(of_out) not in (None, before)
    dynamic.update_broker_config({})
    assert presented(of_out) == before


def test_what_was_validated_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reactor thread takes what a thread has made."""
    dynamic, _, of_out = running(tmp_path)
    before = presented(of_out)
    (tmp_path / "second.pem").write_text(
        authority().issue("CN=broker,OU=kafka,O=kit", ["localhost", "127.0.0.1", "::1"]).store
    )
    configs = {f"{OUT}ssl.keystore.location": str(tmp_path / "second.pem")}
    dynamic.validate(configs, per_broker=True)
    monkeypatch.setattr(of_out._watch, "_read_file", lambda path: pytest.fail(f"{path} is read"))
    dynamic.update_broker_config(configs)
    assert presented(of_out) != before


def test_a_store_that_the_listener_may_not_have_changes_nothing(tmp_path: Path) -> None:
    dynamic, of_in, _ = running(tmp_path)
    before = presented(of_in)
    other = CertificateAuthority("CN=other-ca", datetime.now(UTC))
    (tmp_path / "other.pem").write_text(
        other.issue("CN=broker,OU=kafka,O=kit", ["localhost", "127.0.0.1", "::1"]).store
    )
    configs = {f"{IN}ssl.keystore.location": str(tmp_path / "other.pem")}
    with pytest.raises(ConfigException, match="can't connect to a server SSLEngine"):
        dynamic.validate(configs, per_broker=True)
    dynamic.update_broker_config({**configs, "log.retention.ms": "1"})
    assert presented(of_in) == before
    assert dynamic.config.log_retention_ms != 1


def test_files_that_change_count_after_configs_did(tmp_path: Path) -> None:
    dynamic, _, of_out = running(tmp_path)
    (tmp_path / "second.pem").write_text(credential().store)
    dynamic.update_broker_config({f"{OUT}ssl.keystore.location": str(tmp_path / "second.pem")})
    before = presented(of_out)
    (tmp_path / "second.pem").write_text(
        authority().issue("CN=broker,OU=kafka,O=kit", ["localhost", "127.0.0.1", "::1"]).store
    )
    assert of_out.refresh()
    assert presented(of_out) != before
