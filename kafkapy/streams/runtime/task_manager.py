"""Manages the tasks of a thread: creates, restores, runs, commits and closes them (Kafka's `TaskManager`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import IllegalStateError, KafkaTimeoutError
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import TaskCorruptedException
from kafkapy.streams.metrics.sensors import StreamsMetric
from kafkapy.streams.metrics.sensors import now_ms as monotonic_ms
from kafkapy.streams.metrics.thread_metrics import ThreadMetrics
from kafkapy.streams.runtime.changelog_reader import ChangelogReader
from kafkapy.streams.runtime.commit_metadata import decode_commit_metadata
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.runtime.task_checkpoints import TaskCheckpoints, changelog_partitions
from kafkapy.streams.runtime.task_commits import MainConsumer, TaskCommits
from kafkapy.streams.runtime.thread_tasks import ThreadTasks
from kafkapy.streams.state.thread_cache import ThreadCache
from kafkapy.streams.task.stream_task import StreamTask

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("kafkapy.streams")

MakeTask = Callable[[TaskId, Collection[TopicPartition]], StreamTask]


class TaskManager(ThreadTasks):
    """A thread's tasks.

    Invariants: `_wanted` and `_wanted_copies` are tasks whose directory another thread or process still has locked. The
    partitions of a task that is restored are paused; those in `_paused` are paused, because they have many records queued.

    Args:
        config: The application's configuration.
        directory: State directory of the instance.
        make_task: Creates a task with its nodes and stores.
        consumer: The thread's consumer; set before the first assignment.
        reader: Reader of changelogs.
        producer: The thread's producer.
        cache: Record cache, shared by the thread's tasks.
        metrics: The thread's metrics.
    """

    def __init__(
        self,
        config: StreamsConfig,
        directory: StateDirectory,
        make_task: MakeTask,
        reader: ChangelogReader,
        producer: StreamsProducer,
        cache: ThreadCache | None = None,
        metrics: ThreadMetrics | None = None,
    ) -> None:
        super().__init__(directory, reader)
        self.cache = ThreadCache(0) if cache is None else cache
        self.metrics = metrics or ThreadMetrics("", config.metrics_recording_level)
        self.is_paused = False
        """Whether processing and the updates of standby replicas are paused (KIP-834); other threads may set it."""
        self.is_rebalancing = False
        """Whether the thread is joining and has no assignment yet, so that the group may refuse commits."""
        self.consumer: MainConsumer
        self._config = config
        self._make_task = make_task
        self._producer = producer
        self._checkpoints = TaskCheckpoints(directory, reader, producer)
        self._commits = TaskCommits(config, producer)
        self._committed: dict[TaskId, dict[TopicPartition, Any]] = {}
        """The group's committed offsets of tasks in `_restoring`, after their lookup."""
        self._wanted: dict[TaskId, list[TopicPartition]] = {}
        self._wanted_copies: dict[TaskId, list[TopicPartition]] = {}
        self._partitions: dict[TaskId, list[TopicPartition]] = {}
        self._task_of: dict[TopicPartition, StreamTask] = {}
        self._paused: set[TopicPartition] = set()

    # --- assignment -------------------------------------------------------------------------------------------------------

    def handle_assignment(
        self, active: Mapping[TaskId, list[TopicPartition]], standby: Mapping[TaskId, Collection[TopicPartition]]
    ) -> None:
        """Close removed tasks and create new ones. A standby replica may become the active task and the reverse; both
        keep their stores."""
        for id in [id for id in self.tasks if id not in active]:
            if id in standby and id not in self._restoring:
                self._demote(id)
            else:
                self._close(id, clean=True)
        for id in [id for id in self.copies if id not in standby]:
            if id in active:
                self._promote(id, active[id])
            else:
                self._close_copy(id)
        for id in self._suspended & active.keys():
            self._restoring.add(id)
            self._pause(*self._partitions[id])
        self._suspended.clear()
        self._wanted = {id: partitions for id, partitions in active.items() if id not in self.tasks}
        self._wanted_copies = {id: sorted(partitions) for id, partitions in standby.items() if id not in self.copies}
        self.make_wanted()

    def handle_revocation(self, revoked: Collection[TopicPartition]) -> None:
        """Commit and suspend the tasks of revoked partitions."""
        gone = [id for id, partitions in self._partitions.items() if not set(partitions).isdisjoint(revoked)]
        if gone:
            self.commit()
        for id in gone:
            if id not in self._restoring and id not in self._suspended:
                self.tasks[id].suspend()
                self._suspended.add(id)

    def handle_lost(self, lost: Collection[TopicPartition]) -> None:
        """Close the tasks of lost partitions without a commit: the member is out of the group, and others have its
        tasks."""
        self._producer.abort()
        for id in [id for id, partitions in self._partitions.items() if not set(partitions).isdisjoint(lost)]:
            self._close(id, clean=False)

    def make_wanted(self) -> None:
        """Create the tasks and standby replicas whose directory was unlocked."""
        for id, partitions in list(self._wanted.items()):
            if not self._directory.lock(id):
                log.info("The directory of task %s is still in use", id)
                self._pause(*partitions)
                continue
            del self._wanted[id]
            self._with_lock(self._create, id, partitions)
        for id, partitions in list(self._wanted_copies.items()):
            if self._directory.lock(id):
                del self._wanted_copies[id]
                self._with_lock(self._create_copy, id, partitions)

    def _with_lock(
        self, create: Callable[[TaskId, list[TopicPartition]], None], id: TaskId, partitions: list[TopicPartition]
    ) -> None:
        """Create a task whose directory is locked; after a failure the lock is released for the thread that replaces
        this one."""
        try:
            create(id, partitions)
        except BaseException:
            self._directory.unlock(id)
            raise

    def _create(self, id: TaskId, partitions: list[TopicPartition]) -> None:
        offsets = self._directory.read_checkpoint(id)
        task = self._make_task(id, partitions)
        if self._config.exactly_once:
            if not offsets:
                self._directory.wipe(id)  # without a checkpoint nothing is known of what the stores hold
            self._directory.delete_checkpoint(id)
        task.initialize_stores()
        self._activate(id, task, partitions, offsets)
        self.metrics.task_created()
        log.info("Task %s is made, with %s", id, ", ".join(map(str, partitions)))

    def _create_copy(self, id: TaskId, partitions: list[TopicPartition]) -> None:
        task = self._make_task(id, partitions)
        if not task.topology.changelogs:
            self._directory.unlock(id)  # without state there is nothing to copy
            return
        offsets = self._directory.read_checkpoint(id)
        if self._config.exactly_once and not offsets:
            self._directory.wipe(id)
        task.initialize_stores()
        self.copies[id] = task
        self._checkpoints.register(id, task, offsets, is_copy=True)
        self.metrics.task_created()
        log.info("Standby task %s is made", id)

    def _activate(
        self, id: TaskId, task: StreamTask, partitions: list[TopicPartition], offsets: Mapping[TopicPartition, int]
    ) -> None:
        self.tasks[id] = task
        self._partitions[id] = partitions
        self._task_of.update(dict.fromkeys(partitions, task))
        self._checkpoints.register(id, task, offsets, is_copy=False)
        self._restoring.add(id)
        self._pause(*partitions)

    def _promote(self, id: TaskId, partitions: list[TopicPartition]) -> None:
        """Convert a standby replica to the active task, whose stores are restored to the end of their changelogs."""
        task = self.copies.pop(id)
        offsets = self._checkpoints.offsets(id, task)
        self._checkpoints.unregister(id, task)
        if self._config.exactly_once:
            self._directory.delete_checkpoint(id)
        self._activate(id, task, partitions, offsets)
        log.info("Standby task %s becomes active", id)

    def _demote(self, id: TaskId) -> None:
        """Convert an active task to a standby replica, after a commit."""
        if id not in self._suspended:
            self.commit()
            self.tasks[id].suspend()
        task = self._forget(id)
        for store in task.topology.stores.values():
            store.clear_cache()  # what it holds is written, and the stores below will change
        self._checkpoints.write(id, task)
        offsets = self._checkpoints.offsets(id, task)
        self._checkpoints.unregister(id, task)
        self.copies[id] = task
        self._checkpoints.register(id, task, offsets, is_copy=True)
        log.info("Task %s becomes a standby task", id)

    # --- restoring --------------------------------------------------------------------------------------------------------

    @property
    def is_restoring(self) -> bool:
        """Return whether a task is still being restored."""
        return bool(self._restoring or self._wanted)

    @property
    def has_copies(self) -> bool:
        """Return whether there are standby replicas to update."""
        return bool(self.copies or self._wanted_copies) and not self.is_paused

    def restore(self, timeout_ms: float) -> None:
        """Read changelogs, and start tasks whose stores are complete. The next call retries after a timeout."""
        self.make_wanted()
        try:
            self._find_committed()
            self._reader.restore(timeout_ms)
        except TaskCorruptedException as error:
            self._make_anew(error)
        except KafkaTimeoutError as error:
            log.warning("Stores could not be restored, which is tried again: %s", error)
            return
        for id in list(self._restoring):
            task = self.tasks[id]
            if self._reader.is_complete(changelog_partitions(id, task)):
                self._restoring.remove(id)
                self._begin(id, task)

    def _make_anew(self, corrupted: TaskCorruptedException) -> None:
        """Restore tasks from the start whose stores lack records that their changelogs no longer have."""
        for tasks, wanted in ((self.tasks, self._wanted), (self.copies, self._wanted_copies)):
            for id, task in list(tasks.items()):
                if set(changelog_partitions(id, task)).isdisjoint(corrupted.partitions):
                    continue
                log.warning("The stores of task %s are restored from the start: %s", id, corrupted)
                wanted[id] = [TopicPartition(*partition) for partition in task.group.queues]
                if tasks is self.tasks:
                    self._forget(id)
                else:
                    del tasks[id]
                self._checkpoints.unregister(id, task)
                task.close()
                self._directory.wipe(id)
                self._directory.unlock(id)

    def _find_committed(self) -> None:
        """Look up committed offsets before the end offsets of changelogs.

        With exactly-once this waits for open transactions of other instances, so that the changelogs have all records
        that belong to the committed offsets when their ends are looked up.
        """
        for id in self._restoring - self._committed.keys():
            self._committed[id] = {
                partition: self.consumer.committed(partition, metadata=True) for partition in self._partitions[id]
            }

    def _begin(self, id: TaskId, task: StreamTask) -> None:
        partitions = self._partitions[id]
        metadata: dict[str, int] = {}
        for partition, committed in self._committed.pop(id).items():
            if committed is not None:
                found = decode_commit_metadata(committed.metadata or "")
                task.group.set_partition_time(*partition, found.partition_time)
                task.committed[partition.topic, partition.partition] = committed.offset
                for key, value in found.processor_metadata.items():
                    metadata[key] = max(value, metadata.get(key, value))
        task.context.processor_metadata = metadata
        task.initialize_topology()
        self._resume(*partitions)
        log.info("Task %s runs", id)

    # --- work -------------------------------------------------------------------------------------------------------------

    def add_records(self, records: Mapping[TopicPartition, Iterable[Any]]) -> None:
        """Queue consumed records, and pause partitions with many queued ones."""
        for partition, found in records.items():
            task = self._task_of.get(partition)
            if task is None:
                continue
            self._pause_if_full(partition, task.add_records(partition.topic, partition.partition, found))

    @property
    def takes_columns(self) -> bool:
        """Return whether a task processes records as columns."""
        return any(task.takes_columns for task in self.tasks.values())

    def add_columns(self, table: pa.Table) -> None:
        """Like `add_records`, of a table that `KafkaConsumer.poll_arrow` has read."""
        for batch in table.to_batches():
            if not batch.num_rows:
                continue
            partition = TopicPartition(batch.column("topic")[0].as_py(), batch.column("partition")[0].as_py())
            task = self._task_of.get(partition)
            if task is not None:
                self._pause_if_full(partition, task.add_columns(batch))

    def _pause_if_full(self, partition: TopicPartition, waiting: int) -> None:
        if waiting > self._config.buffered_records_per_partition:
            self._paused.add(partition)
            self._pause(partition)

    def resume(self) -> None:
        """Resume partitions with few queued records."""
        ready = [
            partition
            for partition in self._paused
            if partition not in self._task_of
            or len(self._task_of[partition].group.queues[partition]) <= self._config.buffered_records_per_partition
        ]
        if ready:
            self._paused.difference_update(ready)
            self._resume(*(partition for partition in ready if partition in self._task_of))

    def send_buffered(self) -> None:
        """Pass the tasks' output to the producer."""
        self._producer.send_buffered()

    def process(self, now_ms: int, limit: int) -> int:
        """Process up to `limit` records of each task; return the number processed."""
        processed = 0
        if self.is_paused:
            return 0
        for task in self.running():
            started, count = monotonic_ms(), 0
            task.hand_on(now_ms)
            while count < limit and task.process(now_ms):
                task.punctuate_stream_time(now_ms)
                count += 1
                if task.coroutines.is_full:
                    task.hand_on(now_ms)
            if count:
                self.metrics.processed(started, task.task_id, count, task.dropped_records)
                processed += count
        return processed

    @property
    def wait_for_coroutines(self) -> bool:
        """Return whether records wait for coroutines."""
        return not self.is_paused and any(task.coroutines.are_running for task in self.tasks.values())

    def punctuate(self, now_ms: int) -> None:
        """Call punctuations that are due by the wall clock."""
        if not self.is_paused:
            started = monotonic_ms()
            punctuated = sum([task.punctuate_system_time(now_ms) for task in self.running()])
            if punctuated:
                self.metrics.punctuated(started, punctuated)

    @property
    def commit_requested(self) -> bool:
        return any(task.commit_requested for task in self.tasks.values())

    def commit(self) -> None:
        """Commit all processed records. During a rebalance nothing is committed; the next commit includes everything.

        Raises:
            TaskMigratedException: Another member or producer has taken over the tasks.
            StreamsException: A record could not be written, or the broker refuses the commit.
        """
        started = monotonic_ms()
        needed = {id: task for id, task in self.tasks.items() if task.commit_needed and self._runs(id)}
        for id, task in self.copies.items():
            self._checkpoints.write_if_due(id, task)
        if not needed or not self._commits.commit(list(needed.values()), self.consumer):
            return
        if not self._config.exactly_once:
            for id, task in needed.items():
                self._checkpoints.write_if_due(id, task)
        self.metrics.committed(started, len(needed))

    def all_metrics(self) -> Iterator[StreamsMetric]:
        """Return the metrics of the thread and its tasks. Thread-safe."""
        yield from self.metrics.metrics()
        for task in [*self.tasks.values(), *self.copies.values()]:
            yield from self.metrics.task_metrics(task.task_id, task.dropped_records, task.group.size)
            if task.details is not None:
                yield from task.details.metrics()

    def clean_directory(self, now: float) -> None:
        """Delete directories of tasks that have run elsewhere for `state.cleanup.delay.ms`."""
        for id in self._directory.clean_if_due(self._config.state_cleanup_delay_ms, now):
            log.info("Deleted obsolete state directory of task %s", id)

    def close(self, clean: bool) -> None:
        """Close all tasks; with `clean` after a commit."""
        if clean:
            self.commit()
        else:
            self._producer.abort()
        for id in list(self.tasks):
            self._close(id, clean)
        for id in list(self.copies):
            self._close_copy(id)
        self._wanted.clear()
        self._wanted_copies.clear()

    # --- within -----------------------------------------------------------------------------------------------------------

    def _pause(self, *partitions: TopicPartition) -> None:
        with suppress(IllegalStateError):
            self.consumer.pause(*partitions)

    def _resume(self, *partitions: TopicPartition) -> None:
        """Resume partitions, except those just lost, for which the next poll calls the listener."""
        with suppress(IllegalStateError):
            self.consumer.resume(*partitions)

    def _close(self, id: TaskId, clean: bool) -> None:
        runs = self._runs(id)
        task = self._forget(id)
        try:
            if runs:
                task.suspend()
            if clean:
                self._checkpoints.write(id, task)
        except Exception:
            if clean:
                raise
            log.warning("Task %s could not be suspended", id, exc_info=True)
        finally:
            self._checkpoints.unregister(id, task)
            task.close()
            if not clean and self._config.exactly_once:
                self._directory.wipe(id)
            self._directory.unlock(id)
        self.metrics.task_closed(str(id))
        log.info("Task %s is closed %s", id, "clean" if clean else "dirty")

    def _close_copy(self, id: TaskId) -> None:
        task = self.copies.pop(id)
        try:
            self._checkpoints.write(id, task)
        finally:
            self._checkpoints.forget(id)
            self._checkpoints.unregister(id, task)
            task.close()
            self._directory.unlock(id)
        self.metrics.task_closed(str(id))
        log.info("Standby task %s is closed", id)

    def _forget(self, id: TaskId) -> StreamTask:
        """Remove a task from all collections; its stores stay open and its directory locked."""
        task = self.tasks.pop(id)
        for partition in self._partitions.pop(id):
            self._task_of.pop(partition, None)
            self._paused.discard(partition)
        self._restoring.discard(id)
        self._committed.pop(id, None)
        self._suspended.discard(id)
        self._checkpoints.forget(id)
        return task
