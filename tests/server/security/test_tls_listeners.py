"""What a listener's TLS is made of."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafkapy.common.broker import EndPoint
from kafkapy.security.tls.certificates import CertificateAuthority
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.tls_listeners import make_tls_listener


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
