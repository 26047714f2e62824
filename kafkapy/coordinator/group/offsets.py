"""The offsets of one group: committed, being appended, and pending in open transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from typing import NamedTuple

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.record.record_batch import NO_PRODUCER_ID


class GroupOffset(NamedTuple):
    """A consumer's commit for a partition. Timestamps: ms since the epoch."""

    offset: int
    leader_epoch: int
    """-1: unknown"""
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_TIMESTAMP
    """-1: by the broker's retention; else the expiry time requested by an old client (OffsetCommit v2-4)"""


class CommittedOffset(NamedTuple):
    """An offset with the position of its record: of two commits, the later one in the log is valid.

    `base_offset` is that of the record's batch, the only position that an append returns.
    """

    base_offset: int
    value: GroupOffset


Offsets = dict[TopicPartition, GroupOffset]


class GroupOffsets:
    """A commit goes through `prepare`, then `written` or `failed`; with a producer id it belongs to that producer's
    open transaction, and is valid once that is committed.

    Invariants:
    - `committed` holds only offsets whose record is committed in the log (and, if transactional, whose marker is).
    - A commit is in `_pending` (or `_transactional`) from before its append until the append has succeeded or failed,
      unless a later commit for the partition has replaced it.
    - `_transactional` has no producer without offsets; a None position means a pending append.
    """

    __slots__ = ("_pending", "_transactional", "committed")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        self._pending: Offsets = {}
        self._transactional: dict[int, dict[TopicPartition, tuple[int | None, GroupOffset]]] = {}

    def __bool__(self) -> bool:
        """Return whether there is any offset, committed or pending."""
        return bool(self.committed or self._pending or self._transactional)

    def copy(self) -> GroupOffsets:
        """Return a snapshot."""
        copy = GroupOffsets()
        copy.committed = self.committed.copy()
        copy._pending = self._pending.copy()
        copy._transactional = {producer_id: offsets.copy() for producer_id, offsets in self._transactional.items()}
        return copy

    def get(self, partition: TopicPartition) -> GroupOffset | None:
        found = self.committed.get(partition)
        return None if found is None else found.value

    def is_pending(self, partition: TopicPartition) -> bool:
        """Return whether the partition's offset may change without another request (KIP-447). O(open transactions)."""
        return partition in self._pending or any(partition in offsets for offsets in self._transactional.values())

    def is_committed_after(self, partition: TopicPartition, timestamp: int) -> bool:
        """Return whether the newest commit of the partition, written or pending, is later than `timestamp` (ms)."""
        newest = self._pending.get(partition) or self.get(partition)
        return newest is not None and newest.commit_timestamp > timestamp

    @property
    def producers(self) -> Collection[int]:
        """Return the producers with offsets in an open transaction."""
        return self._transactional.keys()

    # ------------------------------------------------------------------------------------------------ commits

    def prepare(self, offsets: Offsets, producer_id: int = NO_PRODUCER_ID) -> None:
        """Register offsets before their append."""
        if producer_id == NO_PRODUCER_ID:
            self._pending.update(offsets)
        else:
            pending = self._transactional.setdefault(producer_id, {})
            pending.update((partition, (None, value)) for partition, value in offsets.items())

    def written(self, offsets: Offsets, base_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """Process a committed append. Offsets removed in the meantime (their topic was deleted) are not restored."""
        if producer_id != NO_PRODUCER_ID:
            pending = self._transactional.get(producer_id, {})
            for partition, value in offsets.items():
                if partition in pending and pending[partition][1] == value:
                    pending[partition] = (base_offset, value)
            return
        all_pending, committed = self._pending, self.committed
        for partition, value in offsets.items():
            newest = all_pending.get(partition)
            if newest is not None:
                current = committed.get(partition)
                if current is None or current.base_offset < base_offset:
                    committed[partition] = CommittedOffset(base_offset, value)
                if newest is value or newest == value:
                    del all_pending[partition]

    def failed(self, offsets: Offsets, producer_id: int = NO_PRODUCER_ID) -> None:
        """Process a failed append."""
        for partition, value in offsets.items():
            if producer_id != NO_PRODUCER_ID:
                self._forget_transactional(producer_id, partition)
            elif self._pending.get(partition) == value:
                del self._pending[partition]

    def _put_if_newer(self, partition: TopicPartition, offset: CommittedOffset) -> None:
        current = self.committed.get(partition)
        if current is None or current.base_offset < offset.base_offset:
            self.committed[partition] = offset

    def _forget_transactional(self, producer_id: int, partition: TopicPartition) -> None:
        pending = self._transactional.get(producer_id)
        if pending is not None:
            pending.pop(partition, None)
            if not pending:
                del self._transactional[producer_id]

    def complete_transaction(self, producer_id: int, commit: bool) -> None:
        """Commit or drop the producer's offsets after its marker was written."""
        pending = self._transactional.pop(producer_id, {})
        if commit:
            for partition, (base_offset, value) in pending.items():
                if base_offset is not None:
                    self._put_if_newer(partition, CommittedOffset(base_offset, value))

    # ------------------------------------------------------------------------------------------------ the log

    def replay(self, partition: TopicPartition, value: GroupOffset | None, base_offset: int, producer_id: int) -> None:
        """Apply the log's next record; None removes the partition's offset."""
        if producer_id == NO_PRODUCER_ID:
            if value is None:
                self.committed.pop(partition, None)
            else:
                self.committed[partition] = CommittedOffset(base_offset, value)
        elif value is None:
            self._forget_transactional(producer_id, partition)
        else:
            self._transactional.setdefault(producer_id, {})[partition] = (base_offset, value)

    # ------------------------------------------------------------------------------------------------ removal

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove all offsets of the partitions; return those partitions that had a committed one."""
        removed = []
        for partition in partitions:
            self._pending.pop(partition, None)
            for producer_id in list(self._transactional):
                self._forget_transactional(producer_id, partition)
            if self.committed.pop(partition, None) is not None:
                removed.append(partition)
        return removed

    def known_of(self, partitions: Set[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions with any offset. O(the smaller of the two sets)."""
        known = partitions & self.committed.keys() | partitions & self._pending.keys()
        for offsets in self._transactional.values():
            known |= partitions & offsets.keys()
        return sorted(known)

    def remove_expired(
        self, now: int, retention_ms: int, since: int | None, subscribed_topics: Collection[str] = ()
    ) -> list[TopicPartition]:
        """Remove expired offsets: `retention_ms` after `since` (None: after their commit), or at their own expiry
        time. Pending ones and those of subscribed topics stay."""
        expired = [
            partition
            for partition, (_, value) in self.committed.items()
            if (
                now - (value.commit_timestamp if since is None else since) >= retention_ms
                if value.expire_timestamp == NO_TIMESTAMP
                else now >= value.expire_timestamp
            )
            and partition.topic not in subscribed_topics
            and partition not in self._pending
        ]
        for partition in expired:
            del self.committed[partition]
        return expired
