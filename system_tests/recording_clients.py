"""kafkapy's own clients, each on a thread of its own, that write a history of what they do and see."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kafkapy import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafkapy.consumer.consumer_face import ConsumerFace
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import CommitFailedError, RebalanceInProgressError
from kafkapy.producer.future import FutureBatchMetadata, RecordMetadata
from system_tests.clients import number_of, value_of
from system_tests.history import History, Partition

IMPATIENT: dict[str, Any] = {
    "request_timeout_ms": 5000,
    "reconnect_backoff_max_ms": 500,
    "retry_backoff_max_ms": 300,
    "metadata_max_age_ms": 10_000,
}
"""Options that let clients notice faults in seconds."""

numbers = itertools.count(1)
"""What records are: each number is sent once, whoever sends it."""


class RecordingClient:
    """A thread that does `_run` until `stop`; an error that ends it is a Failure in the history."""

    def __init__(self, history: History, name: str) -> None:
        self.history = history
        self.name = name
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run_to_the_end, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def stop(self, seconds: float = 60) -> None:
        """Let it end; one that does not is a Failure."""
        self._stopping.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.history.failure(self.name, f"has not ended within {seconds:g} s")

    def abandon(self) -> None:
        """Let it end soon, whatever becomes of its records."""
        self._stopping.set()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _run_to_the_end(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self.history.failure(self.name, error)

    def _run(self) -> None:
        raise NotImplementedError


class RecordingProducer(RecordingClient):
    """Sends to each partition in turn: one by one, or with `bulk` by `send_many`. `options` are KafkaProducer's.

    To a topic of one partition it sends without naming the partition: the client chooses.
    """

    def __init__(
        self,
        history: History,
        name: str,
        bootstrap: str,
        topic: str,
        partitions: int,
        records_per_second: int = 300,
        bulk: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(history, name)
        self.acknowledged = 0
        self.producer: KafkaProducer | None = None
        self._topic = topic
        self._partitions: list[Partition] = [(topic, number) for number in range(partitions)]
        self._rate = records_per_second
        self._bulk = bulk
        self._options = {
            **IMPATIENT,
            "bootstrap_servers": bootstrap,
            "client_id": name,
            "delivery_timeout_ms": 300_000,
            "max_block_ms": 300_000,
            "linger_ms": 5,
            **options,
        }

    def _run(self) -> None:
        with KafkaProducer(**self._options) as producer:
            self.producer = producer
            begin, sent, size = time.monotonic(), 0, 10
            for partition in itertools.cycle(self._partitions):
                if self._stopping.is_set():
                    break
                if self._bulk:
                    self._send_many(producer, partition, size)
                else:
                    for _ in range(size):
                        self._send(producer, partition)
                sent += size
                late = time.monotonic() - begin - sent / self._rate
                if late > 1:  # what an outage has cost is not caught up
                    begin, sent = time.monotonic(), 0
                self._stopping.wait(max(0.001, -late))
            producer.flush(timeout=120)

    def abandon(self) -> None:
        super().abandon()
        if self.producer is not None:
            self.producer.close(timeout=0)

    def _number_of_partition(self, partition: Partition) -> int | None:
        return partition[1] if len(self._partitions) > 1 else None

    def _send(self, producer: KafkaProducer, partition: Partition) -> None:
        value = next(numbers)
        self.history.invoke(self.name, partition, value)
        try:
            future = producer.send(self._topic, value_of(value), partition=self._number_of_partition(partition))
        except Exception:
            self.history.fail(self.name, partition, value)
            raise
        future.add_callback(self._delivered, value)
        future.add_errback(self._failed, partition, [value])

    def _delivered(self, value: int, metadata: RecordMetadata) -> None:
        self.acknowledged += 1
        self.history.ok(self.name, (metadata.topic, metadata.partition), value, metadata.offset)

    def _send_many(self, producer: KafkaProducer, partition: Partition, size: int) -> None:
        values = list(itertools.islice(numbers, size))
        for value in values:
            self.history.invoke(self.name, partition, value)
        number = self._number_of_partition(partition)
        future = producer.send_many(self._topic, list(map(value_of, values)), partition=number)
        future.add_both(self._done_many, partition, values, future)

    def _done_many(self, partition: Partition, values: list[int], future: FutureBatchMetadata, outcome: object) -> None:
        if isinstance(outcome, BaseException):
            self._failed(partition, values, outcome)
            return
        places = [run.offset + i if run.offset >= 0 else -1 for run in future.batches for i in range(run.record_count)]
        for value, offset in zip(values, places, strict=True):
            self.acknowledged += 1
            self.history.ok(self.name, partition, value, offset)

    def _failed(self, partition: Partition, values: list[int], error: BaseException) -> None:
        for value in values:
            self.history.info(self.name, partition, value)
        self.history.failure(self.name, error)


class RecordingConsumer(RecordingClient):
    """A member of a group. `commits`: "auto", or "manual" after each poll. `options` are KafkaConsumer's."""

    def __init__(
        self,
        history: History,
        name: str,
        bootstrap: str,
        topics: Collection[str],
        group: str,
        commits: str = "auto",
        **options: Any,
    ) -> None:
        super().__init__(history, name)
        self.polled = 0
        self.positions: dict[Partition, int] = {}
        """How far it has read."""
        self.assignments = 0
        self._consumer: KafkaConsumer | None = None
        self._topics = topics
        self._group = group
        self._commits = commits
        self._options = {
            **IMPATIENT,
            "bootstrap_servers": bootstrap,
            "client_id": name,
            "group_id": group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": commits == "auto",
            "auto_commit_interval_ms": 500,
            "session_timeout_ms": 6000,
            "heartbeat_interval_ms": 500,
            "max_poll_interval_ms": 20_000,  # which is also how long a JoinGroup may take
            "fetch_max_wait_ms": 200,
            **options,
        }

    @property
    def owned(self) -> set[TopicPartition]:
        return set() if self._consumer is None else self._consumer.assignment()

    @property
    def state(self) -> str | None:
        """Of its membership: "stable" if all is well."""
        return None if self._consumer is None else self._consumer.health().group_state

    @property
    def told(self) -> str:
        """Its partitions with positions, for whoever wonders why it does not go on."""
        if self._consumer is None:
            return "not there"
        states = self._consumer._core.subscriptions.assignment.items()
        return ", ".join(f"{p}: {state.fetch_state.name} {state.position}" for p, state in list(states))

    def _run(self) -> None:
        with KafkaConsumer(**self._options) as consumer:
            self._consumer = consumer
            consumer.subscribe(list(self._topics), listener=self._listener())
            while not self._stopping.is_set():
                offsets = self._read(consumer.poll(timeout_ms=200))
                if offsets and self._commits == "manual":
                    self._commit(consumer, offsets)

    def _listener(self) -> ConsumerRebalanceListener:
        member = self

        class Listener(ConsumerRebalanceListener):
            def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
                pass

            def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
                member.assignments += 1
                member.history.assign(member.name, [(p.topic, p.partition) for p in assigned], member._group)

        return Listener()

    def _read(
        self, records: Mapping[TopicPartition, Sequence[ConsumerRecord]]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Write down what a poll has brought; the offsets to commit."""
        if records:
            self._record(itertools.chain.from_iterable(records.values()))
        offsets = {partition: _after(some[-1]) for partition, some in records.items()}
        self.positions.update(places(offsets))
        return offsets

    def _record(self, records: Iterable[ConsumerRecord]) -> None:
        places = [((record.topic, record.partition), record.offset, number_of(record.value)) for record in records]
        self.polled += len(places)
        self.history.poll(self.name, places)

    def _commit(self, consumer: KafkaConsumer, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """By name: `commit()` leaves out partitions whose positions are being checked with a new leader, as Kafka's."""
        try:
            consumer.commit(offsets, timeout_ms=120_000)
        except (CommitFailedError, RebalanceInProgressError):
            return  # the group has moved on, as a user must expect: the records come again
        self.history.commit(self.name, self._group, places(offsets))


class LoopConsumer(RecordingConsumer):
    """One on a loop, which other threads may not ask. Invariant: `_owned` and `_state` are as of the last poll."""

    _owned: frozenset[TopicPartition] = frozenset()
    _state: str | None = None

    @property
    def owned(self) -> set[TopicPartition]:
        return set(self._owned)

    @property
    def state(self) -> str | None:
        return self._state

    def _look_at(self, consumer: ConsumerFace) -> None:
        self._owned, self._state = frozenset(consumer.assignment()), consumer.health().group_state


def _after(record: ConsumerRecord) -> OffsetAndMetadata:
    return OffsetAndMetadata(record.offset + 1, "", record.leader_epoch)


def places(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> dict[Partition, int]:
    return {(partition.topic, partition.partition): offset.offset for partition, offset in offsets.items()}
