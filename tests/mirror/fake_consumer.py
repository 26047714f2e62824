"""A consumer of records in memory."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import WakeupException
from kafkapy.structs import TopicPartition


def record(
    topic: str,
    offset: int,
    key: bytes | None,
    value: bytes | None,
    partition: int = 0,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> Any:
    """Return a record as a consumer gives it."""
    return ConsumerRecord(topic, partition, -1, offset, 1000 + offset, 0, key, value, list(headers), None, -1, -1, -1)


class FakeConsumer:
    """Gives all records of a partition from its position on with each poll."""

    def __init__(self, records: Collection[Any] = (), topics: Collection[str] = ()) -> None:
        self.records = list(records)
        self.topics = {each.topic for each in records} | set(topics)
        self.positions: dict[TopicPartition, int] = {}
        self.sought: dict[TopicPartition, int] = {}
        self.error: Exception | None = None
        self.is_woken = self.is_closed = False

    def assign(self, partitions: Collection[TopicPartition]) -> None:
        self.positions = dict.fromkeys(partitions, 0)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.positions.update(dict.fromkeys(partitions, 0))

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = self.sought[partition] = offset

    def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: max((r.offset + 1 for r in self._of(each)), default=0) for each in partitions}

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0} if topic in self.topics else set()

    def poll(self, timeout_ms: float = 0) -> dict[TopicPartition, list[Any]]:
        if self.error is not None:
            raise self.error
        if self.is_woken:
            self.is_woken = False
            raise WakeupException
        found = {}
        for partition, position in self.positions.items():
            batch = [each for each in self._of(partition) if each.offset >= position]
            if batch:
                found[partition] = batch
                self.positions[partition] = batch[-1].offset + 1
        return found

    def wakeup(self) -> None:
        self.is_woken = True

    def close(self) -> None:
        self.is_closed = True

    def _of(self, partition: TopicPartition) -> list[Any]:
        return [each for each in self.records if (each.topic, each.partition) == partition]
