"""Reads changelogs into the stores of tasks (Kafka's `StoreChangelogReader`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.task.state_manager import StateManager

log = logging.getLogger("kafkapy.streams")


class _Changelog:
    """A changelog partition that is read.

    Attributes:
        state: The stores of its task.
        store: The name of its store.
        position: The offset of the next record.
        end: Where reading ends; None: it goes on, for a copy.
    """

    def __init__(self, state: StateManager, store: str, position: int | None, end: int | None) -> None:
        self.state = state
        self.store = store
        self.position = position
        self.end = end
        self.restored = 0

    @property
    def is_complete(self) -> bool:
        return self.end is not None and self.position is not None and self.position >= self.end


class ChangelogReader:
    """The changelogs that a thread reads, with one consumer.

    Invariant: the consumer is assigned to exactly the partitions of `_changelogs` that are not complete.

    Args:
        consumer: Without a group.
    """

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer
        self._changelogs: dict[TopicPartition, _Changelog] = {}
        self._assigned: set[TopicPartition] = set()

    def register(self, partition: TopicPartition, state: StateManager, store: str, offset: int | None) -> None:
        """Restore a store.

        Args:
            partition: Of its changelog.
            state: The stores of its task.
            store: Its name.
            offset: Of the last record that it has; None: it has none.
        """
        self._changelogs[partition] = _Changelog(state, store, None if offset is None else offset + 1, None)

    def unregister(self, partitions: Mapping[TopicPartition, object] | list[TopicPartition]) -> None:
        """Tasks are closed."""
        for partition in partitions:
            self._changelogs.pop(partition, None)
        self._assign()

    def position(self, partition: TopicPartition) -> int | None:
        """The offset of the last record that a store has; None: none, or it is not registered."""
        changelog = self._changelogs.get(partition)
        return None if changelog is None or not changelog.position else changelog.position - 1

    def is_complete(self, partitions: list[TopicPartition]) -> bool:
        return all(one not in self._changelogs or self._changelogs[one].is_complete for one in partitions)

    @property
    def is_restoring(self) -> bool:
        return any(not one.is_complete for one in self._changelogs.values())

    def start(self) -> None:
        """Look up where new changelogs begin and end, and read them from there."""
        new = [partition for partition, one in self._changelogs.items() if one.end is None]
        if not new:
            return
        ends = self._consumer.end_offsets(new)
        beginnings = self._consumer.beginning_offsets(new)
        for partition in new:
            changelog = self._changelogs[partition]
            changelog.end = ends[partition]
            if changelog.position is None or changelog.position < beginnings[partition]:
                changelog.position = beginnings[partition]
        self._assign()

    def restore(self, timeout_ms: float) -> None:
        """Read some."""
        self.start()
        if not self._assigned:
            return
        for partition, records in self._consumer.poll(timeout_ms).items():
            changelog = self._changelogs.get(partition)
            if changelog is None or changelog.is_complete:
                continue
            assert changelog.end is not None
            records = [record for record in records if record.offset < changelog.end]
            if records:
                changelog.state.restores[changelog.store](records)
                changelog.restored += len(records)
        for partition in list(self._assigned):
            changelog = self._changelogs[partition]
            changelog.position = max(changelog.position or 0, self._consumer.position(partition) or 0)
            if changelog.is_complete:
                log.info("Restored %s from %s: %d records", changelog.store, partition, changelog.restored)
        self._assign()

    def close(self) -> None:
        self._consumer.close()

    def _assign(self) -> None:
        wanted = {
            partition for partition, one in self._changelogs.items() if one.end is not None and not one.is_complete
        }
        if wanted == self._assigned:
            return
        self._consumer.assign(sorted(wanted))
        self._assigned = wanted
        for partition in wanted:
            self._consumer.seek(partition, self._changelogs[partition].position)
