"""Options of an application's clients, as its configuration has them."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.errors import KafkaConfigurationError
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.runtime.clients import StreamsClients, security_options

JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="alice-secret";'
SECURED = {
    "security.protocol": "SASL_SSL",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "ca.pem",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": JAAS,
}
OPTIONS = {
    "security_protocol": "SASL_SSL",
    "ssl_cafile": "ca.pem",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "alice",
    "sasl_plain_password": "alice-secret",
}


@pytest.mark.parametrize("given", [SECURED, OPTIONS])
def test_tls_and_sasl(given: dict[str, Any]) -> None:
    assert security_options({**given, "application.id": "a", "linger.ms": 5}) == OPTIONS


def test_an_open_cluster() -> None:
    assert security_options({"application.id": "a"}) == {}


def test_what_cannot_be() -> None:
    with pytest.raises(KafkaConfigurationError, match=r"sasl\.jaas\.config"):
        security_options({**SECURED, "sasl.jaas.config": "nothing"})


def test_the_admin_client_may_have_its_own_login() -> None:
    config = {"application.id": "a", "bootstrap.servers": "localhost:1", "security.protocol": "SASL_PLAINTEXT"}
    config |= {"sasl.mechanism": "PLAIN", "admin.sasl.jaas.config": JAAS.replace("scram.Scram", "plain.Plain")}
    with StreamsClients(StreamsConfig(config)).admin("a"):
        pass
    with pytest.raises(KafkaConfigurationError, match=r"sasl\.jaas\.config"):
        StreamsClients(StreamsConfig(config)).producer("a", None)
