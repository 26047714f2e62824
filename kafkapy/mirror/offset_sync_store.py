"""Stores the newest and some older offset syncs of each partition, for translations of offsets (Kafka's
`OffsetSyncStore`)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from kafkapy.mirror.mirror_records import OffsetSync
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")

SYNCS_PER_PARTITION: Final = 64
"""One for each bit of an offset: the distance between syncs about doubles from one to the next older one."""

TOO_OLD: Final = -1
"""The translation of an offset before all syncs."""


class OffsetSyncStore:
    """Translates offsets of the source cluster to offsets of the target cluster, never to one that is too high.

    Invariants, for a partition's `syncs`, of `SYNCS_PER_PARTITION` items (repeated where there are fewer syncs), i < j:
    A: syncs[0] is the newest.
    B: syncs[i] and syncs[j] are the same, or syncs[i].upstream <= syncs[j].upstream + 2^j - 2^i.
    C: they are the same, or syncs[i].upstream >= syncs[j].upstream + 2^max(i - 2, 0).
    D: the last is the oldest that may be used.
    So for a fixed store a higher offset has no lower translation.

    One thread calls `take`; any thread may translate: a partition's tuple is replaced, never changed.
    """

    def __init__(self) -> None:
        self._syncs: dict[TopicPartition, tuple[OffsetSync, ...]] = {}
        self._keeps_only_newest = True
        self._is_read = False

    def begin(self, keeps_only_newest: bool) -> None:
        """Prepare to read the topic.

        Args:
            keeps_only_newest: True: of the syncs until `end_of_topic` only the newest of a partition is used. With
                unknown checkpoints, an older one could move a group back to before the translation of an earlier run.
        """
        self._keeps_only_newest = keeps_only_newest

    def end_of_topic(self) -> None:
        """Record that the topic was read to its end once; before that nothing is translated."""
        self._is_read = True

    def take(self, sync: OffsetSync) -> None:
        """Add a sync of the topic."""
        known = self._syncs.get(sync.topic_partition)
        only_newest = self._keeps_only_newest and not self._is_read
        if known is None or only_newest or sync.upstream_offset < known[0].upstream_offset:
            # Also if the source topic was recreated: older syncs are of other records.
            self._syncs[sync.topic_partition] = (sync,) * SYNCS_PER_PARTITION
        else:
            self._syncs[sync.topic_partition] = _updated(known, sync)

    def translate(self, partition: TopicPartition, upstream: int) -> int | None:
        """Return the offset of the target cluster for a group's offset of the source cluster.

        Args:
            partition: Of the source cluster.
            upstream: The offset.

        Returns:
            The translated offset; `TOO_OLD` if it is before all syncs; None if there are no syncs, or the topic was
            not read yet.
        """
        if not self._is_read:
            return None
        syncs = self._syncs.get(partition)
        if syncs is None:
            return None
        sync = next((each for each in syncs if each.upstream_offset <= upstream), None)
        if sync is None:
            return TOO_OLD
        # A group beyond the sync: only the record after the sync is certain, as the copy may lack records of the
        # source.
        return sync.downstream_offset + (0 if upstream == sync.upstream_offset else 1)

    def translate_back(self, partition: TopicPartition, downstream: int) -> int | None:
        """Return the offset of the source cluster for a group's offset in the copy; the inverse of `translate`.

        Args:
            partition: Of the source cluster.
            downstream: The offset in its copy.
        """
        syncs = self._syncs.get(partition) if self._is_read else None
        if syncs is None:
            return None
        sync = next((each for each in syncs if each.downstream_offset <= downstream), None)
        if sync is None:
            return TOO_OLD
        # A group beyond the sync has read the sync's record, and perhaps no other one of the source.
        return sync.upstream_offset + (0 if downstream == sync.downstream_offset else 1)

    def syncs(self, partition: TopicPartition) -> Sequence[OffsetSync]:
        """Return the syncs of a partition, the newest first; none if there are none."""
        return self._syncs.get(partition, ())


def _updated(original: tuple[OffsetSync, ...], newest: OffsetSync) -> tuple[OffsetSync, ...]:
    """Return the syncs with one more at the front, without those that the invariants exclude."""
    syncs = list(original)
    replacement = newest
    candidate = 0  # place in `original` of the sync that is considered next
    syncs[0] = replacement
    for current in range(1, SYNCS_PER_PARTITION):
        previous = syncs[current - 1]
        while True:
            old = original[candidate]
            is_recent = _is_recent(previous, old, current - 1, current)
            is_apart = _is_apart(previous, old, current - 1)
            is_apart_from_next = current + 1 >= SYNCS_PER_PARTITION or _is_apart(old, syncs[current + 1], current)
            is_repeated = candidate + 1 < SYNCS_PER_PARTITION and old is original[candidate + 1]
            is_chosen = is_recent and is_apart and is_apart_from_next
            if is_chosen:
                replacement = old
            is_skipped = is_repeated or not is_apart
            if is_chosen or is_skipped:
                candidate += 1
            if not (candidate < current and is_skipped):
                break
        if _is_recent(previous, syncs[current], current - 1, current):
            break  # then it holds for all older ones, too
        syncs[current] = replacement
    return tuple(syncs)


def _is_recent(newer: OffsetSync, older: OffsetSync, i: int, j: int) -> bool:
    """Invariant B."""
    return newer is older or newer.upstream_offset <= older.upstream_offset + (1 << j) - (1 << i)


def _is_apart(newer: OffsetSync, older: OffsetSync, i: int) -> bool:
    """Invariant C."""
    return newer is older or newer.upstream_offset >= older.upstream_offset + (1 << max(i - 2, 0))
