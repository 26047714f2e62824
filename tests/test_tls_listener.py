"""A broker whose clients, and which itself, speak TLS: our client, librdkafka's and kafka-python's, with certificates."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kafka as kafka_python
import pytest
from confluent_kafka import Consumer, Producer

from kafkapy.common.free_ports import free_ports
from kafkapy.consumer import KafkaConsumer
from kafkapy.producer import KafkaProducer
from kafkapy.security.tls.certificates import CertificateAuthority
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS

pytestmark = [pytest.mark.integration]

TOPIC = "over-tls"


class Secured:
    """A broker with one listener, SSL, that demands certificates."""

    def __init__(self, directory: Path, zookeeper: str) -> None:
        authority = CertificateAuthority("CN=ca,O=test", datetime.now(UTC))
        self.ca = directory / "ca.pem"
        self.ca.write_text(authority.certificate)
        self.broker_store, self.alice = directory / "broker.pem", directory / "alice.pem"
        self.broker_store.write_text(authority.issue("CN=broker-0,O=test", ["localhost", "127.0.0.1"]).store)
        self.alice.write_text(authority.issue("CN=alice,OU=teams,O=test").store)
        other = CertificateAuthority("CN=other,O=test", datetime.now(UTC))
        self.mallory = directory / "mallory.pem"
        self.mallory.write_text(other.issue("CN=alice,OU=teams,O=test").store)
        self.address = f"localhost:{free_ports(1)[0]}"
        self.process = BrokerProcess(
            directory,
            f"{zookeeper}/{uuid.uuid4().hex[:12]}",
            listeners=f"SSL://{self.address}",
            security_inter_broker_protocol="SSL",
            ssl_keystore_type="PEM",
            ssl_keystore_location=str(self.broker_store),
            ssl_truststore_type="PEM",
            ssl_truststore_location=str(self.ca),
            ssl_client_auth="required",
        )

    def options(self, store: Path) -> dict[str, Any]:
        """kafka-python's, and ours."""
        return {
            "bootstrap_servers": self.address,
            "security_protocol": "SSL",
            "ssl_cafile": str(self.ca),
            "ssl_certfile": str(store),
            "ssl_keyfile": str(store),
        }

    def librdkafka(self, store: Path) -> dict[str, str]:
        return {
            "bootstrap.servers": self.address,
            "security.protocol": "ssl",
            "ssl.ca.location": str(self.ca),
            "ssl.certificate.location": str(store),
            "ssl.key.location": str(store),
        }


@pytest.fixture(scope="module")
def secured(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    made = Secured(tmp_path_factory.mktemp("secured"), zookeeper)
    made.process.start()
    yield made
    assert made.process.stop() == 0
    assert " ERROR " not in made.process.log()


def test_records_go_to_and_fro(secured: Secured) -> None:
    """Ten of a megabyte too: they arrive and leave in many TLS records."""
    values = [b"%d" % number for number in range(1000)] + [bytes([number]) * 900_000 for number in range(10)]
    with KafkaProducer(**secured.options(secured.alice), linger_ms=5) as producer:
        for value in values:
            producer.send(TOPIC, value)
        producer.flush()
    with KafkaConsumer(
        TOPIC, **secured.options(secured.alice), auto_offset_reset="earliest", group_id="ours"
    ) as consumer:
        found = [next(consumer).value for _ in values]
    assert sorted(found) == sorted(values)


def test_librdkafka(secured: Secured) -> None:
    topic = f"t-{uuid.uuid4().hex[:8]}"
    producer = Producer(secured.librdkafka(secured.alice))
    for number in range(500):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(HANG_SECONDS) == 0
    consumer = Consumer({**secured.librdkafka(secured.alice), "group.id": "rd", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    messages = consumer.consume(500, HANG_SECONDS)
    consumer.close()
    assert sorted(int(message.value() or b"") for message in messages) == list(range(500))


def test_kafka_python(secured: Secured) -> None:
    topic = f"t-{uuid.uuid4().hex[:8]}"
    producer = kafka_python.KafkaProducer(**secured.options(secured.alice))
    producer.send(topic, b"x").get(HANG_SECONDS)
    producer.close()
    consumer = kafka_python.KafkaConsumer(
        topic, **secured.options(secured.alice), auto_offset_reset="earliest", consumer_timeout_ms=HANG_SECONDS * 1000
    )
    assert next(consumer).value == b"x"
    consumer.close()


def test_a_certificate_of_another_authority_is_refused(secured: Secured) -> None:
    with pytest.raises(Exception, match=r"(?i)certificate|unknown ca|closed") as refused:
        KafkaProducer(**secured.options(secured.mallory), bootstrap_timeout_ms=3000).send(TOPIC, b"x").get(10)
    assert "mallory" not in str(refused.value)


def test_a_plaintext_client_is_told_so(secured: Secured) -> None:
    with pytest.raises(Exception, match="answers in TLS; set security_protocol to SSL"):
        KafkaConsumer(TOPIC, bootstrap_servers=secured.address, bootstrap_timeout_ms=3000)
