"""A broker with GSSAPI, and clients with tickets of a real key distribution center."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.free_ports import free_ports
from kafkapy.consumer import KafkaConsumer
from kafkapy.errors import KafkaError, TopicAuthorizationFailedError
from kafkapy.producer import KafkaProducer
from tests.broker_process import BrokerProcess
from tests.kdc import REALM, Kdc, missing
from tests.waiting import HANG_SECONDS

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(bool(missing()), reason=f"Kerberos is not here: {missing()}"),
]

KRB5 = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    made = Kdc(tmp_path_factory.mktemp("kerberos") / "kdc")
    made.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.environment.items():
            patch.setenv(name, value)
        yield made
    made.stop()


@pytest.fixture(scope="module")
def address(kdc: Kdc, zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Brokers log in with GSSAPI, too: `kafka/localhost` is a super user by its short name."""
    (port,) = free_ports(1)
    keytab = kdc.keytab("kafka/localhost")
    configs = {
        "listeners": f"IN://localhost:{port}",
        "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
        "inter.broker.listener.name": "IN",
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "listener.name.in.gssapi.sasl.jaas.config": (f'{KRB5} keyTab="{keytab}" principal="kafka/localhost@{REALM}";'),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:kafka;User:alice",
    }
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}", **configs)
    process.start()
    yield f"localhost:{port}"
    assert process.stop() == 0
    assert " ERROR " not in process.log()


def options(address: str, keytab: Path, principal: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": address,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_keytab": str(keytab),
        "sasl_kerberos_principal": f"{principal}@{REALM}",
    }


def test_a_ticket_lets_in_by_its_short_name(kdc: Kdc, address: str) -> None:
    alice = options(address, kdc.keytab("alice"), "alice")
    with KafkaProducer(**alice) as producer:
        producer.send("t", b"x").get(HANG_SECONDS)
    with KafkaConsumer("t", **alice, auto_offset_reset="earliest") as consumer:
        assert next(consumer).value == b"x"
    bob = options(address, kdc.keytab("bob"), "bob")
    with KafkaProducer(**bob) as producer, pytest.raises(TopicAuthorizationFailedError):
        producer.send("t", b"x").get(HANG_SECONDS)


def test_without_a_ticket_and_with_another_service_nothing_goes(kdc: Kdc, address: str, tmp_path: Path) -> None:
    alice = options(address, kdc.keytab("carol"), "carol")
    with pytest.raises(KafkaError, match="No Kerberos ticket for other@localhost"):
        KafkaProducer(**alice, sasl_kerberos_service_name="other", bootstrap_timeout_ms=5000)
    with pytest.raises(KafkaError, match="No Kerberos ticket for kafka@localhost"):
        KafkaProducer(**{**alice, "sasl_kerberos_keytab": str(tmp_path / "none")}, bootstrap_timeout_ms=5000)
