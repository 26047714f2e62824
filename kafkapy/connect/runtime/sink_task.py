"""Runs a sink task with its consumer (Kafka's `WorkerSinkTask`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkapy.common.patterns import java
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.converters.converter import HeaderConverter
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.herder.sink_checks import refuse_wrong_topics
from kafkapy.connect.runtime.errors.errant_reporter import WorkerErrantRecordReporter
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.internal_sink_record import Consumed, InternalSinkRecord
from kafkapy.connect.runtime.sink_commits import SinkCommits
from kafkapy.connect.runtime.sink_records import SinkRecordMaker, place_of
from kafkapy.connect.runtime.sink_task_context import WorkerSinkTaskContext
from kafkapy.connect.runtime.task_metrics import MeasuredSink
from kafkapy.connect.runtime.transformation_chain import TransformationChain
from kafkapy.connect.runtime.worker_task import WorkerTask, close_quietly
from kafkapy.connect.sink import TOPICS_CONFIG, TOPICS_REGEX_CONFIG, SinkTask
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId, StatusBackingStore, TargetState
from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.errors import WakeupException
from kafkapy.structs import OffsetAndMetadata

if TYPE_CHECKING:
    from kafkapy.common.time import Time
    from kafkapy.consumer.kafka_consumer import KafkaConsumer

log = logging.getLogger("kafkapy.connect.runtime")

Offsets = dict[TopicPartition, OffsetAndMetadata]


@dataclass
class SinkTaskParts:
    """The parts of a sink task, which the task closes.

    `records`: converts its records; `reporter`: reports failed records, None: reports are disabled;
    `commit_interval_ms`, `commit_timeout_ms`: pause between commits, and time-out of one; `tracks_topics`: whether to
    record the task's topics (KIP-558); `metrics`: also the listener of the task's state.
    """

    id: ConnectorTaskId
    task: SinkTask
    initial_state: TargetState
    state: ClusterConfigState
    header_converter: HeaderConverter
    chain: TransformationChain
    records: SinkRecordMaker
    retry: RetryWithToleranceOperator
    reporters: Callable[[], Sequence[Any]]
    reporter: WorkerErrantRecordReporter | None
    consumer: KafkaConsumer[bytes, bytes]
    status_store: StatusBackingStore
    commit_interval_ms: float
    commit_timeout_ms: float
    metrics: MeasuredSink
    tracks_topics: bool = True
    time: Time | None = None


class WorkerSinkTask(WorkerTask):
    """Polls, converts and puts records, and commits periodically.

    Invariant: `_batch` has the records that the task has not accepted; the offsets after them are in `_read`, and
    become the `current` ones of `_commits` when the task has accepted them. While `_redelivers`, all partitions are
    paused, and the same batch is put again. All methods except `stop`, `cancel` and `transition_to` run on the task's
    thread.
    """

    def __init__(self, parts: SinkTaskParts) -> None:
        super().__init__(
            parts.id,
            parts.metrics,
            parts.initial_state,
            parts.status_store,
            retry=parts.retry,
            chain=parts.chain,
            reporters=self._make_reporters,
            metrics=parts.metrics,
            time=parts.time,
        )
        self.parts = parts
        self.context = WorkerSinkTaskContext(
            parts.id, parts.state, parts.consumer, parts.reporter, lambda: self.should_pause
        )
        self._task = parts.task
        self._consumer = parts.consumer
        self._measured = parts.metrics
        self._config: Mapping[str, str] = {}
        self._commits = SinkCommits(self, parts, self.time)
        self._batch: list[InternalSinkRecord] = []
        self._read: Offsets = {}
        self._redelivers = False
        self._task_stopped = False
        self._rebalance_error: Exception | None = None
        self._made_reporters: Sequence[Any] = ()

    # -- life

    def initialize(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def stop(self) -> None:
        super().stop()
        self._consumer.wakeup()

    def transition_to(self, state: TargetState) -> None:
        super().transition_to(state)
        self._consumer.wakeup()

    def _make_reporters(self) -> Sequence[Any]:
        self._made_reporters = self.parts.reporters()
        return self._made_reporters

    def _initialize_and_start(self) -> None:
        refuse_wrong_topics(self._config)
        listener = _SinkRebalances(self)
        topics = [name.strip() for name in (self._config.get(TOPICS_CONFIG) or "").split(",")]
        if any(topics):
            self._consumer.subscribe(list(dict.fromkeys(filter(None, topics))), listener=listener)
        else:
            pattern = java(rf"(?:{self._config[TOPICS_REGEX_CONFIG]})\z")
            self._consumer.subscribe(pattern=pattern, listener=listener)
        self._task.initialize(self.context)
        self._task.start(self._config)
        log.info("Sink task %s is initialized and started", self.id)

    def _close(self) -> None:
        try:
            self._task.stop()
        except Exception as error:
            log.warning("Sink task %s cannot be stopped: %s", self.id, error)
        self._task_stopped = True
        close_quietly(self._consumer, "The consumer of a sink task")
        close_quietly(self.parts.header_converter, "A header converter")
        self._measured.record_partition_count(0)

    # -- the loop

    def _execute(self) -> None:
        try:
            while not self.is_stopping:
                self._turn()
        except BaseException:
            try:
                self._close_partitions(list(self._commits.current), lost=False)
            except Exception as error:
                log.error("The offsets of the failing task %s cannot be committed: %s", self.id, error)
            raise
        self._close_partitions(list(self._commits.current), lost=False)

    def _turn(self) -> None:
        try:
            now = self.time.monotonic_ms()
            self._commits.commit_if_due(now, self.context)
            self._poll(max(self._commits.next_ms - now, 0))
        except WakeupException:
            if self.is_stopping:
                return
            if self.should_pause:
                self._pause_all()
                self._on_pause()
                self.context.request_commit()
            elif not self._redelivers:
                self._resume_all()
                self._on_resume()

    def _poll(self, timeout_ms: float) -> None:
        self._rewind()
        wanted, self.context.timeout_ms = self.context.timeout_ms, None
        if wanted is not None and wanted > 0:
            timeout_ms = min(timeout_ms, wanted)
        polled = self._consumer.poll(timeout_ms)
        if self._rebalance_error is not None:
            error, self._rebalance_error = self._rebalance_error, None
            raise error
        self._measured.record_read(sum(map(len, polled.values())))
        for partition, records in polled.items():
            self._convert(partition, records)
        self._measured.record_consumed(self._read)
        self._deliver()

    def _convert(self, partition: TopicPartition, consumed: Sequence[Consumed]) -> None:
        records = self.parts.records
        converted = records.converted
        self._batch.extend(filter(None, map(records.make, consumed)))
        if self.parts.tracks_topics and records.converted > converted:
            self._record_active_topic(partition.topic)
        self._read[partition] = OffsetAndMetadata(consumed[-1].offset + 1)

    def _deliver(self) -> None:
        started = self.time.monotonic_ms()
        try:
            self._task.put(list(self._batch))
            if self.parts.reporter is not None:
                self.parts.reporter.raise_untolerated()
        except RetriableException as error:
            log.error("Task %s cannot take %d records now: %s", self.id, len(self._batch), error)
            if not self._redelivers:
                self._redelivers = True
                self._pause_all()
            return
        except Exception as error:
            log.error("Task %s cannot take %d records: %s", self.id, len(self._batch), error, exc_info=error)
            raise ConnectException("Exiting WorkerSinkTask due to unrecoverable exception.") from error
        self._record_batch(len(self._batch))
        self._measured.record_put(self.time.monotonic_ms() - started)
        self._commits.current.update(self._read)
        self._read.clear()
        self._batch.clear()
        if self._redelivers:
            if not self.should_pause:
                self._resume_all()
            self._redelivers = False

    def _rewind(self) -> None:
        offsets, self.context.offsets = self.context.offsets, {}
        for partition, offset in offsets.items():
            self._consumer.seek(partition, offset)
            self._commits.moved(partition, offset)

    def _pause_all(self) -> None:
        self._consumer.pause(*self._consumer.assignment())

    def _resume_all(self) -> None:
        self._consumer.resume(*(self._consumer.assignment() - self.context.paused))

    # -- commits

    def await_reports(self, partitions: Collection[TopicPartition]) -> None:
        """Wait until the reports of these partitions are durable. Raises ConnectException."""
        if self.parts.reporter is not None:
            self.parts.reporter.await_futures(partitions)
        for reporter in self._made_reporters:
            wait = getattr(reporter, "await_pending", None)
            if wait is not None:
                wait()

    def _close_partitions(self, partitions: Collection[TopicPartition], *, lost: bool) -> None:
        if not lost:
            self._commits.commit(self.time.monotonic_ms(), partitions, closing=True)
        else:
            self._task.close(partitions)
            if self.parts.reporter is not None:
                self.parts.reporter.forget(partitions)
        for partition in partitions:
            self._read.pop(partition, None)
        self._commits.forget(partitions)

    # -- rebalances, inside of the consumer's poll

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """Handle newly assigned partitions."""
        for partition in partitions:
            self._commits.moved(partition, self._consumer.position(partition) or 0)
        self._measured.record_assigned(self._commits.current)
        self._pause_as_before()
        self._measured.record_partition_count(len(self._consumer.assignment()))
        if not partitions:
            return
        if self._rebalance_error is None or isinstance(self._rebalance_error, WakeupException):
            try:
                self._task.open(partitions)
                self._rewind()
            except Exception as error:
                self._rebalance_error = error

    def _pause_as_before(self) -> None:
        redelivered, self._redelivers = self._redelivers, self._redelivers and bool(self._batch)
        if self._redelivers:
            self._pause_all()
            return
        if redelivered:
            self._resume_all()
        self.context.paused &= self._consumer.assignment()
        if self.should_pause:
            self._pause_all()
        elif self.context.paused:
            self._consumer.pause(*self.context.paused)

    def removed(self, partitions: Collection[TopicPartition], lost: bool) -> None:
        """Handle revoked or lost partitions."""
        if self._task_stopped or not partitions:
            return
        try:
            self._close_partitions(partitions, lost=lost)
            self._measured.forget(partitions)
        except Exception as error:
            self._rebalance_error = error
        gone = {(partition.topic, partition.partition) for partition in partitions}
        self._batch = [record for record in self._batch if place_of(record) not in gone]


class _SinkRebalances(ConsumerRebalanceListener):
    def __init__(self, task: WorkerSinkTask) -> None:
        self._of = task

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        self._of.assigned(assigned)

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        self._of.removed(revoked, False)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self._of.removed(lost, True)
