"""Where the stores of tasks are in their changelogs, and checkpoints of it on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.runtime.changelog_reader import ChangelogReader
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.task.stream_task import StreamTask

_CHECKPOINT_AFTER_RECORDS: Final = 10_000
"""Minimum number of changelog records between two checkpoints of a task (Kafka's
`OFFSET_DELTA_THRESHOLD_FOR_CHECKPOINT`)."""


def changelog_partitions(id: TaskId, task: StreamTask) -> list[TopicPartition]:
    """Return the partitions of a task's changelogs."""
    return [TopicPartition(topic, id.partition) for topic in task.topology.changelogs.values()]


class TaskCheckpoints:
    """The offsets of a thread's tasks in their changelogs.

    Invariant: `_sums` has the sum of the offsets of each task's last checkpoint; a task without one has none.

    Args:
        directory: State directory of the instance.
        reader: Knows what was restored.
        producer: Knows what was written.
    """

    def __init__(self, directory: StateDirectory, reader: ChangelogReader, producer: StreamsProducer) -> None:
        self._directory = directory
        self._reader = reader
        self._producer = producer
        self._sums: dict[TaskId, int] = {}

    def register(self, id: TaskId, task: StreamTask, offsets: Mapping[TopicPartition, int], *, is_copy: bool) -> None:
        """Have the reader restore a task's stores from these offsets, or update them if it is a standby replica."""
        sources = set(task.topology.source_topics)
        for store, topic in task.topology.changelogs.items():
            partition = TopicPartition(topic, id.partition)
            self._reader.register(
                partition, task.state, store, offsets.get(partition), is_copy=is_copy, is_source=topic in sources
            )

    def unregister(self, id: TaskId, task: StreamTask) -> None:
        """Unregister a task's changelogs, and drop their written offsets, which do not apply to later stores."""
        partitions = changelog_partitions(id, task)
        self._reader.unregister(partitions)
        for partition in partitions:
            self._producer.offsets.pop(partition, None)

    def offsets(self, id: TaskId, task: StreamTask) -> dict[TopicPartition, int]:
        """Return the offset of the last changelog record in each store."""
        offsets: dict[TopicPartition, int] = {}
        for partition in changelog_partitions(id, task):
            written = self._producer.offsets.get(partition)
            restored = self._reader.position(partition)
            consumed = task.consumed.get(partition)  # a store whose changelog is the topic that it is read from
            known = [offset for offset in (written, restored, consumed) if offset is not None]
            if known:
                offsets[partition] = max(known)
        return offsets

    def write_if_due(self, id: TaskId, task: StreamTask) -> None:
        """Write a checkpoint unless there are few new records, because it flushes stores to disk."""
        total = sum(self.offsets(id, task).values())
        if total - self._sums.get(id, 0) > _CHECKPOINT_AFTER_RECORDS:
            self.write(id, task)

    def write(self, id: TaskId, task: StreamTask) -> None:
        """Flush a task's stores and write their checkpoint; nothing for a task without stores."""
        if not task.topology.changelogs:
            return
        offsets = self.offsets(id, task)
        task.state.flush()
        self._directory.write_checkpoint(id, offsets)
        self._sums[id] = sum(offsets.values())

    def forget(self, id: TaskId) -> None:
        """Forget the last checkpoint of a task that is closed."""
        self._sums.pop(id, None)
