"""The tasks of a thread, and what other threads may ask of them (Kafka's `Tasks`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.subscription_info import LATEST_OFFSET
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.errors import ProcessorStateException
from kafkapy.streams.runtime.changelog_reader import ChangelogReader
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.task_checkpoints import changelog_partitions
from kafkapy.streams.task.stream_task import StreamTask


class QueriedTask(NamedTuple):
    """The part of a task that queries use.

    Attributes:
        partition: Its number.
        store: The queried store, with its serdes.
        is_active: False: a standby replica.
        is_running: Whether its stores are complete.
        position: The offsets of its last processed records, by (topic, partition); unknown for a standby replica.
    """

    partition: int
    store: Any
    is_active: bool
    is_running: bool
    position: Mapping[tuple[str, int], int]


class ThreadTasks:
    """The tasks of a thread by their states.

    Invariants: a task in `tasks` or `copies` has its directory locked and its stores open, and its changelogs are registered with
    the reader. Tasks in `_restoring` and `_suspended` are also in `tasks`, and process nothing: the former until their
    stores are complete; the latter, whose partitions were revoked, until the next assignment.

    Args:
        directory: State directory of the instance.
        reader: Reader of changelogs.
    """

    def __init__(self, directory: StateDirectory, reader: ChangelogReader) -> None:
        self.tasks: dict[TaskId, StreamTask] = {}
        self.copies: dict[TaskId, StreamTask] = {}
        """Standby replicas: their stores are updated from the changelogs, their processors are unused."""
        self.lock = threading.RLock()
        """Held by the thread while it changes tasks or their stores, and by others while they read stores."""
        self._directory = directory
        self._reader = reader
        self._restoring: set[TaskId] = set()
        self._suspended: set[TaskId] = set()

    def _runs(self, id: TaskId) -> bool:
        return id in self.tasks and id not in self._restoring and id not in self._suspended

    def running(self) -> list[StreamTask]:
        """Return the running tasks."""
        return [task for id, task in self.tasks.items() if self._runs(id)]

    def offset_sums(self) -> dict[TaskId, int]:
        """Return the offset sums of stores: of running and restoring tasks, of standby replicas, and of tasks on disk
        that no thread of this process has. Thread-safe."""
        sums: dict[TaskId, int] = {}
        for id in self._directory.stored_tasks():
            if not self._directory.is_locked(id):
                try:
                    offsets = self._directory.read_checkpoint(id)
                except ProcessorStateException:
                    continue  # malformed: the task would be restored from the start
                if offsets:
                    sums[id] = sum(offset + 1 for offset in offsets.values() if offset >= 0)
        for id, task in [*self.copies.items(), *self.tasks.items()]:
            if not task.topology.changelogs:
                continue
            if id in self._restoring or id in self.copies:
                positions = [self._reader.position(one) for one in changelog_partitions(id, task)]
                sums[id] = sum(position + 1 for position in positions if position is not None)
            else:
                sums[id] = LATEST_OFFSET
        return sums

    def store_positions(self) -> dict[tuple[str, TopicPartition], int | None]:
        """Return the offset of the next changelog record of each store; None: its task is running, so it is complete.
        Thread-safe."""
        positions: dict[tuple[str, TopicPartition], int | None] = {}
        for id, task in [*self.copies.items(), *self.tasks.items()]:
            behind = id in self._restoring or id in self.copies
            for store, topic in task.topology.changelogs.items():
                partition = TopicPartition(topic, id.partition)
                position = self._reader.position(partition)
                positions[store, partition] = None if not behind else 0 if position is None else position + 1
        return positions

    def stores(self, name: str, partition: int | None, *, with_copies: bool) -> list[Any]:
        """Return the stores of this name of running tasks; the caller holds `lock`.

        Args:
            name: Name of the store.
            partition: Partition of the task; None: any.
            with_copies: Whether to include stores of restoring tasks and standby replicas.
        """
        tasks = dict(self.tasks) | (self.copies if with_copies else {})
        return [
            task.topology.stores[name]
            for id, task in sorted(tasks.items())
            if name in task.topology.stores
            and (partition is None or id.partition == partition)
            and (with_copies or self._runs(id))
        ]

    def queried_tasks(self, store: str) -> list[QueriedTask]:
        """Return the tasks and standby replicas that have a store of this name, tasks first; the caller holds
        `lock`."""
        found = []
        for id, task in [*sorted(self.tasks.items()), *sorted(self.copies.items())]:
            if store in task.topology.stores:
                is_active = id in self.tasks
                position = task.position() if is_active else {}
                found.append(
                    QueriedTask(id.partition, task.topology.stores[store], is_active, self._runs(id), position)
                )
        return found
