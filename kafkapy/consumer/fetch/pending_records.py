"""Holds records between the fetcher and the user, so that they are handed over in batches, not one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.subscription_state import FetchPosition


class _Part:
    """One partition's records; `index` is the first that was not returned, `start` the position before all of them."""

    __slots__ = ("index", "records", "start")

    def __init__(self, start: FetchPosition, records: list[Any]) -> None:
        self.start = start
        self.records = records
        self.index = 0

    @property
    def position(self) -> FetchPosition:
        """Return the position after the last returned record."""
        if not self.index:
            return self.start
        last = self.records[self.index - 1]
        epoch = last.leader_epoch
        return FetchPosition(last.offset + 1, -1 if epoch is None else epoch, self.start.leader_epoch)


class PendingRecords:
    """Records that the fetcher has handed over and the user has not taken.

    Invariant: a partition is listed only while some of its records are left, or while an iterator reads them. The
    fetcher's positions are behind all of these records; `positions` are the user's. The iterator's index is read from
    the list iterator itself, so that iteration has no overhead; emptying its list ends the iterator. Any thread may
    take records while the driver's thread waits, as it does between polls.
    """

    def __init__(self) -> None:
        self._parts: dict[TopicPartition, _Part] = {}
        self._walk: tuple[TopicPartition, list[Any], Iterator[Any]] | None = None
        self.last_timestamps: dict[TopicPartition, int] = {}
        """Timestamp of the last record that was taken, in ms since the epoch."""

    def add(self, records: dict[TopicPartition, list[Any]], starts: dict[TopicPartition, FetchPosition]) -> None:
        """Add records with the positions before them, of partitions without pending records."""
        if self._walk is not None and self._walk[0] in records:
            self.end_walk()  # the iterator is at its end; it must not count the new records
        for partition, new in records.items():
            if new:
                self._parts[partition] = _Part(starts[partition], new)

    def take(self, count: int, held: Callable[[TopicPartition], bool]) -> dict[TopicPartition, list[Any]]:
        """Take up to `count` records; none of partitions that are `held` back (paused, or being revoked)."""
        self.end_walk()
        taken: dict[TopicPartition, list[Any]] = {}
        for partition in [p for p in self._parts if not held(p)]:
            if count <= 0:
                break
            taken[partition] = records = self._slice(partition, count)
            count -= len(records)
        return taken

    def walk(self, count: int, held: Callable[[TopicPartition], bool]) -> Iterator[Any] | None:
        """Return an iterator over up to `count` records, beginning with the rest of the previous one; None if there
        are none."""
        walk = self._walk
        if walk is not None and walk[2].__length_hint__() and not held(walk[0]):  # type: ignore[attr-defined]
            return walk[2]
        self.end_walk()
        partition = next((p for p in self._parts if not held(p)), None)
        if partition is None:
            return None
        part = self._parts[partition]
        records = part.records[part.index : part.index + count]
        self._walk = (partition, records, iter(records))
        return self._walk[2]

    def end_walk(self) -> None:
        """Account for the records that the iterator has returned, and end it."""
        walk, self._walk = self._walk, None
        if walk is None:
            return
        partition, records, iterator = walk
        given = len(records) - iterator.__length_hint__()  # type: ignore[attr-defined]
        if partition in self._parts and given:
            self._slice(partition, given)
        records.clear()

    def drop(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Discard the records of partitions (None: all) that are revoked or whose position jumps."""
        wanted = list(self._parts if partitions is None else partitions)
        if self._walk is not None and self._walk[0] in wanted:
            self.end_walk()
        for partition in wanted:
            self._parts.pop(partition, None)
            self.last_timestamps.pop(partition, None)

    def hold(self, partition: TopicPartition) -> None:
        """Stop an iterator that is in this partition, which is paused; the rest stays until `resume`."""
        if self._walk is not None and self._walk[0] == partition:
            self.end_walk()

    def positions(self) -> dict[TopicPartition, FetchPosition]:
        """Return the user's position in the partitions that have pending records."""
        positions = {partition: part.position for partition, part in list(self._parts.items())}
        walk = self._walk
        if walk is not None and walk[0] in self._parts:
            partition, records, iterator = walk
            given = len(records) - iterator.__length_hint__()  # type: ignore[attr-defined]
            if given:
                last, part = records[given - 1], self._parts[partition]
                epoch = -1 if last.leader_epoch is None else last.leader_epoch
                positions[partition] = FetchPosition(last.offset + 1, epoch, part.start.leader_epoch)
        return positions

    def available(self, held: Callable[[TopicPartition], bool]) -> bool:
        """Return whether there are records to take."""
        walk = self._walk
        if walk is None:
            return any(not held(partition) for partition in self._parts)
        if walk[2].__length_hint__() and not held(walk[0]):  # type: ignore[attr-defined]
            return True
        for partition, part in self._parts.items():
            left = len(part.records) - part.index - (len(walk[1]) if partition == walk[0] else 0)
            if left > 0 and not held(partition):
                return True
        return False

    def _slice(self, partition: TopicPartition, count: int) -> list[Any]:
        part = self._parts[partition]
        if not part.index and count >= len(part.records):
            records = part.records
        else:
            records = part.records[part.index : part.index + count]
        part.index += len(records)
        if part.index >= len(part.records):
            del self._parts[partition]
        if records:
            self.last_timestamps[partition] = records[-1].timestamp
        return records
