"""Reads the committed records of topics."""

from __future__ import annotations

import time
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from system_tests.services import TIME_LIMIT_FACTOR


class CommittedRecord(NamedTuple):
    """A record that a reader of committed records sees."""

    offset: int
    key: bytes | None
    value: bytes | None


def read_committed(bootstrap: str, topic: str, partitions: int, seconds: float = 60) -> list[list[CommittedRecord]]:
    """Return the records of each partition, from the beginning up to the first open transaction."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "fetch.wait.max.ms": 20,
            "log_level": 0,
        }
    )
    found: list[list[CommittedRecord]] = [[] for _ in range(partitions)]
    ended: set[int] = set()
    deadline = time.monotonic() + TIME_LIMIT_FACTOR * seconds
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
        while len(ended) < partitions:
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end in {seconds:g} s"
            for message in consumer.consume(5000, timeout=0.2):
                error, partition, offset = message.error(), message.partition(), message.offset()
                assert partition is not None
                if error is None:
                    assert offset is not None
                    found[partition].append(CommittedRecord(offset, message.key(), message.value()))
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(partition)
                else:
                    assert error.retriable() or error.code() < 0, f"{topic}-{partition}: {error}"
    finally:
        consumer.close()
    return found
