"""Events through a real broker, on all three faces."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater

pytest.importorskip("fastavro")
pytest.importorskip("jsonschema")

from kafkapy import KafkaAdminClient, KafkaConsumer
from kafkapy.admin import NewTopic
from kafkapy.bus import Bus, Dispatcher, Envelope, PermanentFailure, Retries, aio, tx
from kafkapy.bus.audit_counters import AUDIT_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.schemas import SchemaRegistryClient
from tests.broker_process import BrokerProcess
from tests.bus.events import BookingCreated, BookingCreatedNewer, Paid
from tests.schemas.registry_server import running_registry
from tests.waiting import HANG_SECONDS
from tests.whole_topic import records_of

pytestmark = pytest.mark.integration

QUICK = Retries(attempts=3, first_s=0.01, longest_s=0.05)


class Place:
    """Where events go: a broker, a registry, and topics of a test's own are not needed, since groups are."""

    def __init__(self, broker: str, registry: SchemaRegistryClient) -> None:
        self.broker = broker
        self.registry = registry
        self.options: dict[str, Any] = {"bootstrap_servers": broker, "registry": registry}

    def records(self, topic: str) -> list[Any]:
        return records_of(self.broker, topic)


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(
        tmp_path_factory.mktemp("bus"),
        f"{zookeeper}/{uuid.uuid4().hex[:12]}",
        transaction_state_log_replication_factor="1",
        transaction_state_log_min_isr="1",
        transaction_state_log_num_partitions="1",
    )
    process.start()
    yield process
    process.stop()


@pytest.fixture
def place(broker: BrokerProcess) -> Iterator[Place]:
    with running_registry() as server, SchemaRegistryClient(server.url, max_retries=0) as registry:
        admin = KafkaAdminClient(bootstrap_servers=broker.address)
        if "bookings" in admin.list_topics():  # emptied, so that each test finds its own events only
            partitions = [TopicPartition(topic, n) for topic in ("bookings", "payments") for n in range(2)]
            admin.delete_records(dict.fromkeys(partitions, -1))
        else:
            admin.create_topics([NewTopic("bookings", 2, 1), NewTopic("payments", 2, 1)])
        admin.close()
        yield Place(broker.address, registry)


def bookings(count: int) -> list[BookingCreated]:
    return [BookingCreated(booking_id=f"b-{n}", user_id=n % 5) for n in range(count)]


async def until(condition: Any) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def group() -> str:
    return f"g-{uuid.uuid4().hex[:8]}"


def test_send_and_handle_on_asyncio(place: Place) -> None:
    found: list[tuple[BookingCreated, Envelope]] = []
    paid: list[Paid] = []

    async def main() -> None:
        async with aio.Bus(**place.options, application="shop", auto_register=True) as bus:
            metadata = await bus.send(bookings(1)[0])
            assert metadata.topic == "bookings"
            await bus.send_many([*bookings(20)[1:], BookingCreatedNewer(booking_id="new", user_id=3, city="Oslo")])
            await bus.send(Paid(order="o", cents=1), time_ms=1_000, event_id="an-id")
        dispatcher = aio.Dispatcher(**place.options, group=group())

        @dispatcher.on(BookingCreated)
        async def book(event: BookingCreated, envelope: Envelope) -> None:
            found.append((event, envelope))

        @dispatcher.on(Paid)
        def pay(event: Paid) -> None:
            paid.append(event)

        running = asyncio.create_task(dispatcher.run())
        await until(lambda: len(found) == 21 and paid)
        dispatcher.stop()
        await running
        assert dispatcher.metrics.handled == 22
        assert 'kafkapy_dispatcher_handled_total{group="' in dispatcher.prometheus()

    asyncio.run(main())
    assert {event.booking_id for event, _ in found} == {f"b-{n}" for n in range(20)} | {"new"}
    assert {(envelope.event_type, str(envelope.version)) for _, envelope in found} == {
        ("shop.BookingCreated", "1.0.0"),
        ("shop.BookingCreated", "1.0.1"),
    }
    for user in range(5):
        own = [event.booking_id for event, _ in found if event.user_id == user and event.booking_id != "new"]
        assert own == sorted(own, key=lambda name: int(name[2:])), "order by key"
    assert {envelope.producer_seq for _, envelope in found} == set(range(1, 22))
    counters = [json.loads(record.value) for record in place.records(AUDIT_TOPIC)]
    sent = [each for each in counters if each["producer"] == found[0][1].producer_id]
    assert {(each["topic"], each["sent"], each["hour"] == "1970-01-01T00") for each in sent} == {
        ("bookings", 21, False),
        ("payments", 1, True),
    }


def test_send_and_handle_with_threads(place: Place) -> None:
    with Bus(**place.options, application="shop", auto_register=True) as bus:
        assert len(bus.send_many(bookings(10))) == 10
        assert bus.send(Paid(order="o", cents=1)).topic == "payments"
    dispatcher = Dispatcher(**place.options, group=group(), max_parallel=4)
    found: list[str] = []

    @dispatcher.on(BookingCreated)
    def book(event: BookingCreated) -> None:
        found.append(event.booking_id)
        if len(found) == 10:
            dispatcher.stop()

    thread = threading.Thread(target=dispatcher.run)
    thread.start()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
    assert sorted(found) == sorted(f"b-{n}" for n in range(10))


def test_ctrl_c_ends_a_program_when_its_handler_has_ended(place: Place) -> None:
    with Bus(**place.options, application="shop", auto_register=True, audit=False) as bus:
        bus.send_many(bookings(5))
    program = """if True:
        import asyncio, os, signal, sys
        from kafkapy.bus import Dispatcher
        from tests.bus.events import BookingCreated

        dispatcher = Dispatcher(*sys.argv[1:3], group=sys.argv[3], max_parallel=1)

        @dispatcher.on(BookingCreated)
        async def book(event: BookingCreated) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(100):  # turns of the loop, in which it hears of the signal
                await asyncio.sleep(0)
            print(event.booking_id, flush=True)

        try:
            dispatcher.run()
        finally:
            print("ended", flush=True)
        """
    name = group()
    arguments = [sys.executable, "-c", program, place.broker, place.registry.urls[0], name]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert (done.returncode, done.stderr) == (130, "")
    handled, ended = done.stdout.splitlines()
    assert handled in {f"b-{n}" for n in range(5)} and ended == "ended"
    partitions = [TopicPartition("bookings", n) for n in range(2)]
    with KafkaConsumer(bootstrap_servers=place.broker, group_id=name) as consumer:
        begins = consumer.beginning_offsets(partitions)
        committed = [(consumer.committed(each), begins[each]) for each in partitions]
    assert sum(offset - begin for offset, begin in committed if offset is not None) == 1


async def pause(seconds: float) -> None:
    await deferLater(reactor, seconds)


@pytest_twisted.ensureDeferred
async def test_send_and_handle_on_twisted(place: Place) -> Any:
    name = group()
    bus = await tx.Bus(**place.options, application="shop", auto_register=True).start()
    assert len(await bus.send_many(bookings(10))) == 10
    await bus.send(Paid(order="o", cents=1))
    await bus.stop()
    dispatcher = tx.Dispatcher(**place.options, group=name, retries=QUICK, auto_register=True, handler_timeout_s=2.0)
    found: list[str] = []
    paid: list[Paid] = []

    @dispatcher.on(BookingCreated)
    async def book(event: BookingCreated) -> Paid | None:
        found.append(event.booking_id)
        await pause(0.001)
        if event.booking_id == "b-3" and found.count("b-3") == 1:
            await pause(1_000)
        if event.booking_id == "b-4":
            raise ValueError("no")
        return Paid(order="by handler", cents=2) if event.booking_id == "b-5" else None

    @dispatcher.on(Paid)
    def pay(event: Paid) -> None:
        paid.append(event)

    running = dispatcher.run()
    while dispatcher.metrics.handled < 11 or dispatcher.metrics.dead_lettered < 1:
        await pause(0.01)
    dispatcher.stop()
    await running
    assert sorted(set(found)) == sorted(f"b-{n}" for n in range(10))
    assert (found.count("b-3"), found.count("b-4")) == (2, 3)
    assert paid == [Paid(order="o", cents=1), Paid(order="by handler", cents=2)]
    (letter,) = place.records(f"bookings.dead-letter.{name}")
    assert dict(letter.headers)["dead-letter-error"] == b"ValueError: no"
    replayed = await dispatcher.replay()
    assert (replayed.received, replayed.dead_lettered) == (1, 1)


def test_what_fails_is_tried_again_and_then_a_dead_letter_that_can_be_replayed(place: Place) -> None:
    attempts: dict[str, int] = {}
    broken = True
    name = group()

    async def main() -> None:
        nonlocal broken
        async with aio.Bus(**place.options, application="shop", auto_register=True, audit=False) as bus:
            await bus.send_many(bookings(6))
        dispatcher = aio.Dispatcher(**place.options, group=name, retries=QUICK)

        @dispatcher.on(BookingCreated)
        async def book(event: BookingCreated) -> None:
            attempts[event.booking_id] = attempts.get(event.booking_id, 0) + 1
            if event.booking_id == "b-1" and broken:
                raise ValueError("no such user")
            if event.booking_id == "b-2" and attempts["b-2"] == 1:
                raise OSError("try again")
            if event.booking_id == "b-3" and broken:
                raise PermanentFailure("never")

        running = asyncio.create_task(dispatcher.run())
        await until(lambda: dispatcher.metrics.dead_lettered == 2 and dispatcher.metrics.handled == 4)
        dispatcher.stop()
        await running
        assert attempts == {"b-0": 1, "b-1": 3, "b-2": 2, "b-3": 1, "b-4": 1, "b-5": 1}
        broken = False
        replayed = await dispatcher.replay()
        assert (replayed.handled, replayed.dead_lettered) == (2, 0)
        assert (await dispatcher.replay()).received == 0

    asyncio.run(main())
    assert attempts["b-1"] == 4 and attempts["b-3"] == 2
    letters = place.records(f"bookings.dead-letter.{name}")
    reasons = sorted(
        (dict(each.headers)["dead-letter-reason"], dict(each.headers)["dead-letter-error"]) for each in letters
    )
    assert reasons == [
        (b"given up by the handler", b"PermanentFailure: never"),
        (b"handler failed", b"ValueError: no such user"),
    ]


def test_what_no_handler_could_end_is_not_committed(place: Place) -> None:
    name = group()
    began: list[str] = []

    async def main() -> None:
        async with aio.Bus(**place.options, application="shop", auto_register=True, audit=False) as bus:
            await bus.send_many(bookings(4))
        hanging = aio.Dispatcher(**place.options, group=name, stop_timeout_s=0.1)

        @hanging.on(BookingCreated)
        async def hang(event: BookingCreated) -> None:
            began.append(event.booking_id)
            await asyncio.sleep(1_000)

        running = asyncio.create_task(hanging.run())
        await until(lambda: len(began) == 4)
        hanging.stop()
        await running

        again = aio.Dispatcher(**place.options, group=name)
        found: list[str] = []

        @again.on(BookingCreated)
        async def book(event: BookingCreated) -> None:
            found.append(event.booking_id)

        running = asyncio.create_task(again.run())
        await until(lambda: len(found) == 4)
        again.stop()
        await running

    asyncio.run(main())


def test_a_handler_that_hangs_is_cancelled_and_called_again(place: Place) -> None:
    calls: list[str] = []

    async def main() -> None:
        async with aio.Bus(**place.options, application="shop", auto_register=True, audit=False) as bus:
            await bus.send(bookings(1)[0])
        dispatcher = aio.Dispatcher(**place.options, group=group(), handler_timeout_s=0.1, retries=QUICK)

        @dispatcher.on(BookingCreated)
        async def hang_once(event: BookingCreated) -> None:
            calls.append(event.booking_id)
            if len(calls) == 1:
                await asyncio.sleep(1_000)

        running = asyncio.create_task(dispatcher.run())
        await until(lambda: dispatcher.metrics.handled == 1)
        dispatcher.stop()
        await running

    asyncio.run(main())
    assert len(calls) == 2


def test_unreadable_records_are_dead_letters(place: Place) -> None:
    from kafkapy import KafkaProducer

    name = group()
    with KafkaProducer(bootstrap_servers=place.broker) as producer:
        producer.send("bookings", b"no wire format")

    async def main() -> None:
        dispatcher = aio.Dispatcher(**place.options, group=name, retries=QUICK)

        @dispatcher.on(BookingCreated)
        async def book(event: BookingCreated) -> None:
            raise AssertionError

        running = asyncio.create_task(dispatcher.run())
        await until(lambda: dispatcher.metrics.dead_lettered == 1)
        dispatcher.stop()
        await running

    asyncio.run(main())
    (letter,) = place.records(f"bookings.dead-letter.{name}")
    assert letter.value == b"no wire format"
    assert dict(letter.headers)["dead-letter-reason"] == b"unreadable"
    assert dict(letter.headers)["dead-letter-topic"] == b"bookings"


def test_exactly_once(place: Place) -> None:
    name = group()
    paid = 0

    async def run_once(stop_after: int) -> None:
        nonlocal paid
        dispatcher = aio.Dispatcher(
            **place.options,
            group=name,
            auto_register=True,
            transactional_id=name,
            retries=QUICK,
            consumer={"max_poll_records": 5},
        )
        done = 0

        @dispatcher.on(BookingCreated)
        async def charge(event: BookingCreated) -> Paid:
            nonlocal done
            done += 1
            if done == stop_after:
                dispatcher.stop()  # in the middle of a round: nothing of it is seen
            return Paid(order=event.booking_id, cents=event.user_id)

        running = asyncio.create_task(dispatcher.run())
        await until(lambda: running.done() or paid + dispatcher.metrics.outputs >= 30)
        dispatcher.stop()
        await running
        paid += dispatcher.metrics.outputs

    async def main() -> None:
        async with aio.Bus(**place.options, application="shop", auto_register=True, audit=False) as bus:
            await bus.send_many(bookings(30))
        await run_once(13)
        assert 0 < paid < 13
        await run_once(1_000)

    asyncio.run(main())
    paid_for = records_of(place.broker, "payments", isolation_level="read_committed")
    orders = [json.loads((record.value or b"")[5:])["order"] for record in paid_for]
    assert sorted(orders) == sorted(f"b-{n}" for n in range(30))
