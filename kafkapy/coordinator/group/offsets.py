"""The offsets of one group: committed, on their way into the log, and held back by open transactions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Set
from typing import NamedTuple

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.record.record_batch import NO_PRODUCER_ID


class GroupOffset(NamedTuple):
    """What a consumer committed for a partition. Timestamps: ms since the epoch."""

    offset: int
    leader_epoch: int
    """-1: not told"""
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_TIMESTAMP
    """-1: by the broker's retention; else the time until which an old client (OffsetCommit v2-4) wants it kept"""


class CommittedOffset(NamedTuple):
    """An offset with the position of its record: of two commits the one further on in the log holds.

    `base_offset` is that of the record's batch, which is all an append tells.
    """

    base_offset: int
    value: GroupOffset


Offsets = dict[TopicPartition, GroupOffset]


class GroupOffsets:
    """A commit is `prepare`d, and then `written` or `failed`; with a producer id it belongs to that producer's open
    transaction and holds once that is committed.

    Invariants:
    - `committed` holds only offsets whose record is committed in the log (and, if transactional, whose marker is).
    - A commit enters `_pending` (or `_transactional`) before its append and leaves when that is done, whatever came of
      it, unless a younger commit for the partition has taken its place.
    - `_transactional` has no producer without offsets; a None position is an append not yet done.
    """

    __slots__ = ("_pending", "_transactional", "committed")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        self._pending: Offsets = {}
        self._transactional: dict[int, dict[TopicPartition, tuple[int | None, GroupOffset]]] = {}

    def __bool__(self) -> bool:
        """Is there any offset, committed or pending?"""
        return bool(self.committed or self._pending or self._transactional)

    def copy(self) -> GroupOffsets:
        """As they are now: what comes later does not show in it."""
        copy = GroupOffsets()
        copy.committed = self.committed.copy()
        copy._pending = self._pending.copy()
        copy._transactional = {producer_id: offsets.copy() for producer_id, offsets in self._transactional.items()}
        return copy

    def get(self, partition: TopicPartition) -> GroupOffset | None:
        found = self.committed.get(partition)
        return None if found is None else found.value

    def is_pending(self, partition: TopicPartition) -> bool:
        """Could the partition's offset change without another request (KIP-447)? Costs O(open transactions)."""
        return partition in self._pending or any(partition in offsets for offsets in self._transactional.values())

    def is_committed_after(self, partition: TopicPartition, timestamp: int) -> bool:
        """Is the newest commit of the partition, written or on its way, younger than that (ms)?"""
        newest = self._pending.get(partition) or self.get(partition)
        return newest is not None and newest.commit_timestamp > timestamp

    @property
    def producers(self) -> Collection[int]:
        """The producers that have offsets in an open transaction."""
        return self._transactional.keys()

    # ------------------------------------------------------------------------------------------------ commits

    def prepare(self, offsets: Offsets, producer_id: int = NO_PRODUCER_ID) -> None:
        """They are about to be appended."""
        if producer_id == NO_PRODUCER_ID:
            self._pending.update(offsets)
        else:
            pending = self._transactional.setdefault(producer_id, {})
            pending.update((partition, (None, value)) for partition, value in offsets.items())

    def written(self, offsets: Offsets, base_offset: int, producer_id: int = NO_PRODUCER_ID) -> None:
        """Their records are committed to the log. What became unknown meanwhile (its topic was deleted) stays so."""
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
        """Their records did not get into the log."""
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
        """The producer's marker is in the log: its offsets hold, or are forgotten."""
        pending = self._transactional.pop(producer_id, {})
        if commit:
            for partition, (base_offset, value) in pending.items():
                if base_offset is not None:
                    self._put_if_newer(partition, CommittedOffset(base_offset, value))

    # ------------------------------------------------------------------------------------------------ the log

    def replay(self, partition: TopicPartition, value: GroupOffset | None, base_offset: int, producer_id: int) -> None:
        """The log has this record, the next one; None takes the partition's offset back."""
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
        """Forget all there is about the partitions; those that had a committed offset."""
        removed = []
        for partition in partitions:
            self._pending.pop(partition, None)
            for producer_id in list(self._transactional):
                self._forget_transactional(producer_id, partition)
            if self.committed.pop(partition, None) is not None:
                removed.append(partition)
        return removed

    def known_of(self, partitions: Set[TopicPartition]) -> list[TopicPartition]:
        """Those for which there is any offset. Costs O(the fewer of the two)."""
        known = partitions & self.committed.keys() | partitions & self._pending.keys()
        for offsets in self._transactional.values():
            known |= partitions & offsets.keys()
        return sorted(known)

    def remove_expired(
        self, now: int, retention_ms: int, since: int | None, subscribed_topics: Collection[str] = ()
    ) -> list[TopicPartition]:
        """Forget the offsets whose time is over: `retention_ms` after `since` (None: after their commit), or at their own
        expire timestamp. Pending ones and those of subscribed topics stay."""
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
