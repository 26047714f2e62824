"""Manages and commits the offsets of a sink task (a part of Kafka's `WorkerSinkTask`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.runtime.sink_task_context import WorkerSinkTaskContext
from kafkapy.connect.runtime.task_metrics import MeasuredSink
from kafkapy.connect.sink import SinkTask
from kafkapy.connect.storage import ConnectorTaskId
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import OffsetAndMetadata

if TYPE_CHECKING:
    from kafkapy.consumer.kafka_consumer import KafkaConsumer

log = logging.getLogger("kafkapy.connect.runtime")

_Offsets = dict[TopicPartition, OffsetAndMetadata]


class CommitParts(Protocol):
    """The attributes of a task's parts that commits use."""

    id: ConnectorTaskId
    task: SinkTask
    consumer: KafkaConsumer[bytes, bytes]
    commit_interval_ms: float
    commit_timeout_ms: float
    metrics: MeasuredSink


class OffsetsOwner(Protocol):
    """The part of a worker's task that commits use."""

    @property
    def is_cancelled(self) -> bool: ...
    def await_reports(self, partitions: Collection[TopicPartition]) -> None: ...


class SinkCommits:
    """Used on the task's thread.

    Invariant: `current` has the offsets after the records that the task has accepted, `_last` the committed ones of
    the same partitions. At most one commit is in progress: `_number` is its number, `_started` its time,
    `is_committing` the flag.

    Attributes:
        current: See above.
        next_ms: When the next commit is due, in monotonic ms.
        is_committing: See above.
        failures: Number of consecutive failed commits.
    """

    def __init__(self, task: OffsetsOwner, parts: CommitParts, time: Time) -> None:
        self.current: _Offsets = {}
        self.next_ms = time.monotonic_ms() + parts.commit_interval_ms
        self.is_committing = False
        self.failures = 0
        self._of = task
        self._id = parts.id
        self._task = parts.task
        self._consumer = parts.consumer
        self._interval_ms = parts.commit_interval_ms
        self._timeout_ms = parts.commit_timeout_ms
        self._metrics = parts.metrics
        self._time = time
        self._last: _Offsets = {}
        self._number = 0
        self._started: float = 0

    def moved(self, partition: TopicPartition, offset: int) -> None:
        """Set the offset from which the task continues to read."""
        self.current[partition] = self._last[partition] = OffsetAndMetadata(offset)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Remove partitions that the task no longer has."""
        for partition in partitions:
            self.current.pop(partition, None)
            self._last.pop(partition, None)

    def commit_if_due(self, now: float, context: WorkerSinkTaskContext) -> None:
        """Begin a commit if it is due, and abandon one that takes too long.

        Args:
            now: Monotonic ms.
            context: The task's context, which may have a request for a commit.
        """
        if not self.is_committing and (context.commit_requested or now >= self.next_ms):
            self.commit(now, self._consumer.assignment(), closing=False)
            self.next_ms = now + self._interval_ms
            context.commit_requested = False
        if self.is_committing and now >= self._started + self._timeout_ms:
            log.warning("A commit of the offsets of task %s takes more than %d ms", self._id, self._timeout_ms)
            self.failures += 1
            self.is_committing = False

    def commit(self, now: float, partitions: Collection[TopicPartition], *, closing: bool) -> None:
        """Commit the offsets that the task allows.

        Args:
            now: Monotonic ms.
            partitions: The partitions to commit.
            closing: Whether to close the partitions in the task; the commit is then synchronous, and a failure is
                logged.

        Raises:
            ConnectException: Reports of failed records are not durable.
        """
        self._of.await_reports(partitions)
        offsets = {partition: at for partition, at in self.current.items() if partition in partitions}
        if not offsets:
            return
        self.is_committing = True
        self._number += 1
        self._started = now
        self._metrics.record_commit_number(self._number)
        last = {partition: at for partition, at in self._last.items() if partition in offsets}
        try:
            allowed = self._task.pre_commit(dict(offsets))
        except Exception as error:
            self._not_allowed(error, last, closing)
            return
        finally:
            if closing:
                self._task.close(partitions)
        wanted = self._checked(allowed, offsets, last) if allowed else last
        if wanted == last:
            self._completed(self._number, None, None)
        elif not self._of.is_cancelled:
            (self._commit_now if closing else self._commit_soon)(wanted, self._number)

    def _not_allowed(self, error: Exception, last: _Offsets, closing: bool) -> None:
        if closing:
            log.warning("Task %s cannot flush at its end: %s", self._id, error)
        else:
            log.error("Task %s cannot flush and reads again from the last commit", self._id, exc_info=error)
            for partition, at in last.items():
                self._consumer.seek(partition, at.offset)
            self.current.update(last)
        self._completed(self._number, error, None)

    def _checked(
        self, allowed: Mapping[TopicPartition, OffsetAndMetadata], offsets: _Offsets, last: _Offsets
    ) -> _Offsets:
        """Return the last commit's offsets, updated with those that the task allows."""
        wanted = dict(last)
        for partition, at in allowed.items():
            if partition not in last:
                log.warning("Task %s allows an offset of %s, which was not asked for", self._id, partition)
            elif at.offset > offsets[partition].offset:
                log.warning("Task %s allows %s of %s, which was not read yet", self._id, at.offset, partition)
            else:
                wanted[partition] = at
        return wanted

    def _commit_now(self, offsets: _Offsets, number: int) -> None:
        try:
            self._consumer.commit(offsets)
        except KafkaError as error:
            self._completed(number, error, None)
        else:
            self._completed(number, None, offsets)

    def _commit_soon(self, offsets: _Offsets, number: int) -> None:
        def done(_: Any, result: Any) -> None:
            error = result if isinstance(result, BaseException) else None
            self._completed(number, error, None if error else offsets)

        callback: Callable[[Any, Any], None] = done
        self._consumer.commit_async(offsets, callback)

    def _completed(self, number: int, error: BaseException | None, offsets: _Offsets | None) -> None:
        if number != self._number:
            self._metrics.record_commit_skipped()
            return
        took = self._time.monotonic_ms() - self._started
        self._metrics.record_commit(took, error)
        self.is_committing = False
        if error is not None:
            log.error("Commit %d of the offsets of task %s has failed: %s", number, self._id, error)
            self.failures += 1
            return
        self.failures = 0
        for partition, at in (offsets or {}).items():
            if partition in self._last:
                self._last[partition] = at
        self._metrics.record_committed(offsets or {})
