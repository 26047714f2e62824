"""`KafkaConsumer` and its asyncio twin against a real broker."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafkapy import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafkapy.aio import KafkaConsumer as AioConsumer
from kafkapy.consumer import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafkapy.consumer.assignors import CooperativeStickyAssignor
from kafkapy.errors import (
    CommitFailedError,
    IllegalStateError,
    KafkaConfigurationError,
    KafkaTimeoutError,
    WakeupException,
)
from kafkapy.structs import OffsetAndMetadata
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def broker(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    process.start()
    yield process
    assert process.stop() == 0


@pytest.fixture
def topic(broker: BrokerProcess) -> Callable[..., str]:
    """Makes a topic of `partitions`, with records 0, 1, 2 … dealt out to them."""

    def make(records: int, partitions: int = 1) -> str:
        name = f"t-{uuid.uuid4().hex[:8]}"
        admin = AdminClient({"bootstrap.servers": broker.address})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(HANG_SECONDS)
        fill(broker, name, records, partitions)
        return name

    return make


def fill(broker: BrokerProcess, name: str, records: int, partitions: int = 1) -> None:
    producer = Producer({"bootstrap.servers": broker.address})
    for number in range(records):
        producer.produce(name, b"%d" % number, partition=number % partitions)
    assert producer.flush(HANG_SECONDS) == 0


def options(broker: BrokerProcess, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.address,
        "group_id": f"g-{uuid.uuid4().hex[:8]}",
        "auto_offset_reset": "earliest",
        "session_timeout_ms": 60_000,
        "heartbeat_interval_ms": 200,
        **more,
    }


def take(consumer: KafkaConsumer, count: int) -> list[Any]:
    records: list[Any] = []

    def all_came() -> bool:
        records.extend(itertools.chain(*consumer.poll(200).values()))
        return len(records) >= count

    wait_until(all_came, lambda: f"{len(records)} of {count} records")
    return records


class Member:
    """A consumer that is polled by a thread of its own."""

    def __init__(self, topic: str, **config: Any) -> None:
        self.consumer = KafkaConsumer(topic, **config)
        self.values: list[int] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            for records in self.consumer.poll(50).values():
                self.values += [int(record.value) for record in records]

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self.consumer.close()


def test_a_listener_commits_while_the_consumer_closes(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    name, config = topic(5), options(broker, enable_auto_commit=False)

    class Committer(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Any) -> None: ...

        def on_partitions_revoked(self, revoked: Any) -> None:
            if revoked:
                consumer.commit({partition: OffsetAndMetadata(3, "last", -1) for partition in revoked})

    consumer = KafkaConsumer(**config)
    consumer.subscribe([name], listener=Committer())
    take(consumer, 5)
    consumer.close()
    with KafkaConsumer(**config) as other:
        assert other.committed(TopicPartition(name, 0)) == 3


def test_another_thread_wakes_a_poll(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    with KafkaConsumer(topic(0), **options(broker)) as consumer:
        threading.Timer(0.2, consumer.wakeup).start()
        with pytest.raises(WakeupException):
            while True:
                consumer.poll(3_600_000)


def test_a_consumer_that_is_forgotten_warns_and_leaves(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    name, config = topic(3), options(broker)
    consumer: KafkaConsumer | None = KafkaConsumer(name, **config)
    assert consumer is not None
    take(consumer, 3)
    with pytest.warns(ResourceWarning, match=config["group_id"]):
        consumer = None
    with KafkaAdminClient(bootstrap_servers=broker.address) as admin:
        wait_until(lambda: admin.describe_consumer_groups([config["group_id"]])[0].members == [])


def test_a_loop_misses_nothing_while_offsets_are_committed(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    """Records come one by one, and between most of them a commit is due."""
    name, config = topic(0), options(broker, auto_commit_interval_ms=1)

    def fill_slowly() -> None:
        for _ in range(50):
            fill(broker, name, 1)

    filling = threading.Thread(target=fill_slowly)
    with KafkaConsumer(name, **config) as consumer:
        filling.start()
        assert [record.offset for record in itertools.islice(consumer, 50)] == list(range(50))
    filling.join()


def test_positions_and_commits_in_the_middle_of_a_loop(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    name, config = topic(20), options(broker, enable_auto_commit=False, consumer_timeout_ms=HANG_SECONDS * 1000)
    partition = TopicPartition(name, 0)
    with KafkaConsumer(name, **config) as consumer:
        for record in consumer:
            if record.offset == 6:
                break
        assert consumer.position(partition) == 7
        consumer.commit()
        assert consumer.committed(partition) == 7
        assert next(consumer).offset == 7
        assert [r.offset for r in take(consumer, 12)] == list(range(8, 20))
    with KafkaConsumer(name, **config) as consumer:
        assert next(iter(consumer)).offset == 7
        consumer.seek(partition, 18)
        assert [record.offset for record in itertools.islice(consumer, 2)] == [18, 19]
        consumer.commit({partition: OffsetAndMetadata(3, "mine", -1)})
        assert consumer.committed(partition, metadata=True) == OffsetAndMetadata(3, "mine", -1)


def test_auto_commit_on_close_and_not_after_a_failure(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    name, config = topic(10), options(broker)
    with pytest.raises(ZeroDivisionError), KafkaConsumer(name, **config) as consumer:
        take(consumer, 10)
        raise ZeroDivisionError
    with KafkaConsumer(name, **config) as consumer:
        assert consumer.committed(TopicPartition(name, 0)) is None
        assert len(take(consumer, 10)) == 10
    with KafkaConsumer(name, **config) as consumer:
        assert consumer.committed(TopicPartition(name, 0)) == 10


@pytest.mark.parametrize("cooperative", [False, True])
def test_two_members_share_a_topic(broker: BrokerProcess, topic: Callable[..., str], cooperative: bool) -> None:
    name, config = topic(100, 4), options(broker)
    if cooperative:
        config["partition_assignment_strategy"] = [CooperativeStickyAssignor]
    one = Member(name, **config)
    wait_until(lambda: len(one.consumer.assignment()) == 4)
    two = Member(name, **config)
    wait_until(lambda: len(one.consumer.assignment()) == len(two.consumer.assignment()) == 2)
    fill(broker, name, 100, 4)
    wait_until(lambda: len(one.values) + len(two.values) >= 200)
    assert sorted(one.values + two.values) == sorted([*range(100), *range(100)])
    one.close()
    wait_until(lambda: len(two.consumer.assignment()) == 4)
    two.close()


def test_a_handler_that_is_too_slow_comes_back(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    log: list[str] = []

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Any) -> None:
            log.append("-")

        def on_partitions_assigned(self, assigned: Any) -> None:
            log.append("+")

        def on_partitions_lost(self, lost: Any) -> None:
            log.append("lost")

    name = topic(5)
    consumer = KafkaConsumer(**options(broker, max_poll_interval_ms=1000, enable_auto_commit=False))
    consumer.subscribe([name], listener=Listener())
    take(consumer, 5)
    wait_until(lambda: consumer.health().group_state == "unjoined")
    with pytest.raises(CommitFailedError):
        consumer.commit()
    fill(broker, name, 1)
    take(consumer, 1)
    assert log[:3] == ["+", "lost", "+"]
    consumer.close()


def test_pause_keeps_what_was_fetched(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    name = topic(50)
    partition = TopicPartition(name, 0)
    with KafkaConsumer(name, **options(broker, max_poll_records=10)) as consumer:
        records = take(consumer, 10)
        consumer.pause(partition)
        assert consumer.poll(300) == {}
        assert (consumer.position(partition), consumer.paused()) == (10, {partition})
        consumer.resume(partition)
        records += take(consumer, 40)
        assert [record.offset for record in records] == list(range(50))
        health = consumer.health()
        assert (health.assigned, health.lag, health.lag_seconds, health.group_state) == (True, 0, 0.0, "stable")


def test_without_a_group(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    name = topic(10, 2)
    with KafkaConsumer(name, **options(broker, group_id=None, consumer_timeout_ms=500)) as consumer:
        assert sorted(int(record.value) for record in take(consumer, 10)) == list(range(10))
        assert list(consumer) == []
        assert len(consumer.assignment()) == 2
        with pytest.raises(IllegalStateError):
            consumer.commit()
    with pytest.raises(IllegalStateError):
        consumer.poll()


def test_wrong_options() -> None:
    wrongs: list[dict[str, Any]] = [
        {"grup_id": "g"},
        {"group_instance_id": "a b", "group_id": "g"},
        {"group_instance_id": "a"},
    ]
    for wrong in wrongs:
        with pytest.raises(KafkaConfigurationError):
            KafkaConsumer(**wrong)
    with pytest.raises(KafkaTimeoutError):
        KafkaConsumer("t", bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=300)


def test_ctrl_c_works_at_once(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    program = (
        "from kafkapy import KafkaConsumer\n"
        f"consumer = KafkaConsumer({topic(1)!r}, **{options(broker)!r})\n"
        "for record in consumer: print(record.offset, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"0\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert b"KeyboardInterrupt" in errors


def test_asyncio(broker: BrokerProcess, topic: Callable[..., str]) -> None:
    log: list[str] = []

    class Listener(AsyncConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked: Any) -> None:
            await asyncio.sleep(0.01)
            log.append("-")

        async def on_partitions_assigned(self, assigned: Any) -> None:
            await asyncio.sleep(0.01)
            log.append("+")

    async def main(name: str) -> None:
        consumer = AioConsumer(**options(broker))
        consumer.subscribe([name], listener=Listener())
        async with consumer:
            async for record in consumer:
                if record.offset == 4:
                    break
            partition = TopicPartition(name, 0)
            assert await consumer.position(partition) == 5
            await consumer.commit()
            assert await consumer.committed(partition) == 5
            assert (await consumer.getone()).offset == 5
            assert sum(map(len, (await consumer.getmany(timeout_ms=2000, max_records=2)).values())) == 2
            waiting = asyncio.ensure_future(consumer.poll(10_000, max_records=2))
            assert [r.offset for r in (await waiting)[partition]] == [8, 9]
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(consumer.poll(10_000), 0.2)
        assert log == ["+", "-"]

    asyncio.run(main(topic(10)))
