"""Measures how far the tables are behind the topics: the number of unread records, and the age of the oldest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import KafkaError
from kafkapy.warehouse.client_options import client_options
from kafkapy.warehouse.cluster import TopicLogs
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.plan import Looks
from kafkapy.warehouse.snapshot import State

PATIENCE_MS = 5_000.0
"""Time-out for reading a record's timestamp."""


class WaitingRecords(NamedTuple):
    """`records`: number of unread offsets, including open transactions. `since_ms`: when the first of them was sent,
    if known."""

    topic: str
    partition: int
    records: int
    since_ms: int | None = None


class LagReport(NamedTuple):
    """`absent`: topics that do not exist."""

    at_ms: int
    partitions: tuple[WaitingRecords, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def records(self) -> int:
        return sum(each.records for each in self.partitions)

    def freshness_seconds(self, now_ms: int) -> float:
        """Return the age of the oldest record that is neither a row nor in the quarantine; 0 if there is none."""
        return self._age(self.partitions, now_ms)

    def by_topic(self, now_ms: int) -> dict[str, tuple[int, float]]:
        """Return the number of records and the age (seconds) of the oldest, by topic."""
        topics = sorted({each.topic for each in self.partitions})
        found = {topic: [each for each in self.partitions if each.topic == topic] for topic in topics}
        return {
            topic: (sum(each.records for each in partitions), self._age(partitions, now_ms))
            for topic, partitions in found.items()
        }

    def _age(self, partitions: list[WaitingRecords] | tuple[WaitingRecords, ...], now_ms: int) -> float:
        since = [each.since_ms for each in partitions if each.records and each.since_ms is not None]
        return max(now_ms - min(since), 0) / 1000 if since else 0.0


class LagWatch:
    """Polls the topics. Not thread-safe. Raises KafkaError."""

    def __init__(self, config: WarehouseConfig, cluster: TopicLogs, time: Time) -> None:
        self._topics = [table.topic for table in config.tables]
        self._options = client_options(config.kafka)
        self._cluster = cluster
        self._time = time
        self._caught_up: dict[TopicPartition, int] = {}
        """Partition -> when it was last completely read (ms)."""
        self._first: dict[TopicPartition, tuple[int, int | None]] = {}
        """Partition -> offset and timestamp (ms) of its first unread record."""

    def look(self, state: State) -> LagReport:
        now = self._time.milliseconds()
        looks = self._cluster.look()
        found = []
        for partition, position, end in positions(state, looks):
            if end <= position:
                self._caught_up[partition] = now
                self._first.pop(partition, None)
            found.append(WaitingRecords(*partition, max(end - position, 0), self._since(partition, position, end, now)))
        absent = tuple(topic for topic in self._topics if topic not in looks)
        return LagReport(now, tuple(found), absent)

    def _since(self, partition: TopicPartition, position: int, end: int, now: int) -> int | None:
        """Return since when a record waits: its timestamp, but not before the partition was last completely read."""
        if end <= position:
            return None
        known = self._first.get(partition)
        if known is None or known[0] != position or known[1] is None:
            known = self._first[partition] = position, self._time_of_first(partition, position, end)
        at, caught_up = known[1], self._caught_up.get(partition)
        if at is None or at < 0:
            return caught_up
        return min(max(at, caught_up or 0), now)

    def _time_of_first(self, partition: TopicPartition, position: int, end: int) -> int | None:
        """Return the timestamp of the first record from `position` on; None if there are only transaction markers, or
        reading fails."""
        from kafkapy.consumer.range_reader import read_range

        batches = read_range(
            self._options, *partition, position, end, max_partition_fetch_bytes=1, timeout_ms=PATIENCE_MS
        )
        try:
            with closing(batches):  # type: ignore[type-var]
                for batch in batches:
                    return int(batch.column("timestamp")[0].value) // 1000
        except KafkaError:
            pass
        return None


def positions(state: State, looks: Looks) -> Iterator[tuple[TopicPartition, int, int]]:
    """Return each partition's next offset to read, and the end of its log."""
    for topic, look in sorted(looks.items()):
        log = state.log_of(topic)
        is_same = log.topic_id in ("", look.topic_id)
        read: Mapping[int, tuple[int, int]] = state.offsets.get(log.name, {}) if is_same else {}
        for partition, bounds in sorted(look.partitions.items()):
            position = read[partition][1] if partition in read else bounds.first
            yield TopicPartition(topic, partition), max(position, bounds.first), bounds.end
