"""Common base of source tasks with and without exactly-once (Kafka's `AbstractWorkerSourceTask`): poll, transform,
convert, send."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import RetriableException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.connector_offset_store import ConnectorOffsetStore
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.offset_storage import OffsetStorageWriter, StoredOffsetReader
from kafkapy.connect.runtime.source_conversion import OutgoingRecord, SourceConversion
from kafkapy.connect.runtime.submitted_records import SubmittedRecord
from kafkapy.connect.runtime.task_contexts import WorkerSourceTaskContext
from kafkapy.connect.runtime.topic_creation import TopicCreation
from kafkapy.connect.runtime.transformation_chain import TransformationChain
from kafkapy.connect.runtime.worker_task import TaskMetrics, WorkerTask, close_quietly
from kafkapy.connect.source import SourceTask
from kafkapy.connect.storage import ConnectorTaskId, StatusBackingStore, TargetState, TaskStatusListener
from kafkapy.producer.future import BatchMetadata, RecordMetadata
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import TopicPartition

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.common.time import Time
    from kafkapy.producer.kafka_producer import KafkaProducer

log = logging.getLogger("kafkapy.connect.runtime")

_SEND_FAILED_BACKOFF_S = 0.1
_CLOSE_S = 30.0


@dataclass
class SourceTaskParts:
    """The parts of a source task, which the task closes.

    `producer`, `admin`: clients of this task; `topics`: creates topics, None: the broker does; `offset_store`: the
    store of `writer` and `reader`; `flush_timeout_ms`: time-out of a commit; `tracks_topics`: whether to record the
    task's topics (KIP-558).
    """

    id: ConnectorTaskId
    task: SourceTask
    listener: TaskStatusListener
    initial_state: TargetState
    key_converter: Converter
    value_converter: Converter
    header_converter: HeaderConverter
    chain: TransformationChain
    retry: RetryWithToleranceOperator
    reporters: Callable[[], Sequence[Any]]
    context: WorkerSourceTaskContext
    producer: KafkaProducer[bytes, bytes]
    admin: AdminClient | None
    topics: TopicCreation | None
    reader: StoredOffsetReader
    writer: OffsetStorageWriter
    offset_store: ConnectorOffsetStore
    status_store: StatusBackingStore
    flush_timeout_ms: float
    flush_interval_ms: float
    tracks_topics: bool = True
    metrics: TaskMetrics | None = None
    time: Time | None = None


class AbstractWorkerSourceTask(WorkerTask):
    """Invariant: `_to_send` has the records of the last poll that were not passed to the producer yet; the next poll
    is after it is None. The producer calls callbacks on its own thread."""

    def __init__(self, parts: SourceTaskParts) -> None:
        super().__init__(
            parts.id,
            parts.listener,
            parts.initial_state,
            parts.status_store,
            retry=parts.retry,
            chain=parts.chain,
            reporters=parts.reporters,
            metrics=parts.metrics,
            time=parts.time,
        )
        self.parts = parts
        self._task = parts.task
        self._operator = parts.retry
        self._transforms = parts.chain
        self._conversion = SourceConversion(
            parts.key_converter, parts.value_converter, parts.header_converter, parts.retry
        )
        self._producer = parts.producer
        self._config: Mapping[str, str] = {}
        self._to_send: Sequence[SourceRecord] | None = None
        self._started = False
        self._producer_closed = False
        kind = type(parts.task)
        self._tells_runs = kind.commit_records is not SourceTask.commit_records
        self._tells_records = self._tells_runs or kind.commit_record is not SourceTask.commit_record

    # -- hooks of subclasses

    @abstractmethod
    def _prepare_to_initialize(self) -> None:
        """Called before the task is initialized."""

    @abstractmethod
    def _prepare_to_enter_send_loop(self) -> None:
        """Called before the first poll, and before the first one after a pause."""

    @abstractmethod
    def _begin_send_iteration(self) -> None:
        """Called before each iteration of the loop."""

    @abstractmethod
    def _prepare_to_poll(self) -> None:
        """Called before each poll. An error fails the task."""

    @abstractmethod
    def _polled(self, records: Sequence[SourceRecord]) -> None:
        """Called after each poll."""

    @abstractmethod
    def _record_dropped(self, record: SourceRecord) -> None:
        """Called for a record dropped by a transform or a tolerated error."""

    @abstractmethod
    def _prepare_to_send(self, record: SourceRecord, outgoing: OutgoingRecord) -> SubmittedRecord | None:
        """Called before a record is passed to the producer."""

    @abstractmethod
    def _record_dispatched(self, record: SourceRecord) -> None:
        """Called after the producer has accepted a record."""

    @abstractmethod
    def _batch_dispatched(self) -> None:
        """Called after all records of a poll were passed to the producer, or a poll has returned none."""

    @abstractmethod
    def _record_sent(self, record: SourceRecord, metadata: RecordMetadata) -> None:
        """Called on the producer's thread after a record was written."""

    @abstractmethod
    def _send_failed(
        self, context: ProcessingContext, synchronous: bool, topic: str, record: SourceRecord, error: BaseException
    ) -> None:
        """Called after a record was not written. `synchronous`: on the task's thread, because the producer has not
        accepted it."""

    @abstractmethod
    def _final_offset_commit(self, failed: bool) -> None:
        """Called as the last step before the task stops."""

    # -- life

    def initialize(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def _initialize_and_start(self) -> None:
        self._prepare_to_initialize()
        self.parts.offset_store.start()
        self._started = True
        self._task.initialize(self.parts.context)
        self._task.start(self._config)
        log.info("Source task %s is initialized and started", self.id)

    def cancel(self) -> None:
        super().cancel()
        self.parts.reader.close()
        # The task may be blocked in the producer. Closing the producer may also block, so another thread does it.
        import threading

        threading.Thread(target=self._close_producer, args=(0.0,), name=f"task-cancel-{self.id}", daemon=True).start()

    def _close(self) -> None:
        if self._started:
            try:
                self._task.stop()
            except Exception as error:
                log.warning("Source task %s cannot be stopped: %s", self.id, error)
        self._close_producer(_CLOSE_S)
        parts = self.parts
        if parts.admin is not None:
            close_quietly(parts.admin, "The admin client of a source task")
        parts.reader.close()
        close_quietly(parts.offset_store, "The offset store of a source task")
        close_quietly(parts.header_converter, "A header converter")

    def _close_producer(self, timeout_s: float) -> None:
        self._producer_closed = True
        try:
            self._producer.close(timeout_s)
        except Exception as error:
            log.warning("The producer of task %s cannot be closed: %s", self.id, error)

    # -- the loop

    def _execute(self) -> None:
        try:
            self._prepare_to_enter_send_loop()
            while not self.is_stopping:
                self._turn()
        except BaseException:
            if not self.is_cancelled:
                try:
                    self._final_offset_commit(True)
                except Exception as error:
                    log.error("The offsets of the failing task %s cannot be committed: %s", self.id, error)
            raise
        self._final_offset_commit(False)

    def _turn(self) -> None:
        self._begin_send_iteration()
        if self.should_pause:
            self._on_pause()
            if self._await_unpause():
                self._on_resume()
                self._prepare_to_enter_send_loop()
            return
        if self._to_send is None:
            self._prepare_to_poll()
            self._to_send = self._poll()
            self._polled(self._to_send or ())
            if self._to_send is None:
                self._batch_dispatched()
                return
        if not self._send_records():
            self._sleep_unless_stopping(_SEND_FAILED_BACKOFF_S)

    def _poll(self) -> Sequence[SourceRecord] | None:
        started = self.time.monotonic_ms()
        try:
            records = self._task.poll()
        except RetriableException as error:
            log.warning("Task %s could not poll and is asked again: %s", self.id, error)
            return None
        except KafkaError as error:
            if not getattr(error, "retriable", False):
                raise
            log.warning("Task %s could not poll and is asked again: %s", self.id, error)
            return None
        if records is not None:
            self._record_poll(len(records), self.time.monotonic_ms() - started)
        return records

    def _send_records(self) -> bool:
        """Pass `_to_send` to the producer; return False if the rest must be retried after a pause."""
        records = self._to_send or ()
        self._record_batch(len(records))
        dropped = 0
        for index, before in enumerate(records):
            context = ProcessingContext(before)
            outgoing = self._conversion.convert(context, self._transforms.apply(context, before))
            if outgoing is None or context.failed:
                self._record_dropped(before)
                dropped += 1
                continue
            submitted = self._prepare_to_send(before, outgoing)
            try:
                self._send(context, before, outgoing, submitted)
            except RetriableException as error:
                log.warning("Task %s could not send to %s and tries again: %s", self.id, outgoing.topic, error)
                self._to_send = records[index:]
                if submitted is not None:
                    submitted.drop()
                self._count_dropped(dropped)
                return False
            self._record_dispatched(before)
        self._to_send = None
        self._count_dropped(dropped)
        self._batch_dispatched()
        return True

    def _send(
        self,
        context: ProcessingContext,
        before: SourceRecord,
        outgoing: OutgoingRecord,
        submitted: SubmittedRecord | None,
    ) -> None:
        topic = outgoing.topic
        if self.parts.topics is not None:
            self.parts.topics.ensure(topic)
        try:
            if outgoing.key is None and outgoing.value is None:
                self._send_empty(context, before, outgoing, submitted)
                return
            sent = self._producer.send(
                topic, outgoing.value, outgoing.key, outgoing.headers, outgoing.partition, outgoing.timestamp
            )
        except Exception as error:
            if getattr(error, "retriable", False):
                raise RetriableException(str(error)) from error
            self._send_failed(context, True, topic, before, error)
            return
        sent.add_callback(lambda metadata: self._acknowledged(before, submitted, topic, metadata))
        sent.add_errback(lambda error: self._refused(context, before, submitted, topic, error))

    def _send_empty(
        self,
        context: ProcessingContext,
        before: SourceRecord,
        outgoing: OutgoingRecord,
        submitted: SubmittedRecord | None,
    ) -> None:
        """Send a record without key and value, which `send` does not accept."""
        headers = None if outgoing.headers is None else [outgoing.headers]
        times = None if outgoing.timestamp is None else [outgoing.timestamp]
        topic = outgoing.topic
        sent = self._producer.send_many(topic, [None], None, outgoing.partition, headers, times)
        sent.add_callback(lambda found: self._acknowledged(before, submitted, topic, _metadata_of(found[0])))
        sent.add_errback(lambda error: self._refused(context, before, submitted, topic, error))

    def _acknowledged(
        self, record: SourceRecord, submitted: SubmittedRecord | None, topic: str, metadata: RecordMetadata
    ) -> None:
        self._record_written(1)
        self._record_sent(record, metadata)
        if submitted is not None:
            submitted.ack()
        if self.parts.tracks_topics:
            self._record_active_topic(topic)

    def _refused(
        self,
        context: ProcessingContext,
        record: SourceRecord,
        submitted: SubmittedRecord | None,
        topic: str,
        error: BaseException,
    ) -> None:
        if not self._producer_closed:
            log.error("Task %s could not send a record to %s: %s", self.id, topic, error)
        self._send_failed(context, False, topic, record, error)
        if self._operator.tolerates_all:
            self._count_dropped(1)
            if submitted is not None:
                submitted.ack()

    # -- callbacks of the task

    def _commit_task_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if not self._tells_records:
            return
        try:
            self._task.commit_record(record, metadata)
        except Exception as error:
            log.error("commit_record of task %s has failed", self.id, exc_info=error)

    def _commit_source_task(self) -> None:
        try:
            self._task.commit()
        except Exception as error:
            log.error("commit of task %s has failed", self.id, exc_info=error)

    # -- metrics

    def _record_poll(self, size: int, duration_ms: float) -> None:
        record = getattr(self.metrics, "record_poll", None)
        if record is not None:
            record(size, duration_ms)

    def _count_dropped(self, count: int) -> None:
        record = getattr(self.metrics, "record_dropped", None)
        if record is not None and count:
            record(count)

    def _record_written(self, count: int) -> None:
        record = getattr(self.metrics, "record_write", None)
        if record is not None:
            record(count)


def _metadata_of(batch: BatchMetadata) -> RecordMetadata:
    partition = TopicPartition(batch.topic, batch.partition)
    return RecordMetadata(batch.topic, batch.partition, partition, batch.offset, batch.timestamp, None, -1, -1, -1)
