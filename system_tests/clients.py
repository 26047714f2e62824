"""Clients that know what they have sent, what was acknowledged and what they have read.

A record's value says where it belongs: its number within its partition (0, 1, 2 ... in the order of sending) and filler
that follows from the number, so that a reader can tell every kind of loss, repetition and damage.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from system_tests.services import TIME_LIMIT_FACTOR

_FILLER = zlib.compress(bytes(range(256)) * 3, 0) * 3


def value_of(number: int) -> bytes:
    """Of very different sizes, most of them small."""
    size = number * 7919 % 331
    if number % 97 == 0:
        size += 1500
    return b"%d:%s" % (number, _FILLER[:size])


def number_of(value: bytes | None) -> int:
    """The inverse of `value_of`; raises if the value is not one of its."""
    assert value is not None, "a record without a value"
    number = int(value.partition(b":")[0])
    assert value == value_of(number), f"the value of record {number} is damaged: {value[:80]!r}"
    return number


def create_topic(
    bootstrap: str,
    name: str,
    partitions: int = 1,
    configs: Mapping[str, object] | None = None,
    seconds: float = 30,
    replication: int = 1,
) -> None:
    """Create a topic; tries again while the broker has no controller or the connection goes."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    deadline = time.monotonic() + TIME_LIMIT_FACTOR * seconds
    topic = NewTopic(name, partitions, replication, config={key: str(value) for key, value in (configs or {}).items()})
    while True:
        try:
            admin.create_topics([topic], operation_timeout=5, request_timeout=5)[name].result()
            return
        except Exception as error:
            code = error.args[0].code() if error.args and isinstance(error.args[0], KafkaError) else None
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"topic {name} cannot be created: {error}") from error
            time.sleep(0.2)


def delete_topic(bootstrap: str, name: str) -> None:
    """Have the deletion begin; does not wait for its end."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    try:
        admin.delete_topics([name], operation_timeout=0.001)[name].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.REQUEST_TIMED_OUT:
            raise


def topics(bootstrap: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    return set(admin.list_topics(timeout=30).topics)


# ---------------------------------------------------------------------------------------------------- produce


class AckedProducer:
    """Sends numbered records to every partition of a topic from a thread of its own until it is stopped.

    Invariant: `acked[partition]` has offset → number of every record whose acknowledgement has come; a record that failed
    for good is in `failures`.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partitions: int = 1,
        records_per_second: int = 6000,
        keys: int = 0,
        **configs: object,
    ) -> None:
        """`configs` are librdkafka's, with `_` for `.`; by default the producer is idempotent with acks=all.

        With `keys` a record's key is its number modulo `keys`, else it has none.
        """
        self.topic = topic
        self.partitions = partitions
        self.sent = [0] * partitions
        self.acked: list[dict[int, int]] = [{} for _ in range(partitions)]
        self.failures: list[str] = []
        self._rate = records_per_second
        self._keys = keys
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"producer of {topic}", daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": "true",
                "linger.ms": 3,
                "request.timeout.ms": 5000,
                "message.timeout.ms": 180000,
                "reconnect.backoff.max.ms": 500,
                "retry.backoff.max.ms": 300,
                "log_level": 0,
                **{key.replace("_", "."): value for key, value in configs.items()},
            }
        )

    def start(self) -> AckedProducer:
        self._thread.start()
        return self

    @property
    def acknowledged(self) -> int:
        return sum(map(len, self.acked))

    def wait_for(self, more: int, seconds: float = 60) -> None:
        """Wait until `more` records than now are acknowledged."""
        goal, deadline = self.acknowledged + more, time.monotonic() + TIME_LIMIT_FACTOR * seconds
        while self.acknowledged < goal:
            first = f" ({self.failures[0]})" if self.failures else ""
            assert time.monotonic() < deadline, (
                f"{self.topic}: {goal - self.acknowledged} of {more} records not acknowledged in {seconds:g} s{first}"
            )
            assert self._thread.is_alive() or self._stop.is_set(), f"the producer of {self.topic} has died"
            time.sleep(0.02)

    def stop(self, seconds: float = 60) -> None:
        """Send no more, and wait until all that was sent is acknowledged."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.flush(seconds)

    def flush(self, seconds: float = 60) -> None:
        missing = self._producer.flush(seconds)
        assert missing == 0, f"{self.topic}: {missing} records are neither acknowledged nor failed after {seconds:g} s"

    def send(self, count: int) -> None:
        """Send `count` records, evenly over the partitions, without the thread, and wait for their acknowledgement."""
        for _ in range(count // self.partitions):
            self._send_one_each()
            self._producer.poll(0)
        self.flush()
        assert not self.failures, f"{len(self.failures)} failures: {self.failures[0]}"

    def _run(self) -> None:
        begin, sent = time.monotonic(), 0
        while not self._stop.is_set():
            for _ in range(20):
                self._send_one_each()
            sent += 20 * self.partitions
            self._producer.poll(0)
            self._stop.wait(max(0.001, begin + sent / self._rate - time.monotonic()))
            if sent / self._rate < time.monotonic() - begin - 1:  # do not try to catch up what an outage has cost
                begin, sent = time.monotonic(), 0

    def _send_one_each(self) -> None:
        for partition, number in enumerate(self.sent):
            while True:
                try:
                    self._producer.produce(
                        self.topic,
                        value_of(number),
                        str(number % self._keys).encode() if self._keys else None,
                        partition=partition,
                        on_delivery=self._delivered(number),
                    )
                    break
                except BufferError:
                    if self._stop.is_set():
                        return
                    self._producer.poll(0.05)
            self.sent[partition] += 1

    def _delivered(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.failures.append(f"record {number} of {message.topic()}-{message.partition()}: {error}")
            else:
                partition, offset = message.partition(), message.offset()
                assert partition is not None and offset is not None
                self.acked[partition][offset] = number

        return delivered


def fill(bootstrap: str, topic: str, partitions: int, size: int) -> None:
    """Write about `size` bytes to each partition."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20, "log_level": 0})
    for _ in range(size >> 18):
        for partition in range(partitions):
            producer.produce(topic, bytes(1 << 18), partition=partition)
        producer.flush(60)
    assert producer.flush(60) == 0, f"{topic} cannot be filled"


# ---------------------------------------------------------------------------------------------------- consume


class Record(NamedTuple):
    offset: int
    number: int


def read_topic(bootstrap: str, topic: str, partitions: int = 1, seconds: float = 60) -> list[list[Record]]:
    """All records of each partition, checksums checked, from the beginning to the high watermark."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "check.crcs": "true",
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )
    found: list[list[Record]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    deadline = time.monotonic() + TIME_LIMIT_FACTOR * seconds
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end in {seconds:g} s"
            for message in consumer.consume(5000, timeout=0.2):
                error = message.error()
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                if error is None:
                    assert offset is not None
                    found[partition].append(Record(offset, number_of(message.value())))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(partition)
                else:
                    assert error.retriable() or error.code() < 0, f"{topic}-{partition}: {error}"
    finally:
        consumer.close()
    return found


def committed(
    bootstrap: str, group: str, topic: str, partitions: int, seconds: float = 30
) -> dict[int, tuple[int, Any]]:
    """partition → (committed offset, its metadata), once the group's coordinator answers."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        asked = [TopicPartition(topic, partition) for partition in range(partitions)]
        return {p.partition: (p.offset, p.metadata) for p in consumer.committed(asked, timeout=seconds)}
    finally:
        consumer.close()


def commit_offsets(bootstrap: str, group: str, topic: str, offsets: Mapping[int, tuple[int, str]]) -> None:
    """Commit partition → (offset, metadata) for a group without members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        entries = [TopicPartition(topic, p, offset, metadata) for p, (offset, metadata) in offsets.items()]
        consumer.commit(offsets=entries, asynchronous=False)
    finally:
        consumer.close()


def delete_records(bootstrap: str, topic: str, before: int, partitions: int = 1) -> None:
    """Move the start of partitions 0 to `partitions` - 1."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    starts = [TopicPartition(topic, partition, before) for partition in range(partitions)]
    for deleted in admin.delete_records(starts).values():
        deleted.result()
