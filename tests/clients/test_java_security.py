"""TLS configs of the Java clients as arguments of the Python clients."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from kafkapy.clients.java_security import sasl_arguments, tls_arguments
from kafkapy.errors import KafkaConfigurationError

STORES = Path(__file__).parent.parent / "security" / "tls" / "stores"


def test_pem_files_are_options() -> None:
    arguments = tls_arguments(
        {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "ca.pem",
            "ssl.keystore.type": "pem",
            "ssl.keystore.location": "me.pem",
            "ssl.keystore.password": None,
            "ssl.key.password": "k",
            "ssl.endpoint.identification.algorithm": "https",
        }
    )
    assert arguments == {
        "ssl_check_hostname": True,
        "ssl_cafile": "ca.pem",
        "ssl_certfile": "me.pem",
        "ssl_password": "k",
    }


@pytest.mark.parametrize(
    "configs",
    [
        {"ssl.truststore.location": str(STORES / "trust.JKS")},
        {
            "ssl.keystore.location": str(STORES / "two_keys.p12"),
            "ssl.keystore.password": "store-secret",
            "ssl.keystore.type": "PKCS12",
        },
        {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": (STORES / "broker.pem").read_text()},
        {"ssl.enabled.protocols": ["TLSv1.3"]},
        {"ssl.cipher.suites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"], "ssl.endpoint.identification.algorithm": ""},
    ],
)
def test_what_the_options_cannot_say_is_a_context(configs: dict[str, Any]) -> None:
    arguments = tls_arguments(configs)
    assert arguments.keys() == {"ssl_context"}
    context = arguments["ssl_context"]
    assert isinstance(context, ssl.SSLContext)
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname == ("ssl.endpoint.identification.algorithm" not in configs)


def test_refusals_are_the_clients_errors() -> None:
    with pytest.raises(KafkaConfigurationError, match="its password is wrong"):
        tls_arguments({"ssl.truststore.location": str(STORES / "trust.JKS"), "ssl.truststore.password": "wrong-secret"})


@pytest.mark.parametrize(
    ("mechanism", "option", "is_token"),
    [
        ("SCRAM-SHA-256", 'tokenauth="true"', True),
        ("SCRAM-SHA-512", "tokenauth=TRUE", True),
        ("SCRAM-SHA-512", 'tokenauth="false"', False),
        ("SCRAM-SHA-512", "", False),
        ("PLAIN", 'tokenauth="true"', False),
    ],
)
def test_a_delegation_token_of_the_jaas_config(mechanism: str, option: str, is_token: bool) -> None:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    text = f'org.apache.kafka.common.security.{module}LoginModule required username="id" password="hmac" {option};'
    arguments = sasl_arguments({"sasl.mechanism": mechanism, "sasl.jaas.config": text})
    assert arguments == {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "id",
        "sasl_plain_password": "hmac",
        **({"sasl_token_auth": True} if is_token else {}),
    }
