"""A broker refuses what a topic does not accept."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastavro")

from kafkapy import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.admin import NewTopic
from kafkapy.bus import Bus
from kafkapy.errors import InvalidRecordError, KafkaTimeoutError
from kafkapy.tools import bus
from tests.broker_process import BrokerProcess
from tests.bus.events import BookingCreated, Paid
from tests.schemas.registry_server import RegistryServer, running_registry
from tests.waiting import HANG_SECONDS
from tests.whole_topic import records_of

pytestmark = pytest.mark.integration


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def broker(zookeeper: str, tmp_path: Path, server: RegistryServer) -> Iterator[str]:
    url = {"kafkapy_schema_registry_url": server.url}
    process = BrokerProcess(tmp_path / "broker", f"{zookeeper}/{uuid.uuid4().hex[:12]}", **url)
    process.start()
    yield process.address
    process.stop()


def test_plan_apply_and_enforcement(
    broker: str, server: RegistryServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "topics"
    folder.mkdir()
    declaration = folder / "bookings.toml"
    declaration.write_text(
        'owner="shop"\nmeaning="A booking."\npartitions=2\nretention="7d"\naccepts=["shop.BookingCreated"]\nvalidate=true\n'
    )
    to = ["--bootstrap-server", broker]
    assert bus.main(["diff", str(folder), *to]) == 2
    assert bus.main(["apply", str(folder), *to]) == 0
    assert "+ bookings: 2 partitions" in capsys.readouterr().out
    assert bus.main(["diff", str(folder), *to]) == 0
    assert "The cluster is as declared." in capsys.readouterr().out
    declaration.write_text(declaration.read_text().replace("7d", "1d").replace("partitions=2", "partitions=3"))
    assert bus.main(["apply", str(folder), *to]) == 1
    assert "must be allowed by --allow-data-loss" in capsys.readouterr().err
    assert bus.main(["apply", str(folder), *to, "--allow-data-loss"]) == 0

    with Bus(broker, server.url, application="shop", auto_register=True, audit=False) as events:
        events.send_many([BookingCreated(booking_id=f"b{n}", user_id=n) for n in range(10)])
    with KafkaProducer(bootstrap_servers=broker) as producer:
        with pytest.raises(InvalidRecordError, match="names no schema"):
            producer.send("bookings", b"anything", partition=0).get(HANG_SECONDS)
        admin = KafkaAdminClient(bootstrap_servers=broker)
        admin.create_topics([NewTopic("payments", 1, 1)])
        admin.close()
        with Bus(broker, server.url, application="shop", auto_register=True, audit=False) as events:
            events.send(Paid(order="o", cents=1))
        with KafkaConsumer("payments", bootstrap_servers=broker, auto_offset_reset="earliest") as consumer:
            paid = next(consumer).value
        with pytest.raises(InvalidRecordError, match=r"of subject shop\.Paid-v1, and topic bookings accepts"):
            producer.send("bookings", paid, partition=0).get(HANG_SECONDS)
    assert len(records_of(broker, "bookings")) == 10


def test_while_the_registry_is_down_unknown_ids_wait(broker: str, server: RegistryServer) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker)
    configs = {"kafkapy.value.schema.validation": "true", "kafkapy.value.schema.subjects": "shop.*"}
    admin.create_topics([NewTopic("bookings", 1, 1, topic_configs=configs)])
    admin.close()
    with Bus(broker, server.url, application="shop", auto_register=True, audit=False) as events:
        events.send(BookingCreated(booking_id="b", user_id=1))
        server.state.failures.extend([(503, {"error_code": 503, "message": "being moved"})] * 200)
        events.send(BookingCreated(booking_id="b", user_id=2))
    with (
        KafkaProducer(bootstrap_servers=broker, delivery_timeout_ms=1_500, request_timeout_ms=1_000) as producer,
        pytest.raises(KafkaTimeoutError),
    ):
        producer.send("bookings", b"\0\0\0\0\x63x").get(HANG_SECONDS)
    server.state.failures.clear()
    with (
        KafkaProducer(bootstrap_servers=broker) as producer,
        pytest.raises(InvalidRecordError, match="has no schema 99"),
    ):
        producer.send("bookings", b"\0\0\0\0\x63x").get(HANG_SECONDS)
