"""After `stop` nothing of a client can be reached from its loop, however its life went: timers, sockets, callbacks."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from twisted.internet.testing import MemoryReactorClock

import kafkapy
from kafkapy import aio, tx
from kafkapy.errors import KafkaError
from tests.consumer.group.memory_group import Group
from tests.memory_driver import MemoryDriver
from tests.producing_broker import ProducingBroker
from tests.transactional_broker import TransactionalBroker

NOBODY = "127.0.0.1:1"
LIVES: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "producer": (aio.KafkaProducer, {}),
    "transactional producer": (aio.KafkaProducer, {"transactional_id": "tx"}),
    "consumer": (aio.KafkaConsumer, {}),
    "member of a group": (aio.KafkaConsumer, {"group_id": "g"}),
    "admin client": (aio.KafkaAdminClient, {}),
}
of_each = pytest.mark.parametrize("kind", LIVES)


@pytest.fixture(autouse=True)
def no_log_records(caplog: pytest.LogCaptureFixture) -> None:
    """pytest keeps them, with errors whose tracebacks hold what is looked for here."""
    caplog.set_level(logging.CRITICAL, "kafkapy")


@pytest.fixture
def broker() -> Iterator[TransactionalBroker]:
    with TransactionalBroker() as broker:
        broker.may_end.set()
        yield broker


def left_on_asyncio(live: Callable[[], Awaitable[Any]]) -> list[Any]:
    """What is left in the loop, and alive, of the client that `live` gives."""

    async def main() -> list[Any]:
        loop: Any = asyncio.get_running_loop()
        client = await live()
        parts = [weakref.ref(client), weakref.ref(getattr(client, "_core", client))]
        del client
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        timers = [handle for handle in loop._scheduled if not handle.cancelled()]
        watched = [key for key in loop._selector.get_map().values() if key.fd != loop._ssock.fileno()]
        gc.collect()
        return [*timers, *watched, *(part() for part in parts if part() is not None)]

    return asyncio.run(main())


@of_each
def test_stopped_after_work(broker: TransactionalBroker, kind: str) -> None:
    face, options = LIVES[kind]

    async def live() -> Any:
        client = face(bootstrap_servers=broker.address, **options)
        async with client:
            if isinstance(client, aio.KafkaProducer):
                if "transactional_id" in options:
                    await client.begin_transaction()
                await client.send_and_wait("t", b"x")
            elif isinstance(client, aio.KafkaAdminClient):
                await client.list_topics()
            else:
                await client.getmany(timeout_ms=1)
        return client

    assert left_on_asyncio(live) == []


@of_each
@pytest.mark.parametrize("stops", [True, False])
def test_no_broker(kind: str, stops: bool) -> None:
    face, options = LIVES[kind]

    async def live() -> Any:
        client = face(bootstrap_servers=NOBODY, bootstrap_timeout_ms=20, **options)
        for _ in range(2):  # as programs do that wait for a broker
            with pytest.raises(KafkaError, match="Unable to bootstrap"):
                await client.start()
        if stops:
            await client.stop()
        return client

    assert left_on_asyncio(live) == []


@of_each
@pytest.mark.parametrize("stops", [True, False])
def test_a_start_that_is_cancelled(kind: str, stops: bool) -> None:
    face, options = LIVES[kind]

    async def live() -> Any:
        client = face(bootstrap_servers=NOBODY, **options)
        start = asyncio.create_task(client.start())
        await asyncio.sleep(0)
        start.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start
        if stops:
            await client.stop()
        return client

    assert left_on_asyncio(live) == []


def test_started_when_a_broker_has_come() -> None:
    async def main() -> None:
        gone = ProducingBroker()
        with gone:
            port = gone.port
        client = aio.KafkaProducer(bootstrap_servers=f"127.0.0.1:{port}", bootstrap_timeout_ms=20)
        with suppress(aio.errors.KafkaConnectionError):
            await client.start()
        with pytest.raises(KafkaError, match="not started"):
            await client.send("t", b"x")
        client.config.bootstrap_timeout_ms = 10_000
        with ProducingBroker() as broker:
            client._core.network._bootstrap = {-1: client._core.network._bootstrap[-1]._replace(port=broker.port)}
            await client.start()
            await client.send_and_wait("t", b"x")
            await client.stop()
            assert broker.values == [b"x"]
            with pytest.raises(KafkaError, match="closed"):
                await client.start()

    asyncio.run(main())


def test_stopped_with_work_under_way(broker: TransactionalBroker) -> None:
    async def live() -> Any:
        producer = aio.KafkaProducer(bootstrap_servers=broker.address, linger_ms=60_000, buffer_memory=4_000)
        await producer.start()
        sending = [asyncio.create_task(producer.send("t", bytes(1_000))) for _ in range(8)]
        asking = asyncio.create_task(producer.partitions_for("never heard of"))
        await sending[0]
        await producer.stop(timeout=0)
        await asyncio.gather(*sending, asking, return_exceptions=True)
        return producer

    assert left_on_asyncio(live) == []


def test_the_broker_is_gone() -> None:
    async def live() -> Any:
        with ProducingBroker() as broker:
            producer = aio.KafkaProducer(bootstrap_servers=broker.address)
            await producer.start()
            await producer.send_and_wait("t", b"x")
        delivery = await producer.send("t", b"y")
        await producer.stop(timeout=0)
        with pytest.raises(KafkaError, match="forcefully"):
            await delivery
        return producer

    assert left_on_asyncio(live) == []


def test_many_leave_no_timer_and_no_buffer(broker: TransactionalBroker) -> None:
    async def main() -> int:
        loop: Any = asyncio.get_running_loop()
        for _ in range(200):
            async with aio.KafkaProducer(bootstrap_servers=broker.address) as producer:
                await producer.send_and_wait("t", b"x")
        await asyncio.sleep(0)
        return sum(not handle.cancelled() for handle in loop._scheduled)

    assert asyncio.run(main()) == 0


@pytest.mark.parametrize("face", ["kafkapy.aio.consumer.AsyncioDriver", "kafkapy.tx.consumer.TwistedDriver"])
@pytest.mark.parametrize("silent", [False, True])
def test_a_member_of_a_group(monkeypatch: pytest.MonkeyPatch, face: str, silent: bool) -> None:
    """It has joined, has heartbeats, fetches and a commit under way; its broker may have fallen silent."""
    group = Group()
    group.core.client.close()
    driver = group.driver
    monkeypatch.setattr(face, lambda reactor=None: driver)
    module = aio if "aio" in face else tx

    async def main() -> list[Any]:
        consumer = module.KafkaConsumer("t", group_id="g", bootstrap_servers="broker-0:9092")
        for step in (consumer.start, consumer.poll, partial(consumer.poll, 50), consumer.poll):
            await finished(driver, step())
        assert consumer.assignment()
        consumer.commit_async()
        group.cluster.brokers[0].silent = silent
        assert driver.live_timers
        await finished(driver, consumer.stop(timeout_ms=100))
        parts = [weakref.ref(consumer), weakref.ref(consumer._core)]
        del consumer, step
        driver.run()
        gc.collect()
        return [*driver.live_timers, *(part() for part in parts if part() is not None)]

    assert asyncio.run(main()) == []


async def finished(driver: MemoryDriver, awaitable: Any) -> Any:
    """The result of what asyncio's or Twisted's face gives, while time passes."""
    if hasattr(awaitable, "addBoth"):
        outcome: list[Any] = []
        awaitable.addBoth(outcome.append)
        done: Callable[[], Any] = lambda: outcome  # noqa: E731
    else:
        task = asyncio.ensure_future(awaitable)
        done = task.done
    for _ in range(2000):
        if done():
            break
        driver.advance(1)
        await asyncio.sleep(0)
    assert done()


@pytest.mark.parametrize("face", [tx.KafkaProducer, tx.KafkaConsumer, tx.KafkaAdminClient])
def test_on_twisted_nothing_is_left_of_a_start_that_was_given_up(face: Any) -> None:
    reactor = MemoryReactorClock()
    client = face(reactor=reactor, bootstrap_servers=NOBODY, bootstrap_timeout_ms=1_000)
    failures: list[Any] = []
    client.start().addErrback(failures.append)
    reactor.advance(0.1)
    assert reactor.getDelayedCalls()
    reactor.advance(1)
    assert failures
    assert reactor.getDelayedCalls() == []
    assert not reactor.readers and not reactor.writers
    client.start().addErrback(failures.append)
    client.stop().addErrback(failures.append)
    reactor.advance(0)
    assert len(failures) == 2
    assert reactor.getDelayedCalls() == []
    parts = [weakref.ref(client), weakref.ref(client._core)]
    del client
    failures.clear()
    gc.collect()
    assert [part() for part in parts] == [None, None]


def test_blocking_clients_are_gone_with_their_thread(broker: TransactionalBroker) -> None:
    before = threading.active_count()
    options: dict[str, Any] = {"bootstrap_servers": broker.address}
    producer: Any = kafkapy.KafkaProducer(**options)
    producer.send("t", b"x").get(10)
    consumer: Any = kafkapy.KafkaConsumer(**options)
    clients = [producer, consumer, kafkapy.KafkaAdminClient(**options)]
    for client in clients:
        client.close()
    parts = [weakref.ref(each) for client in clients for each in (client, client._core)]
    del producer, consumer, client
    clients.clear()
    gc.collect()
    assert [part() for part in parts] == [None] * len(parts)
    assert threading.active_count() == before
