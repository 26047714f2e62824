"""`kafkapy.aio.KafkaConsumer` with brokers in memory and a clock that stands: what a cancellation leaves, to the step."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import Callable, Collection, Coroutine
from typing import Any

import pytest

from kafkapy import AsyncConsumerRebalanceListener, TopicPartition
from kafkapy.aio import ConsumerStoppedError, KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafkapy.aio.offsets import offsets_of
from kafkapy.common.timestamps import EARLIEST_TIMESTAMP
from kafkapy.errors import (
    Cancelled,
    IllegalStateError,
    KafkaConfigurationError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    UnknownTopicOrPartitionError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.structs import OffsetAndMetadata
from tests.consumer.group.memory_group import P0, P1, Group
from tests.memory_driver import SILENCE
from tests.waiting import HANG_SECONDS


class Consuming:
    """A consumer of a group in memory, each partition of which has `records` records."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, records: int = 3, **options: Any) -> None:
        self.group = Group()
        self.driver = self.group.driver
        self._records = records
        for broker in self.group.cluster.brokers.values():
            broker.handlers |= {ApiKey.FETCH: self._fetch, ApiKey.LIST_OFFSETS: self._list_offsets}
        monkeypatch.setattr("kafkapy.aio.consumer.AsyncioDriver", lambda: self.driver)
        settings: dict[str, Any] = {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False}
        self.consumer = KafkaConsumer(bootstrap_servers="broker-0:9092", **{**settings, **options})

    @classmethod
    async def started(cls, monkeypatch: pytest.MonkeyPatch, records: int = 3, **options: Any) -> Consuming:
        setup = cls(monkeypatch, records, **options)
        await setup.result(setup.consumer.start())
        return setup

    def _fetch(self, request: Any) -> Any:
        answers = []
        for wanted in (partition for topic in request.topics for partition in topic.partitions):
            data = FetchResponse.PartitionData(partition_index=wanted.partition, records=b"")
            data.high_watermark = data.last_stable_offset = self._records
            if wanted.fetch_offset < self._records:
                builder = MemoryRecordsBuilder()
                for number in range(self._records):
                    builder.append(1000, None, b"%d" % number)
                data.records = builder.build()
            answers.append(data)
        topic = FetchResponse.FetchableTopicResponse(topic="t", topic_id=bytes(16), partitions=answers)
        return FetchResponse(responses=[topic]) if any(data.records for data in answers) else SILENCE

    def _list_offsets(self, request: Any) -> ListOffsetsResponse:
        response = self.group._list_offsets(request)
        for wanted, answer in zip(request.topics[0].partitions, response.topics[0].partitions, strict=True):
            answer.offset = 0 if wanted.timestamp == EARLIEST_TIMESTAMP else self._records
        return response

    async def until(self, condition: Callable[[], object]) -> None:
        """Let time pass, and the loop turn, by small steps."""
        for _ in range(2000):
            if condition():
                return
            self.driver.advance(1)
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError("it never came to that")

    async def result(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        task = asyncio.create_task(coroutine)
        await self.until(task.done)
        return task.result()

    async def offsets(self, coroutine: Coroutine[Any, Any, Any]) -> dict[TopicPartition, list[int]]:
        found = await self.result(coroutine)
        return {partition: [record.offset for record in records] for partition, records in found.items()}


class Listener(AsyncConsumerRebalanceListener):
    """`release` lets a call of it go on."""

    def __init__(self, inside: Callable[[], Coroutine[Any, Any, Any]] | None = None) -> None:
        self.log: list[str] = []
        self.release = asyncio.Event()
        self._inside = inside

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self.log.append("begins")
        await self.release.wait()
        if self._inside is not None:
            await self._inside()
        self.log.append("ends")

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        return


async def cancelled(task: asyncio.Task[Any]) -> bool:
    task.cancel()
    return isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)


@pytest.mark.parametrize("call", ["poll", "getone", "getmany", "poll_arrow", "__anext__"])
def test_who_is_cancelled_when_records_have_come_leaves_them_to_the_next(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        consumer, fetcher = setup.consumer, setup.consumer._core.fetcher
        consumer.assign([P0])
        waits = {"timeout_ms": 10_000} if call in ("poll", "getmany", "poll_arrow") else {}
        task = asyncio.create_task(getattr(consumer, call)(**waits))
        await setup.until(fetcher.has_records)
        assert await cancelled(task)
        assert await setup.offsets(consumer.poll(100)) == {P0: [0, 1, 2]}

    asyncio.run(main())


def test_methods_that_take_time_are_coroutines() -> None:
    synchronous = {
        "assign assignment commit_async enforce_rebalance group_metadata health highwater last_poll_timestamp last_stable_offset",
        "partitions_for_topic pause paused resume seek subscribe subscription bootstrap_connected create_batch metrics",
    }
    at_once = {name for names in synchronous for name in names.split()} | {"unsubscribe", "transaction"}
    for face in (KafkaConsumer, KafkaProducer, KafkaAdminClient):
        methods = inspect.getmembers(face, inspect.isfunction)
        waiting = {name for name, method in methods if inspect.iscoroutinefunction(method) and name[0] != "_"}
        assert {name for name, _ in methods if name[0] != "_"} - at_once == waiting


def test_tasks_groups_and_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        consumer = setup.consumer
        consumer.assign([P0])
        outcomes: list[Any] = []

        async def together() -> None:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(consumer.getone()) for _ in range(2)]
            outcomes.extend(task.result().offset for task in tasks)

        await setup.result(together())
        loop = asyncio.get_running_loop()
        waiting: list[Any] = []
        thread = threading.Thread(
            target=lambda: waiting.append(
                asyncio.run_coroutine_threadsafe(consumer.getone(), loop).result(HANG_SECONDS)
            )
        )
        thread.start()
        while not waiting:
            await asyncio.sleep(0.001)
        thread.join()
        assert [*outcomes, waiting[0].offset] == [0, 1, 2]

    asyncio.run(main())


def test_a_listener_goes_on_without_the_poll_and_no_record_comes_before_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        consumer, listener = setup.consumer, Listener()
        consumer.subscribe(["t"], listener=listener)
        first = asyncio.create_task(consumer.poll(10_000))
        await setup.until(lambda: listener.log)
        assert await cancelled(first)
        second = asyncio.create_task(consumer.poll(10_000, 1))
        third = asyncio.create_task(consumer.getone())
        for _ in range(50):
            setup.driver.advance(10)
            await asyncio.sleep(0)
        assert not second.done()
        assert not third.done()
        assert listener.log == ["begins"]
        listener.release.set()
        await setup.until(lambda: second.done() and third.done())
        assert listener.log == ["begins", "ends"]
        assert len({type(second.exception()), type(third.exception())} & {Cancelled}) == 0
        assert setup.consumer.group_metadata().generation_id == 1

    asyncio.run(main())


def test_a_listener_that_polls_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        consumer = setup.consumer

        async def inside() -> None:
            with pytest.raises(IllegalStateError, match="A listener"):
                await consumer.getone()
            await consumer.seek_to_end(P1)
            # Else P1 alone may be fetched first, which is never answered here.
            await consumer.seek_to_beginning(P0)

        listener = Listener(inside)
        listener.release.set()
        consumer.subscribe(["t"], listener=listener)
        assert await setup.offsets(consumer.poll(5000)) == {P0: [0, 1, 2]}
        assert listener.log == ["begins", "ends"]

    asyncio.run(main())


def test_a_cancelled_commit_is_not_repeated_behind_a_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch)
        consumer, group = setup.consumer, setup.group
        consumer.assign([P0])
        await setup.result(consumer.start())
        group.errors[ApiKey.OFFSET_COMMIT] = [Errors.COORDINATOR_LOAD_IN_PROGRESS]
        first = asyncio.create_task(consumer.commit({P0: 1}))
        await asyncio.sleep(0)
        assert await cancelled(first)
        await setup.result(consumer.commit({P0: (2, "mine")}))
        for _ in range(50):
            setup.driver.advance(100)
        commits = group.cluster.brokers[0].asked(ApiKey.OFFSET_COMMIT)
        sent = [commit.topics[0].partitions[0] for commit in commits]
        assert [partition.committed_offset for partition in sent] == [1, 2]
        assert sent[-1].committed_metadata == "mine"

    asyncio.run(main())


def test_a_cancelled_stop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch)
        consumer = setup.consumer
        consumer.subscribe(["t"])
        await setup.result(consumer.start())
        assert consumer.assignment() == {P0, P1}
        assert await cancelled(asyncio.create_task(consumer.stop()))
        await setup.result(consumer.stop())
        assert len(setup.group.cluster.brokers[0].asked(ApiKey.LEAVE_GROUP)) == 1
        with pytest.raises(ConsumerStoppedError):
            await consumer.getone()
        assert [record async for record in consumer._records()] == []

    asyncio.run(main())


def test_a_consumer_that_is_forgotten_warns_and_leaves_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch)
        setup.consumer.subscribe(["t"])
        await setup.result(setup.consumer.start())
        broker = setup.group.cluster.brokers[0]
        with pytest.warns(ResourceWarning, match="group_id=g> was not stopped"):
            del setup.consumer
            gc.collect()
        await setup.until(lambda: broker.asked(ApiKey.LEAVE_GROUP))

    asyncio.run(main())


def test_a_stop_waits_for_an_unsubscribe_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(Listener):
        async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            self.log.append(f"gives up {len(revoked)}")
            await self.release.wait()

    async def main() -> None:
        setup = Consuming(monkeypatch)
        consumer, listener = setup.consumer, Slow()
        listener.release.set()
        consumer.subscribe(["t"], listener=listener)
        await setup.result(consumer.start())
        listener.release.clear()
        assert await cancelled(asyncio.ensure_future(consumer.unsubscribe()))
        await setup.until(lambda: listener.log[-1] == "gives up 2")
        stop = asyncio.create_task(consumer.stop())
        for _ in range(20):
            setup.driver.advance(10)
            await asyncio.sleep(0)
        listener.release.set()
        await setup.until(stop.done)
        assert stop.exception() is None
        assert listener.log.count("gives up 2") == 1
        assert len(setup.group.cluster.brokers[0].asked(ApiKey.LEAVE_GROUP)) == 1

    asyncio.run(main())


def test_records_of_some_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        consumer = setup.consumer
        consumer.assign([P0, P1])
        one = await setup.result(consumer.getone(P1))
        assert (one.partition, one.offset) == (1, 0)
        assert await setup.offsets(consumer.getmany(P1, timeout_ms=5000)) == {P1: [1, 2]}
        assert await setup.offsets(consumer.getmany(P1, timeout_ms=50)) == {}
        assert await setup.offsets(consumer.getmany(timeout_ms=5000)) == {P0: [0, 1, 2]}
        with pytest.raises(TypeError):
            await consumer.getmany(1000)  # type: ignore[arg-type]

    asyncio.run(main())


def test_aiokafkas_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        consumer = setup.consumer
        setup.group.offsets = {P0: 2}
        consumer.assign([P0, P1])
        assert await setup.result(consumer.seek_to_beginning()) is True
        assert await setup.result(consumer.seek_to_committed()) == {P0: 2, P1: None}
        assert await setup.result(consumer.position(P0)) == 2
        assert (await setup.result(consumer.getone(P0))).offset == 2
        assert (consumer.last_stable_offset(P0), consumer.highwater(P0)) == (3, 3)
        assert consumer.last_poll_timestamp(P0) is not None
        assert (consumer.partitions_for_topic("t"), consumer.partitions_for_topic("u")) == ({0, 1}, None)
        for wrong in (consumer.seek_to_end(TopicPartition("u", 0)), consumer.seek_to_committed(TopicPartition("u", 0))):
            with pytest.raises(IllegalStateError):
                await wrong
        with pytest.raises(IllegalStateError):
            consumer.seek(TopicPartition("u", 0), 1)

    asyncio.run(main())


def test_start_does_not_wait_long_for_other_members(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch)
        setup.group.cluster.brokers[0].handlers[ApiKey.JOIN_GROUP] = lambda request: SILENCE
        setup.consumer.subscribe(["t"])
        start = asyncio.create_task(setup.consumer.start())
        while not start.done():
            setup.driver.advance(100)
            await asyncio.sleep(0)
        assert setup.driver.time.monotonic_ms() < 6000
        assert setup.consumer.assignment() == set()

    asyncio.run(main())


def test_who_only_polls_lets_the_loop_have_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch, records=0)
        setup.consumer.assign([P0])
        turns: list[int] = []
        asyncio.get_running_loop().call_soon(turns.append, 1)
        assert await setup.result(setup.consumer.poll(0)) == {}
        assert turns == [1]

    asyncio.run(main())


def test_a_subscription_that_follows_an_unsubscribe(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch)
        consumer = setup.consumer
        consumer.subscribe(["t"])
        await setup.result(consumer.start())
        left = consumer.unsubscribe()
        consumer.assign([P1])
        await setup.until(left.done)
        assert (consumer.subscription(), consumer.assignment()) == (None, {P1})
        assert await setup.offsets(consumer.poll(5000)) == {P1: [0, 1, 2]}

    asyncio.run(main())


def test_a_consumer_without_topics_says_once_that_nothing_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        setup = await Consuming.started(monkeypatch)
        for _ in range(2):
            assert await setup.offsets(setup.consumer.poll(10)) == {}
        assert [record.message for record in caplog.records if "has no topics" in record.message] == [
            "This consumer polls, and has no topics: nothing comes before it subscribes or assigns"
        ]

    asyncio.run(main())


def test_subscribe_refuses_what_aiokafkas_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        consumer = Consuming(monkeypatch).consumer
        wrong: list[dict[str, Any]] = [
            {"topics": ("t",), "pattern": "some"},
            {"topics": (), "pattern": None},
            {"topics": "t"},
            {"topics": ["t"], "listener": object()},
        ]
        for arguments in wrong:
            with pytest.raises(TypeError):
                consumer.subscribe(**arguments)
        with pytest.raises(ValueError, match="is no regular expression"):
            consumer.subscribe(pattern="^(some(")

    asyncio.run(main())


def test_offsets_as_aiokafka_takes_them() -> None:
    assert offsets_of({P0: 1, P1: (2, "x")}) == {P0: OffsetAndMetadata(1, "", -1), P1: OffsetAndMetadata(2, "x", -1)}
    wrongs: list[Any] = [5, {}, {"t": 1}, {P0: "1"}, {P0: True}, {P0: (1, 2)}, {P0: (1,)}]
    for wrong in wrongs:
        with pytest.raises((TypeError, ValueError), match=r"TopicPartition|offset|Metadata"):
            offsets_of(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda consumer: consumer.getone(),
        lambda consumer: consumer.getone(P0),
        lambda consumer: consumer.poll(100),
        lambda consumer: consumer.getmany(timeout_ms=100),
        lambda consumer: consumer.poll_arrow(100),
        lambda consumer: anext(consumer),
        lambda consumer: anext(aiter(consumer)),
        lambda consumer: consumer.position(P0),
        lambda consumer: consumer.seek_to_beginning(P0),
        lambda consumer: consumer.seek_to_end(),
        lambda consumer: consumer.seek_to_committed(),
        lambda consumer: consumer.beginning_offsets([P0]),
        lambda consumer: consumer.end_offsets([P0]),
        lambda consumer: consumer.offsets_for_times({P0: 1}),
        lambda consumer: consumer.commit({P0: 1}),
        lambda consumer: consumer.committed(P0),
        lambda consumer: consumer.topics(),
        lambda consumer: asyncio.to_thread(consumer.commit_async, {P0: 1}),
    ],
)
def test_who_was_not_started_says_so(monkeypatch: pytest.MonkeyPatch, call: Callable[[Any], Any]) -> None:
    """What needs no broker may come before: topics, partitions, and the end."""

    async def main() -> None:
        setup = Consuming(monkeypatch)
        consumer = setup.consumer
        consumer.assign([P0])
        with pytest.raises(IllegalStateError, match="is not started: await its start"):
            await call(consumer)
        assert consumer.assignment() == {P0}
        await setup.result(consumer.start())
        assert await setup.offsets(consumer.poll(100)) == {P0: [0, 1, 2]}
        await setup.result(consumer.stop())

    asyncio.run(main())


def test_an_admin_client_that_was_not_started_says_so() -> None:
    async def main() -> None:
        client = KafkaAdminClient(bootstrap_servers="127.0.0.1:1")
        with pytest.raises(IllegalStateError, match="is not started"):
            await client.list_topics()
        await client.stop()

    asyncio.run(main())


def test_aiokafkas_options() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        consumer = KafkaConsumer(loop=loop, max_poll_records=None, client_rack=None, rebalance_timeout_ms=1)  # type: ignore[call-overload]
        assert (consumer.config["max_poll_records"], consumer.config["client_rack"]) == (500, "")
        assert KafkaProducer(max_batch_size=77).config.batch_size == 77
        with pytest.raises(KafkaConfigurationError, match="batch_size"):
            KafkaProducer(max_batch_size=77, batch_size=77)
        other = asyncio.new_event_loop()
        with pytest.raises(KafkaConfigurationError, match="loop"):
            KafkaConsumer(loop=other)
        other.close()

    asyncio.run(main())


@pytest.mark.parametrize("face", [KafkaConsumer, KafkaProducer, KafkaAdminClient])
@pytest.mark.parametrize("option", ["bootstrap_timeout_ms", "request_timeout_ms"])
def test_start_gives_up_without_a_broker(face: Any, option: str) -> None:
    async def main() -> None:
        client = face(bootstrap_servers="127.0.0.1:1", **{option: 600})
        with pytest.raises(KafkaTimeoutError, match=r"127\.0\.0\.1:1 within 600 ms"):
            await client.start()
        await client.stop()

    asyncio.run(main())


def test_start_waits_for_a_topic_that_is_being_made_and_needs_no_reset_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch, group_id=None, auto_offset_reset="none")
        cluster, consumer = setup.group.cluster, setup.consumer
        making = MetadataResponse.MetadataResponseTopic(name="t", error_code=Errors.LEADER_NOT_AVAILABLE.code)
        making.partitions = []
        cluster.topics["t"] = making
        consumer.subscribe(["t"])
        start = asyncio.create_task(consumer.start())
        for _ in range(30):
            setup.driver.advance(10)
            await asyncio.sleep(0)
        assert not start.done()
        cluster.add_topic("t", [0, 0])
        await setup.until(start.done)
        assert start.exception() is None
        assert consumer.assignment() == {P0, P1}

    asyncio.run(main())


class SeekingListener(AsyncConsumerRebalanceListener):
    """Knows itself where to go on, as programs that keep their state beside the offsets; `seek` may wait."""

    def __init__(self, seek: Callable[[TopicPartition], Any]) -> None:
        self._seek = seek

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        return

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        for partition in sorted(assigned):
            sought = self._seek(partition)
            if sought is not None:
                await sought


@pytest.mark.parametrize("method", ["seek", "seek_to_beginning"])
def test_without_a_reset_policy_what_a_listener_seeks_counts(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch, auto_offset_reset="none")
        await setup.result(setup.consumer.start())
        seek = getattr(setup.consumer, method)
        listener = SeekingListener(lambda partition: seek(partition, 0) if method == "seek" else seek(partition))
        setup.consumer.subscribe(["t"], listener=listener)
        found: dict[TopicPartition, list[int]] = {}
        while found.keys() != {P0, P1}:
            found |= await setup.offsets(setup.consumer.getmany(timeout_ms=100))
        assert found == {P0: [0, 1, 2], P1: [0, 1, 2]}

    asyncio.run(main())


def test_a_position_that_is_not_known_is_the_business_of_its_partition_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch, auto_offset_reset="none")
        await setup.result(setup.consumer.start())
        said: list[Any] = []

        async def look(partition: TopicPartition) -> None:
            try:
                await setup.consumer.position(partition)
            except NoOffsetForPartitionError as error:
                said.append(error.args[0])
            setup.consumer.seek(partition, 1)

        setup.consumer.subscribe(["t"], listener=SeekingListener(look))
        found: dict[TopicPartition, list[int]] = {}
        while found.keys() != {P0, P1}:
            found |= await setup.offsets(setup.consumer.getmany(timeout_ms=100))
        assert said == [{P0}, {P1}]
        setup.consumer.unsubscribe()
        setup.consumer.subscribe(["t"])
        with pytest.raises(NoOffsetForPartitionError) as failed:
            await setup.result(setup.consumer.getmany(timeout_ms=1000))
        assert failed.value.args[0] == {P0, P1}

    asyncio.run(main())


def test_a_topic_that_does_not_exist_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        setup = Consuming(monkeypatch, request_timeout_ms=400, group_id=None)
        setup.consumer.subscribe(["t", "missing"])
        with pytest.raises(UnknownTopicOrPartitionError, match="no topic missing"):
            await setup.result(setup.consumer.start())
        await setup.result(setup.consumer.stop())

    asyncio.run(main())
