"""Determines the committable offsets of a source task (Kafka's `SubmittedRecords`)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.connect.runtime.partition_key import PartitionKey, partition_key

Partition = Mapping[str, Any] | None
Offset = Mapping[str, Any] | None


class SubmittedRecord:
    """A record passed to the producer, or `count` records of one source partition that are sent together."""

    __slots__ = ("_owner", "acked", "count", "key", "offset", "partition")

    def __init__(
        self, owner: SubmittedRecords, key: PartitionKey, partition: Partition, offset: Offset, count: int
    ) -> None:
        self._owner = owner
        self.key = key
        self.partition = partition
        self.offset = offset
        self.count = count
        self.acked = False

    def ack(self) -> None:
        """Mark it as written. Called on the producer's thread."""
        self._owner._ack(self)

    def drop(self) -> bool:
        """Remove it because it was not sent. Return whether it was still submitted."""
        return self._owner._drop(self)


class CommittableOffsets(NamedTuple):
    """Pairs of partition and offset by the partitions' keys, and the number of their records."""

    offsets: dict[PartitionKey, tuple[Partition, Offset]]
    committable: int = 0
    uncommittable: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.offsets and not self.committable and not self.uncommittable

    def updated_with(self, newer: CommittableOffsets) -> CommittableOffsets:
        """Return both merged; `newer` has precedence."""
        return CommittableOffsets(
            {**self.offsets, **newer.offsets}, self.committable + newer.committable, newer.uncommittable
        )


class SubmittedRecords:
    """The records of a task that its producer has not acknowledged yet.

    Invariant: for each source partition a queue holds its records in the order of `submit`; an offset is committable
    when all before it in its queue are acknowledged. Only the task's thread changes the queues; `_unacked` counts
    records in them that are not acknowledged, under `_changed`.

    Example:
        >>> records = SubmittedRecords()
        >>> first, second = (records.submit({"file": "a"}, {"line": line}) for line in (1, 2))
        >>> second.ack()
        >>> records.committable_offsets().offsets
        {}
        >>> first.ack()
        >>> list(records.committable_offsets().offsets.values())
        [({'file': 'a'}, {'line': 2})]
    """

    def __init__(self) -> None:
        self._queues: dict[PartitionKey, deque[SubmittedRecord]] = {}
        self._unacked = 0
        self._changed = threading.Condition()

    def submit(self, partition: Partition, offset: Offset, count: int = 1) -> SubmittedRecord:
        """Add a record that is about to be sent.

        Args:
            partition: Its source partition.
            offset: Its source offset.
            count: Number of records up to this one that are sent together, all of this partition. Default: 1.
        """
        key = partition_key(partition)
        record = SubmittedRecord(self, key, partition, offset, count)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = deque()
        queue.append(record)
        with self._changed:
            self._unacked += 1
        return record

    def committable_offsets(self) -> CommittableOffsets:
        """Remove the acknowledged records at the queues' heads, and return their last offsets."""
        offsets = {}
        committable = uncommittable = 0
        for key, queue in list(self._queues.items()):
            last = None
            while queue and queue[0].acked:
                last = queue.popleft()
                committable += last.count
            if last is not None:
                offsets[key] = (last.partition, last.offset)
            uncommittable += sum(record.count for record in queue)
            if not queue:
                del self._queues[key]
        return CommittableOffsets(offsets, committable, uncommittable)

    def await_all_messages(self, timeout_ms: float) -> bool:
        """Wait until all are acknowledged; return False after the time-out."""
        with self._changed:
            return self._changed.wait_for(lambda: self._unacked == 0, timeout_ms / 1000)

    def _ack(self, record: SubmittedRecord) -> None:
        with self._changed:
            if record.acked:
                return
            record.acked = True
            self._unacked -= 1
            if self._unacked == 0:
                self._changed.notify_all()

    def _drop(self, record: SubmittedRecord) -> bool:
        queue = self._queues.get(record.key)
        if queue is None or record not in queue:
            return False
        queue.reverse()
        queue.remove(record)
        queue.reverse()
        if not queue:
            del self._queues[record.key]
        self._ack(record)
        return True
