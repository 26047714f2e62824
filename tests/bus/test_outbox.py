"""From events to records and back, against a registry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")
pytest.importorskip("thriftpy2")

from kafkapy.bus import NotAnEventError, event
from kafkapy.bus.client_options import consumer_options, producer_options
from kafkapy.bus.codecs import codec_of
from kafkapy.bus.event_headers import Envelope
from kafkapy.bus.outbox import Outbox
from kafkapy.bus.routers import router_of
from kafkapy.common.time import MockTime
from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas import SchemaRegistryClient, SchemaRegistryError, SchemaSerializationError
from kafkapy.schemas.types import Schema
from kafkapy.serializer import LookUpFirst
from tests.bus.events import (
    BOOKING,
    BookingCreated,
    BookingCreatedNewer,
    Circle,
    Colour,
    Drawn,
    Means,
    Moved,
    Paid,
    Place,
    Square,
)
from tests.schemas.registry_server import running_registry

EVENTS = [
    BookingCreated(booking_id="b", user_id=7, note="late"),
    BookingCreated(booking_id="b", user_id=7),
    Paid(order="o-1", cents=250),
    Drawn(
        at=datetime(2026, 11, 24, 2, 0, tzinfo=UTC),
        colour=Colour.BLUE,
        shapes=[Circle(radius=1.0), Square(side=2.0, inner=Square(side=1.0))],
        counts={"a": 1},
        only=Circle(radius=3.0),
    ),
    Moved(
        user="u",
        place=Place(lat=1.0, lon=2.0),
        path=[Place(lat=0.0, lon=0.0)],
        counts={"x": 1 << 40},
        means=Means.CAR,
        raw=b"\x00\xff",
    ),
    Moved(user="u"),
]


@pytest.fixture
def registry() -> Iterator[SchemaRegistryClient]:
    with running_registry() as server, SchemaRegistryClient(server.url, max_retries=0) as client:
        yield client


def outbox(registry: SchemaRegistryClient, *, waits: bool = True, auto_register: bool = True) -> Outbox:
    return Outbox(registry, "tests", waits=waits, auto_register=auto_register, time=MockTime(1_000))


@pytest.mark.parametrize("sent", EVENTS, ids=lambda sent: type(sent).__name__)
def test_an_event_comes_back_as_it_was(registry: SchemaRegistryClient, sent: Any) -> None:
    outgoing = outbox(registry).prepare(sent)
    codec = codec_of(type(sent), registry, auto_register=False, waits=True)
    assert codec.deserializer.deserialize(outgoing.topic, outgoing.headers, outgoing.value) == sent


def test_the_record_says_what_it_is(registry: SchemaRegistryClient) -> None:
    box = outbox(registry)
    box.prepare(BookingCreated(booking_id="a", user_id=1))
    outgoing = box.prepare(BookingCreated(booking_id="b", user_id=7))
    assert (outgoing.topic, outgoing.key, outgoing.time_ms) == ("bookings", b"7", 1_000)
    envelope = Envelope.of(outgoing.topic, 0, 0, outgoing.time_ms, outgoing.key, outgoing.headers)
    assert envelope.event_id == outgoing.event_id
    assert (envelope.event_type, str(envelope.version)) == ("shop.BookingCreated", "1.0.0")
    assert (envelope.producer_id, envelope.producer_seq) == (box.producer_id, 2)
    assert registry.get_latest_version("shop.BookingCreated-v1").schema == Schema(BOOKING)
    assert box.prepare(EVENTS[3]).time_ms == 1_795_485_600_000, "its class says which field its time is"


def test_old_classes_read_newer_additions_and_the_other_way_round(registry: SchemaRegistryClient) -> None:
    box = outbox(registry)
    newer = box.prepare(BookingCreatedNewer(booking_id="b", user_id=7, city="Oslo"))
    older = box.prepare(BookingCreated(booking_id="b", user_id=7))
    reads = {
        cls: codec_of(cls, registry, auto_register=False, waits=True).deserializer
        for cls in (BookingCreated, BookingCreatedNewer)
    }
    assert reads[BookingCreated].deserialize("t", (), newer.value) == BookingCreated(booking_id="b", user_id=7)
    assert reads[BookingCreatedNewer].deserialize("t", (), older.value) == BookingCreatedNewer(
        booking_id="b", user_id=7, city="-"
    )


def test_what_is_not_published_is_refused(registry: SchemaRegistryClient) -> None:
    with pytest.raises(SchemaRegistryError, match=r"shop\.BookingCreated-v1"):
        outbox(registry, auto_register=False).prepare(BookingCreated(booking_id="b", user_id=7))


def test_whoever_must_not_wait_is_told_what_to_look_up(registry: SchemaRegistryClient) -> None:
    box = outbox(registry, waits=False)
    sent = BookingCreated(booking_id="b", user_id=7)
    with pytest.raises(LookUpFirst) as needed:
        box.prepare(sent)
    needed.value.look_up()
    assert box.prepare(sent).sequence == 1
    assert box.needs(sent) is None


def test_what_does_not_fit_its_schema(registry: SchemaRegistryClient) -> None:
    wrong: Any = "seven"
    with pytest.raises(SchemaSerializationError, match=r"shop\.BookingCreated-v1"):
        outbox(registry).prepare(BookingCreated(booking_id="b", user_id=wrong))
    with pytest.raises(SchemaSerializationError, match="cents"):
        outbox(registry).prepare(Paid(order="o", cents=wrong))


def test_what_is_no_event(registry: SchemaRegistryClient) -> None:
    @dataclass
    class Plain:
        x: int

    class Derived(BookingCreated):
        pass

    for wrong, sentence in (
        ({}, "takes an event"),
        (Plain(1), "is no event class"),
        (Derived, "takes an event|no event"),
    ):
        with pytest.raises(NotAnEventError, match=sentence):
            outbox(registry).prepare(wrong)
    with pytest.raises(TypeError, match="no dataclass"):
        event(name="a.B", version="1.0.0", topic="t", schema="")(str)


def test_what_arrived_is_counted(registry: SchemaRegistryClient) -> None:
    box = outbox(registry)
    sent = [box.prepare(BookingCreated(booking_id="b", user_id=n)) for n in range(3)]
    box.settled(sent[0], None)
    box.settled(sent[2], None)
    box.settled(sent[1], RuntimeError())
    (told,) = box.audit()
    assert (told.sent, told.failed, told.last_seq, told.topic) == (2, 1, 3, "bookings")
    assert box.audit() == []
    box.audit_failed(told)
    assert [again.sent for again in box.audit()] == [2]


def test_routers() -> None:
    booking = BookingCreated(booking_id="b", user_id=7)
    assert router_of("user_id")(booking) == b"7"
    assert router_of("none")(booking) is None
    assert router_of(lambda each: each.booking_id + "!")(booking) == b"b!"
    assert router_of("tests.bus.test_outbox:route")(booking) == b"true"
    assert router_of("place.lat")(Moved(user="u")) is None
    with pytest.raises(NotAnEventError, match="there is no city"):
        router_of("city")(booking)
    with pytest.raises(NotAnEventError, match="gives float"):
        router_of("place.lat")(Moved(user="u", place=Place(lat=1.0, lon=2.0)))
    with pytest.raises(ValueError, match="is no router"):
        router_of("a b")


def route(booking: BookingCreated) -> bool:
    return booking.user_id == 7


def test_options_that_could_lose_events_are_refused() -> None:
    with pytest.raises(KafkaConfigurationError, match="acks is not for the bus's users"):
        producer_options("localhost", {"acks": 1})
    with pytest.raises(KafkaConfigurationError, match="enable_auto_commit"):
        consumer_options("localhost", "g", "earliest", {"enable_auto_commit": True})
    with pytest.raises(KafkaConfigurationError, match="start must be"):
        consumer_options("localhost", "g", "newest", {})
    with pytest.raises(KafkaConfigurationError, match="application names"):
        Outbox(SchemaRegistryClient("http://localhost"), "a b", waits=True)
    assert producer_options("localhost", {"linger_ms": 5})["acks"] == "all"
