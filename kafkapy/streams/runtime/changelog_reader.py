"""Reads changelogs into the stores of tasks (Kafka's `StoreChangelogReader`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import OffsetOutOfRangeError
from kafkapy.streams.errors import StreamsException, TaskCorruptedException
from kafkapy.streams.task.state_manager import StateManager

log = logging.getLogger("kafkapy.streams")


class StateRestoreListener(Protocol):
    """Callbacks for the restoration of stores (Kafka's `StateRestoreListener`), called on the restoring thread.

    Example:
        >>> class Progress(StateRestoreListener):
        ...     def on_restore_end(self, partition, store, total_restored):
        ...         print(store, total_restored)
        >>> Progress().on_restore_end(None, "counts", 42)
        counts 42
    """

    def on_restore_start(self, partition: TopicPartition, store: str, starting_offset: int, ending_offset: int) -> None:
        """Called before a store is restored from the offsets `starting_offset` (inclusive) to `ending_offset`
        (exclusive).

        Args:
            partition: The partition.
            store: Name of the store.
        """

    def on_batch_restored(
        self, partition: TopicPartition, store: str, batch_end_offset: int, num_restored: int
    ) -> None:
        """Called after a batch of `num_restored` records; `batch_end_offset` is the offset of the last one.

        Args:
            partition: The partition.
            store: Name of the store.
        """

    def on_restore_end(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        """Called when the store is restored.

        Args:
            partition: The partition.
            store: Name of the store.
            total_restored: Number of records that were restored.
        """

    def on_restore_suspended(self, partition: TopicPartition, store: str, total_restored: int) -> None:
        """Called if the task was moved to another instance before its store was restored.

        Args:
            partition: The partition.
            store: Name of the store.
            total_restored: Number of records that were restored.
        """


class _Changelog:
    """A changelog partition and its progress.

    Attributes:
        state: The stores of its task.
        store: The name of its store.
        position: The offset of the next record; None: the partition's beginning, which was not looked up yet.
        end: The end offset of reading (exclusive); None: no end.
        is_copy: Whether the task is a standby replica.
        is_source: Whether the changelog is also a source topic of the task. It contains records that were not
            processed yet, so it is read up to the committed offset of the group only.
        is_started: Whether its beginning and end offsets were looked up.
        restored: The number of restored records.
    """

    def __init__(self, state: StateManager, store: str, position: int | None, is_copy: bool, is_source: bool) -> None:
        self.state = state
        self.store = store
        self.position = position
        self.end: int | None = None
        self.is_copy = is_copy
        self.is_source = is_source
        self.is_started = False
        self.restored = 0

    @property
    def is_read_to_end(self) -> bool:
        return self.end is not None and self.position is not None and self.position >= self.end

    @property
    def is_complete(self) -> bool:
        return self.is_started and not self.is_copy and self.is_read_to_end


class ChangelogReader:
    """Reads the changelogs of a thread with one consumer.

    Invariant: the consumer is assigned to exactly the partitions of `_changelogs` that were started and are not read
    to their end. Partitions of standby replicas are assigned only while no active task is being restored.

    Args:
        consumer: A consumer without a group.
        committed: Returns the group's committed offset of a partition; None without one.
        limit_interval_ms: How often committed offsets are looked up, which limit the reading of source topics for
            standby replicas.
        listener: Called on the progress of restoration.
        now: Returns the time in s.
        ends: Returns the end offsets of partitions, open transactions included: stores are complete when these are decided. None:
            the consumer's.
    """

    def __init__(
        self,
        consumer: Any,
        committed: Callable[[TopicPartition], int | None],
        limit_interval_ms: int,
        listener: StateRestoreListener | None = None,
        now: Callable[[], float] = time.monotonic,
        ends: Callable[[list[TopicPartition]], Mapping[TopicPartition, int]] | None = None,
    ) -> None:
        self._consumer = consumer
        self._ends = consumer.end_offsets if ends is None else ends
        self._committed = committed
        self._limit_interval = limit_interval_ms / 1000
        self._listener = listener
        self._now = now
        self._changelogs: dict[TopicPartition, _Changelog] = {}
        self._assigned: set[TopicPartition] = set()
        self._limits_at = now()

    def register(
        self,
        partition: TopicPartition,
        state: StateManager,
        store: str,
        offset: int | None,
        *,
        is_copy: bool,
        is_source: bool,
    ) -> None:
        """Start to restore a store, or to update a standby replica.

        Args:
            partition: The changelog partition.
            state: The stores of its task.
            store: The name of the store.
            offset: The offset of the last record in the store; None: the store is empty.
            is_copy: Whether the task is a standby replica, which is updated until `unregister`.
            is_source: Whether the changelog is a source topic of the task.
        """
        position = None if offset is None else offset + 1
        self._changelogs[partition] = _Changelog(state, store, position, is_copy, is_source)

    def unregister(self, partitions: Collection[TopicPartition]) -> None:
        """Stop reading these changelog partitions: their tasks are closed."""
        for partition in partitions:
            changelog = self._changelogs.pop(partition, None)
            if changelog is not None and changelog.is_started and not changelog.is_copy and not changelog.is_complete:
                self._tell("on_restore_suspended", partition, changelog.store, changelog.restored)
        self._assign()

    def position(self, partition: TopicPartition) -> int | None:
        """Return the offset of the last record in a store; None: the store is empty or not registered."""
        changelog = self._changelogs.get(partition)
        return None if changelog is None or not changelog.position else changelog.position - 1

    def is_complete(self, partitions: Collection[TopicPartition]) -> bool:
        return all(one not in self._changelogs or self._changelogs[one].is_complete for one in partitions)

    @property
    def is_restoring(self) -> bool:
        return any(not one.is_copy and not one.is_complete for one in self._changelogs.values())

    def restore(self, timeout_ms: float) -> None:
        """Poll the changelogs once and restore the records.

        Raises:
            TaskCorruptedException: A changelog no longer has records that a store needs. `partitions`: these
                changelogs.
            StreamsException: The listener failed.
        """
        self._start_new()
        self._raise_limits()
        self._assign()
        if not self._assigned:
            return
        try:
            found = self._consumer.poll(timeout_ms)
        except OffsetOutOfRangeError as error:
            raise TaskCorruptedException(f"Changelogs have lost records: {error}", self._lost()) from error
        for partition, records in found.items():
            self._restore(partition, records)
        for partition in list(self._assigned):
            changelog = self._changelogs[partition]
            reached = self._consumer.position(partition) or 0
            if changelog.end is not None:
                reached = min(reached, max(changelog.end, changelog.position or 0))
            changelog.position = max(changelog.position or 0, reached)
            if changelog.is_complete:
                self._completed(partition, changelog)
        self._assign()

    def close(self) -> None:
        self._consumer.close()

    # --- within -----------------------------------------------------------------------------------------------------------

    def _start_new(self) -> None:
        """Look up the beginning and end offsets of new changelogs."""
        new = [partition for partition, one in self._changelogs.items() if not one.is_started]
        if not new:
            return
        ends = self._ends(new)
        beginnings = self._consumer.beginning_offsets(new)
        lost = [one for one in new if _lacks(self._changelogs[one].position, beginnings[one])]
        if lost:
            names = ", ".join(f"{one.topic}-{one.partition}" for one in lost)
            raise TaskCorruptedException(f"Changelogs have lost records that stores lack: {names}", lost)
        for partition in new:
            changelog = self._changelogs[partition]
            if changelog.position is None:
                changelog.position = beginnings[partition]
            if changelog.is_source:
                changelog.end = self._limit(partition, ends[partition])
            elif not changelog.is_copy:
                changelog.end = ends[partition]
            changelog.is_started = True
            if not changelog.is_copy:
                self._tell("on_restore_start", partition, changelog.store, changelog.position, changelog.end)
                if changelog.is_complete:
                    self._completed(partition, changelog)

    def _limit(self, partition: TopicPartition, end: int) -> int:
        return min(end, self._committed(partition) or 0)

    def _raise_limits(self) -> None:
        """Raise the end offsets of standby replicas of source topics to the group's committed offsets."""
        if self._now() - self._limits_at < self._limit_interval:
            return
        self._limits_at = self._now()
        for partition, changelog in self._changelogs.items():
            if changelog.is_started and changelog.is_copy and changelog.is_source:
                changelog.end = max(changelog.end or 0, self._committed(partition) or 0)

    def _restore(self, partition: TopicPartition, records: list[Any]) -> None:
        changelog = self._changelogs.get(partition)
        if changelog is None:
            return
        if changelog.end is not None:
            records = [record for record in records if record.offset < changelog.end]
        if not records:
            return
        changelog.state.restores[changelog.store](records)
        changelog.restored += len(records)
        if not changelog.is_copy:
            self._tell("on_batch_restored", partition, changelog.store, records[-1].offset, len(records))

    def _completed(self, partition: TopicPartition, changelog: _Changelog) -> None:
        log.info("Restored %s from %s: %d records", changelog.store, partition, changelog.restored)
        self._tell("on_restore_end", partition, changelog.store, changelog.restored)

    def _tell(self, event: str, *args: Any) -> None:
        if self._listener is not None:
            try:
                getattr(self._listener, event)(*args)
            except Exception as error:
                raise StreamsException(f"Fatal user code error in store restore listener: {event}") from error

    def _lost(self) -> list[TopicPartition]:
        """Return the partitions whose next record was deleted from the log."""
        beginnings = self._consumer.beginning_offsets(list(self._assigned))
        return [one for one in self._assigned if _lacks(self._changelogs[one].position, beginnings[one])]

    def _assign(self) -> None:
        restoring = self.is_restoring
        wanted = {
            partition
            for partition, one in self._changelogs.items()
            if one.is_started and not one.is_read_to_end and not (one.is_copy and restoring)
        }
        if wanted == self._assigned:
            return
        self._consumer.assign(sorted(wanted))
        self._assigned = wanted
        for partition in wanted:
            self._consumer.seek(partition, self._changelogs[partition].position)


def _lacks(position: int | None, beginning: int) -> bool:
    return position is not None and position < beginning
