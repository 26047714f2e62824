"""Metrics of tasks (Kafka's `TaskMetricsGroup`, `SinkTaskMetricsGroup`, `SourceTaskMetricsGroup`)."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Final

from kafkapy.common.sampled_stat import SampledStat
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.metric_names import ReadMetrics
from kafkapy.connect.runtime.errors.error_metrics import ErrorHandlingMetrics
from kafkapy.connect.runtime.metrics import SINK_TASK_GROUP, SOURCE_TASK_GROUP, TASK_GROUP, ConnectMetrics, task_tags
from kafkapy.connect.runtime.worker_metrics import WorkerMetrics
from kafkapy.connect.storage import ConnectorTaskId, TaskStatusListener
from kafkapy.structs import OffsetAndMetadata

_STATES: Final = ("unassigned", "running", "paused", "failed", "restarting", "destroyed")


class MeasuredTask:
    """The group `connector-task-metrics` of a task; it is the listener of the task's state, and forwards the calls.

    Invariant: `_state` is the task's state, and `_in_state` has the ms that it spent in each state before `_since`.
    The task's thread records; any thread may read.

    Attributes:
        errors: Counts the errors of the task's records.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        metrics: ConnectMetrics,
        listener: TaskStatusListener,
        worker: WorkerMetrics | None = None,
    ) -> None:
        """
        Args:
            id: The task.
            metrics: The worker's.
            listener: Receives all calls of this listener.
            worker: Counts tasks by their states. Default: not counted.
        """
        self.id = id
        self._own: list[ReadMetrics] = []
        self._worker = worker
        self._startup_counted = False
        if worker is not None:
            worker.task_entered(id, "unassigned")
        self.errors = ErrorHandlingMetrics(id, metrics)
        self._metrics = metrics
        self._listener = listener
        self._state = "unassigned"
        self._since = self._started = metrics.now()
        self._in_state = dict.fromkeys(_STATES, 0.0)
        self._commit_ms, self._commits_failed, self._batch = SampledStat(), SampledStat(), SampledStat()
        self._group = group = metrics.group(TASK_GROUP, **task_tags(id))
        group.add("status", "The state of the task.", lambda now: self._state)
        group.add("running-ratio", "The fraction of time that the task runs.", lambda now: self._ratio("running", now))
        group.add(
            "pause-ratio", "The fraction of time that the task is paused.", lambda now: self._ratio("paused", now)
        )
        group.add("offset-commit-max-time-ms", "The maximum time of a commit, in ms.", self._commit_ms.largest)
        group.add("offset-commit-avg-time-ms", "The average time of a commit, in ms.", self._commit_ms.average)
        group.add("batch-size-max", "The number of records in the largest batch.", self._batch.largest)
        group.add("batch-size-avg", "The average number of records in a batch.", self._batch.average)
        failed = self._commits_failed
        group.add("offset-commit-failure-percentage", "The fraction of commits that failed.", failed.average)
        group.add(
            "offset-commit-success-percentage",
            "The fraction of commits that succeeded.",
            lambda now: 1 - failed.average(now) if failed.recent(now) else 0.0,
        )

    def add_metrics(self, read: ReadMetrics) -> None:
        """Add the task's own metrics, until `close`."""
        self._own.append(read)
        self._metrics.add_source(read)

    def record_commit(self, duration_ms: float, error: BaseException | None) -> None:
        """Record the end of a commit, with its error or None."""
        now = self._metrics.now()
        self._commit_ms.record(duration_ms, now)
        self._commits_failed.record(0 if error is None else 1, now)

    def record_batch(self, size: int) -> None:
        """Record the number of processed records."""
        self._batch.record(size, self._metrics.now())

    def close(self) -> None:
        """Remove the metrics."""
        if self._worker is not None:
            self._worker.task_removed(self.id)
        self.errors.close()
        self._metrics.remove(self._group)
        for read in self._own:
            self._metrics.remove_source(read)
        self._own = []

    # -- the listener

    def on_startup(self, id: ConnectorTaskId) -> None:
        self._enter("running")
        self._listener.on_startup(id)

    def on_pause(self, id: ConnectorTaskId) -> None:
        self._enter("paused")
        self._listener.on_pause(id)

    def on_resume(self, id: ConnectorTaskId) -> None:
        self._enter("running")
        self._listener.on_resume(id)

    def on_failure(self, id: ConnectorTaskId, cause: BaseException) -> None:
        self._enter("failed")
        self._listener.on_failure(id, cause)

    def on_shutdown(self, id: ConnectorTaskId) -> None:
        self._enter("unassigned")
        self._listener.on_shutdown(id)

    def on_deletion(self, id: ConnectorTaskId) -> None:
        self._enter("destroyed")
        self._listener.on_deletion(id)

    def on_restart(self, id: ConnectorTaskId) -> None:
        self._enter("restarting")
        self._listener.on_restart(id)

    def _enter(self, state: str) -> None:
        if self._worker is not None:
            self._worker.task_entered(self.id, state)
            if not self._startup_counted and state in ("running", "failed"):
                self._startup_counted = True
                self._worker.tasks.record(state == "running")
        now = self._metrics.now()
        self._in_state[self._state] += now - self._since
        self._state, self._since = state, now

    def _ratio(self, state: str, now: float) -> float:
        all_ms = now - self._started
        spent = self._in_state[state] + (now - self._since if self._state == state else 0)
        return spent / all_ms if all_ms > 0 else 0.0


class MeasuredSink(MeasuredTask):
    """Adds the group `sink-task-metrics`.

    Invariant: `_consumed` and `_committed` have offsets of partitions that the task has. One thread records.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        metrics: ConnectMetrics,
        listener: TaskStatusListener,
        worker: WorkerMetrics | None = None,
    ) -> None:
        super().__init__(id, metrics, listener, worker)
        self._consumed: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._read, self._sent, self._put = SampledStat(), SampledStat(), SampledStat()
        self._completed, self._skipped, self._active = SampledStat(), SampledStat(), SampledStat()
        self._active_now = self._partitions = self._commit_number = 0
        self._sink_group = group = metrics.group(SINK_TASK_GROUP, **task_tags(id))
        group.add_rate("sink-record-read", self._read, "records read from Kafka, before transforms")
        group.add_rate("sink-record-send", self._sent, "records put to the task, after transforms")
        group.add("sink-record-active-count", "Records read and not committed yet.", lambda now: self._active_now)
        group.add("sink-record-active-count-max", "The most of them.", self._active.largest)
        group.add("sink-record-active-count-avg", "The average of them.", self._active.average)
        group.add("partition-count", "Partitions of the task.", lambda now: self._partitions)
        group.add("offset-commit-seq-no", "The number of the last commit.", lambda now: self._commit_number)
        group.add_rate("offset-commit-completion", self._completed, "commits that succeeded")
        group.add_rate("offset-commit-skip", self._skipped, "answers to commits that came too late")
        group.add_time("put-batch", self._put, "putting a batch of records")

    def record_read(self, count: int) -> None:
        """Record the records of a poll."""
        self._read.record(count, self._metrics.now())

    def record_put(self, duration_ms: float) -> None:
        """Record that the task has accepted a batch."""
        self._put.record(duration_ms, self._metrics.now())

    def record_batch(self, size: int) -> None:
        super().record_batch(size)
        self._sent.record(size, self._metrics.now())

    def record_commit(self, duration_ms: float, error: BaseException | None) -> None:
        super().record_commit(duration_ms, error)
        if error is None:
            self._completed.record(1, self._metrics.now())

    def record_commit_skipped(self) -> None:
        """Record the response to an abandoned commit."""
        self._skipped.record(1, self._metrics.now())

    def record_commit_number(self, number: int) -> None:
        """Record the start of a commit."""
        self._commit_number = number

    def record_partition_count(self, count: int) -> None:
        """Record the task's number of partitions."""
        self._partitions = count

    def record_assigned(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Record newly assigned partitions with their offsets."""
        self._consumed = {partition: at.offset for partition, at in offsets.items()}
        self._committed = dict(self._consumed)
        self._count_active()

    def record_consumed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Record the offsets up to which records were read."""
        for partition, at in offsets.items():
            self._consumed[partition] = at.offset
        self._count_active()

    def record_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Record committed offsets."""
        for partition, at in offsets.items():
            self._committed[partition] = at.offset
        self._count_active()

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Remove revoked partitions."""
        for partition in partitions:
            self._consumed.pop(partition, None)
            self._committed.pop(partition, None)
        self._count_active()

    def close(self) -> None:
        super().close()
        self._metrics.remove(self._sink_group)

    def _count_active(self) -> None:
        consumed = self._consumed
        self._active_now = sum(max(0, consumed.get(one, at) - at) for one, at in self._committed.items())
        self._active.record(self._active_now, self._metrics.now())


class MeasuredSource(MeasuredTask):
    """Adds the group `source-task-metrics`.

    Invariant: `_polled - _done` records are in flight. `record_poll` is called by the task's thread, `record_write` by
    the
    producer's. `_dropped` changes under `_dropping`.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        metrics: ConnectMetrics,
        listener: TaskStatusListener,
        worker: WorkerMetrics | None = None,
    ) -> None:
        super().__init__(id, metrics, listener, worker)
        self._dropping = threading.Lock()
        self._poll, self._write, self._poll_ms = SampledStat(), SampledStat(), SampledStat()
        self._active, self._transactions = SampledStat(), SampledStat()
        self._smallest = SampledStat()
        self._dropped = 0
        self._source_group = group = metrics.group(SOURCE_TASK_GROUP, **task_tags(id))
        group.add_rate("source-record-poll", self._poll, "records polled, before transforms")
        group.add_rate("source-record-write", self._write, "records written to Kafka, after transforms")
        group.add_time("poll-batch", self._poll_ms, "polling a batch of records")
        group.add("source-record-active-count", "Records polled and not in Kafka yet.", lambda now: self._active_now())
        group.add("source-record-active-count-max", "The most of them.", self._active.largest)
        group.add("source-record-active-count-avg", "The average of them.", self._active.average)
        group.add(
            "transaction-size-min", "Records in the smallest transaction.", lambda now: 0 - self._smallest.largest(now)
        )
        group.add("transaction-size-max", "Records in the largest transaction.", self._transactions.largest)
        group.add("transaction-size-avg", "The average number of records in a transaction.", self._transactions.average)

    def record_poll(self, size: int, duration_ms: float) -> None:
        """Record the records of a poll."""
        now = self._metrics.now()
        self._poll.record(size, now)
        self._poll_ms.record(duration_ms, now)
        self._active.record(self._active_now(), now)

    def record_write(self, count: int) -> None:
        """Record written records."""
        now = self._metrics.now()
        self._write.record(count, now)

    def record_dropped(self, count: int) -> None:
        """Record dropped and failed records. Thread-safe."""
        with self._dropping:
            self._dropped += count

    def record_transaction(self, size: int) -> None:
        """Record a committed transaction."""
        now = self._metrics.now()
        self._transactions.record(size, now)
        self._smallest.record(-size, now)

    def close(self) -> None:
        super().close()
        self._metrics.remove(self._source_group)

    def _active_now(self) -> float:
        return max(0.0, self._poll.total - self._write.total - self._dropped)
