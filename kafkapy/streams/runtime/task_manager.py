"""The tasks of a thread: made when they are assigned, restored, run, committed, closed (Kafka's `TaskManager`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.subscription_info import LATEST_OFFSET
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import ProcessorStateException
from kafkapy.streams.runtime.changelog_reader import ChangelogReader
from kafkapy.streams.runtime.commit_metadata import CommitMetadata, decode_commit_metadata
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.structs import OffsetAndMetadata

log = logging.getLogger("kafkapy.streams")

MakeTask = Callable[[TaskId, Collection[TopicPartition]], StreamTask]


class MainConsumer(Protocol):
    """What the tasks need of the thread's consumer."""

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def committed(self, partition: TopicPartition, metadata: bool) -> Any: ...

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...

    def group_metadata(self) -> Any: ...


class TaskManager:
    """A thread's tasks.

    Invariants: a task in `tasks` has its directory locked and its stores open; those in `_restoring` are there, too, and process
    nothing until their stores are complete, their partitions being paused; `_wanted` are tasks whose directory another thread
    or process still has.

    Args:
        config: The application's.
        directory: Of the instance.
        make_task: Makes a task with its nodes and stores.
        consumer: The thread's; set before the first assignment.
        reader: Of changelogs.
        producer: The thread's.
    """

    def __init__(
        self,
        config: StreamsConfig,
        directory: StateDirectory,
        make_task: MakeTask,
        reader: ChangelogReader,
        producer: StreamsProducer,
    ) -> None:
        self.tasks: dict[TaskId, StreamTask] = {}
        self.consumer: MainConsumer
        self._config = config
        self._directory = directory
        self._make_task = make_task
        self._reader = reader
        self._producer = producer
        self._restoring: set[TaskId] = set()
        self._wanted: dict[TaskId, list[TopicPartition]] = {}
        self._partitions: dict[TaskId, list[TopicPartition]] = {}
        self._task_of: dict[TopicPartition, StreamTask] = {}
        self._paused: set[TopicPartition] = set()

    # --- assignment -------------------------------------------------------------------------------------------------------

    def offset_sums(self) -> dict[TaskId, int]:
        """How far stores are: of tasks that run, of those that are restored, and of those on disk. Any thread may ask."""
        sums: dict[TaskId, int] = {}
        for id in self._directory.stored_tasks():
            if id not in self.tasks:
                try:
                    offsets = self._directory.read_checkpoint(id)
                except ProcessorStateException:
                    continue  # malformed: the task would be restored from the start
                if offsets:
                    sums[id] = sum(offset + 1 for offset in offsets.values() if offset >= 0)
        for id, task in list(self.tasks.items()):
            if not task.topology.changelogs:
                continue
            if id in self._restoring:
                positions = [self._reader.position(one) for one in self._changelog_partitions(id, task)]
                sums[id] = sum(position + 1 for position in positions if position is not None)
            else:
                sums[id] = LATEST_OFFSET
        return sums

    def handle_assignment(self, active: Mapping[TaskId, list[TopicPartition]]) -> None:
        """Close tasks that are gone, make those that are new."""
        for id in [id for id in self.tasks if id not in active]:
            self._close(id, clean=True)
        self._wanted = {id: partitions for id, partitions in active.items() if id not in self.tasks}
        self.make_wanted()

    def handle_revocation(self, revoked: Collection[TopicPartition]) -> None:
        """Commit and close the tasks of partitions that another member gets."""
        gone = [id for id, partitions in self._partitions.items() if not set(partitions).isdisjoint(revoked)]
        if gone:
            self.commit()
        for id in gone:
            self._close(id, clean=True)

    def handle_lost(self, lost: Collection[TopicPartition]) -> None:
        """The member is out of the group: its tasks are another's, and nothing of theirs may be committed."""
        self._producer.abort()
        for id in [id for id, partitions in self._partitions.items() if not set(partitions).isdisjoint(lost)]:
            self._close(id, clean=False)

    def make_wanted(self) -> None:
        """Make the tasks whose directory has become free."""
        for id, partitions in list(self._wanted.items()):
            if not self._directory.lock(id):
                log.info("The directory of task %s is still in use", id)
                self.consumer.pause(*partitions)
                continue
            del self._wanted[id]
            self._create(id, partitions)

    def _create(self, id: TaskId, partitions: list[TopicPartition]) -> None:
        offsets = self._directory.read_checkpoint(id)
        task = self._make_task(id, partitions)
        if self._config.exactly_once:
            if not offsets:
                self._directory.wipe(id)  # without a checkpoint nothing is known of what the stores hold
            self._directory.delete_checkpoint(id)
        self.tasks[id] = task
        self._partitions[id] = partitions
        self._task_of.update(dict.fromkeys(partitions, task))
        task.initialize_stores()
        for store, topic in task.topology.changelogs.items():
            partition = TopicPartition(topic, id.partition)
            self._reader.register(partition, task.state, store, offsets.get(partition))
        self._restoring.add(id)
        self.consumer.pause(*partitions)
        log.info("Task %s is made, with %s", id, ", ".join(map(str, partitions)))

    # --- restoring --------------------------------------------------------------------------------------------------------

    @property
    def is_restoring(self) -> bool:
        return bool(self._restoring or self._wanted)

    def restore(self, timeout_ms: float) -> None:
        """Read changelogs; tasks whose stores are complete begin to run."""
        self.make_wanted()
        if self._reader.is_restoring:
            self._reader.restore(timeout_ms)
        for id in list(self._restoring):
            task = self.tasks[id]
            if self._reader.is_complete(self._changelog_partitions(id, task)):
                self._restoring.remove(id)
                self._begin(id, task)

    def _begin(self, id: TaskId, task: StreamTask) -> None:
        partitions = self._partitions[id]
        metadata: dict[str, int] = {}
        for partition in partitions:
            committed = self.consumer.committed(partition, metadata=True)
            if committed is not None:
                found = decode_commit_metadata(committed.metadata or "")
                task.group.set_partition_time(*partition, found.partition_time)
                for key, value in found.processor_metadata.items():
                    metadata[key] = max(value, metadata.get(key, value))
        task.context.processor_metadata = metadata
        task.initialize_topology()
        self.consumer.resume(*partitions)
        log.info("Task %s runs", id)

    # --- work -------------------------------------------------------------------------------------------------------------

    def running(self) -> list[StreamTask]:
        return [task for id, task in self.tasks.items() if id not in self._restoring]

    def add_records(self, records: Mapping[TopicPartition, Iterable[Any]]) -> None:
        """Records that the consumer has read; a partition with many that wait is paused."""
        for partition, found in records.items():
            task = self._task_of.get(partition)
            if task is None:
                continue
            waiting = task.add_records(partition.topic, partition.partition, found)
            if waiting > self._config.buffered_records_per_partition:
                self._paused.add(partition)
                self.consumer.pause(partition)

    def resume(self) -> None:
        """Read on where few records wait."""
        ready = [
            partition
            for partition in self._paused
            if partition not in self._task_of
            or len(self._task_of[partition].group.queues[partition]) <= self._config.buffered_records_per_partition
        ]
        if ready:
            self._paused.difference_update(ready)
            self.consumer.resume(*(partition for partition in ready if partition in self._task_of))

    def process(self, now_ms: int, limit: int) -> int:
        """Process up to so many records of each task; how many there were."""
        processed = 0
        for task in self.running():
            for _ in range(limit):
                if not task.process(now_ms):
                    break
                task.punctuate_stream_time(now_ms)
                processed += 1
        return processed

    def punctuate(self, now_ms: int) -> None:
        for task in self.running():
            task.punctuate_system_time(now_ms)

    @property
    def commit_requested(self) -> bool:
        return any(task.commit_requested for task in self.tasks.values())

    def commit(self) -> None:
        """Commit all that was processed."""
        offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        needed = [(id, task) for id, task in self.tasks.items() if task.commit_needed and id not in self._restoring]
        for _, task in needed:
            metadata = task.context.processor_metadata
            for (topic, number), offset in task.prepare_commit().items():
                text = CommitMetadata(task.group.queues[topic, number].partition_time, metadata).encode()
                offsets[TopicPartition(topic, number)] = OffsetAndMetadata(offset, text)
        if not needed:
            return
        if self._config.exactly_once:
            self._producer.commit(offsets, self.consumer.group_metadata())
        else:
            self._producer.flush()
            if offsets:
                self.consumer.commit(offsets)
        for id, task in needed:
            task.post_commit()
            if not self._config.exactly_once:
                self._checkpoint(id, task)

    def close(self, clean: bool) -> None:
        """Close all tasks; with `clean` what was processed is committed first."""
        if clean:
            self.commit()
        else:
            self._producer.abort()
        for id in list(self.tasks):
            self._close(id, clean)
        self._wanted.clear()

    # --- within -----------------------------------------------------------------------------------------------------------

    def _close(self, id: TaskId, clean: bool) -> None:
        task = self.tasks.pop(id)
        partitions = self._partitions.pop(id)
        was_restoring = id in self._restoring
        self._restoring.discard(id)
        for partition in partitions:
            self._task_of.pop(partition, None)
            self._paused.discard(partition)
        try:
            if not was_restoring:
                task.suspend()
            if clean:
                self._checkpoint(id, task)
        except Exception:
            if clean:
                raise
            log.warning("Task %s could not be suspended", id, exc_info=True)
        finally:
            self._reader.unregister(self._changelog_partitions(id, task))
            task.close()
            if not clean and self._config.exactly_once:
                self._directory.wipe(id)
            self._directory.unlock(id)
        log.info("Task %s is closed %s", id, "clean" if clean else "dirty")

    def _checkpoint(self, id: TaskId, task: StreamTask) -> None:
        partitions = self._changelog_partitions(id, task)
        if not partitions:
            return
        task.state.flush()
        offsets: dict[TopicPartition, int] = {}
        for partition in partitions:
            written = self._producer.offsets.get(partition)
            restored = self._reader.position(partition)
            known = [offset for offset in (written, restored) if offset is not None]
            if known:
                offsets[partition] = max(known)
        self._directory.write_checkpoint(id, offsets)

    def _changelog_partitions(self, id: TaskId, task: StreamTask) -> list[TopicPartition]:
        return [TopicPartition(topic, id.partition) for topic in task.topology.changelogs.values()]
