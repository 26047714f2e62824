"""Decides which record may be handled, and which offset may be committed: the ordering of a dispatcher, without I/O.

Records of a partition with the same key form a lane: one of them is handled at a time, in the order of their offsets.
A record without a key has a lane of its own. Lanes do not wait for each other, so offsets are done out of order; the
offset that may be committed in a partition is the first that is not done.

A partition that is revoked and assigned again starts anew; results of its earlier assignment are ignored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Any

from kafkapy.common.topic_partition import TopicPartition

LaneKey = tuple[TopicPartition, bytes]


class Work:
    """A record that a dispatcher has fetched."""

    __slots__ = ("key", "offset", "owner", "record", "running")

    def __init__(self, owner: PartitionProgress, offset: int, key: LaneKey | None, record: Any) -> None:
        self.owner = owner
        self.offset = offset
        self.key = key
        self.record = record
        self.running = False


class PartitionProgress:
    """One partition, while it is assigned.

    Invariant: `open` has, in order, the offsets that were added and not passed; `done` has those of them that are
    done, and the first offset of `open` is not done. `position` may be committed: all offsets below it are done.
    """

    __slots__ = ("committed", "done", "open", "partition", "position", "running")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.open: deque[int] = deque()
        self.done: set[int] = set()
        self.position: int | None = None
        self.committed: int | None = None
        self.running = 0

    def finished(self, offset: int) -> None:
        self.done.add(offset)
        while self.open and self.open[0] in self.done:
            passed = self.open.popleft()
            self.done.discard(passed)
            self.position = passed + 1


class Lanes:
    """All partitions of a dispatcher."""

    def __init__(self) -> None:
        self._partitions: dict[TopicPartition, PartitionProgress] = {}
        self._lanes: dict[LaneKey, deque[Work]] = {}
        """Lanes with a record that is ready or running, and the records that wait behind it."""
        self._ready: deque[Work] = deque()
        self.queued = 0
        """Number of records that wait, ready ones included."""
        self.running = 0

    def add(self, partition: TopicPartition, offset: int, key: bytes | None, record: Any) -> None:
        """Add a fetched record. Offsets of a partition must increase."""
        owner = self._partitions.get(partition)
        if owner is None:
            owner = self._partitions[partition] = PartitionProgress(partition)
        lane_key = None if key is None else (partition, key)
        work = Work(owner, offset, lane_key, record)
        owner.open.append(offset)
        self.queued += 1
        if lane_key is None:
            self._ready.append(work)
            return
        lane = self._lanes.get(lane_key)
        if lane is None:
            self._lanes[lane_key] = deque()
            self._ready.append(work)
        else:
            lane.append(work)

    def next(self) -> Work | None:
        """A record to handle now; None if there is none."""
        if not self._ready:
            return None
        work = self._ready.popleft()
        work.running = True
        work.owner.running += 1
        self.queued -= 1
        self.running += 1
        return work

    def finished(self, work: Work, *, handled: bool) -> None:
        """The record is not being handled any more. `handled` False: it was given up because the dispatcher stops,
        and its offset is never passed."""
        self.running -= 1
        work.owner.running -= 1
        if self._partitions.get(work.owner.partition) is not work.owner:
            return
        if handled:
            work.owner.finished(work.offset)
        if work.key is not None and handled:
            lane = self._lanes[work.key]
            if lane:
                self._ready.append(lane.popleft())
            else:
                del self._lanes[work.key]

    def drop_queued(self, partitions: Collection[TopicPartition] | None = None) -> None:
        """Drop the waiting records of these partitions (None: all); running ones continue."""
        gone = {
            progress
            for partition, progress in self._partitions.items()
            if partitions is None or partition in partitions
        }
        kept = deque(work for work in self._ready if work.owner not in gone)
        self.queued -= len(self._ready) - len(kept)
        self._ready = kept
        for key in [key for key in self._lanes if self._partitions.get(key[0]) in gone]:
            self.queued -= len(self._lanes[key])
            self._lanes[key].clear()

    def running_in(self, partitions: Collection[TopicPartition]) -> int:
        return sum(p.running for partition, p in self._partitions.items() if partition in partitions)

    def forget(self, partitions: Collection[TopicPartition] | None = None) -> None:
        """These partitions (None: all) are no longer assigned."""
        self.drop_queued(partitions)
        for partition in [each for each in self._partitions if partitions is None or each in partitions]:
            del self._partitions[partition]
        for key in [key for key in self._lanes if key[0] not in self._partitions]:
            del self._lanes[key]

    def to_commit(self, partitions: Collection[TopicPartition] | None = None) -> dict[TopicPartition, int]:
        """The next offset of each partition where it has changed."""
        return {
            partition: progress.position
            for partition, progress in self._partitions.items()
            if progress.position is not None
            and progress.position != progress.committed
            and (partitions is None or partition in partitions)
        }

    def committed(self, offsets: dict[TopicPartition, int]) -> None:
        """These offsets were committed."""
        for partition, offset in offsets.items():
            progress = self._partitions.get(partition)
            if progress is not None:
                progress.committed = offset
