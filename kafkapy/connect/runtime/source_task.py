"""A source task without exactly-once (Kafka's `WorkerSourceTask`): offsets are committed after their records were
written."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING

from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.abstract_source_task import AbstractWorkerSourceTask, SourceTaskParts
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.stage import Stage
from kafkapy.connect.runtime.source_columns import SourceColumns
from kafkapy.connect.runtime.source_conversion import OutgoingRecord
from kafkapy.connect.runtime.submitted_records import CommittableOffsets, SubmittedRecord, SubmittedRecords

if TYPE_CHECKING:
    from kafkapy.producer.future import BatchMetadata, RecordMetadata

log = logging.getLogger("kafkapy.connect.runtime")

_NOTHING = CommittableOffsets({})


class WorkerSourceTask(AbstractWorkerSourceTask):
    """Invariant: `_committable` has the offsets whose records were written and that were not passed to the writer yet,
    under `_offsets_lock`; the task's thread adds to them and the committer's removes them. `_send_error` is the first
    failed write, which fails the task at its next poll or record.
    """

    def __init__(self, parts: SourceTaskParts) -> None:
        super().__init__(parts)
        self._submitted = SubmittedRecords()
        self._offsets_lock = threading.Lock()
        self._committable = _NOTHING
        self._send_error: BaseException | None = None

    def _prepare_to_initialize(self) -> None:
        pass

    def _prepare_to_enter_send_loop(self) -> None:
        pass

    def _begin_send_iteration(self) -> None:
        self._update_committable()

    def _prepare_to_poll(self) -> None:
        self._raise_send_error()

    def _polled(self, records: Sequence[SourceRecord]) -> None:
        pass

    def _record_dropped(self, record: SourceRecord) -> None:
        self._commit_task_record(record, None)

    def _prepare_to_send(self, record: SourceRecord, outgoing: OutgoingRecord) -> SubmittedRecord | None:
        self._raise_send_error()
        return self._submitted.submit(record.source_partition, record.source_offset)

    def _record_dispatched(self, record: SourceRecord) -> None:
        pass

    def _batch_dispatched(self) -> None:
        pass

    def _record_sent(self, record: SourceRecord, metadata: RecordMetadata) -> None:
        self._commit_task_record(record, metadata)

    def _send_failed(
        self, context: ProcessingContext, synchronous: bool, topic: str, record: SourceRecord, error: BaseException
    ) -> None:
        if synchronous:
            raise ConnectException("Unrecoverable exception trying to send") from error
        if self._operator.tolerates_all:
            self._operator.execute_failed(context, Stage.KAFKA_PRODUCE, WorkerSourceTask, error)
            self._commit_task_record(record, None)
        elif self._send_error is None:
            self._send_error = error

    def _final_offset_commit(self, failed: bool) -> None:
        self._submitted.await_all_messages(self.parts.flush_timeout_ms)
        self._update_committable()
        self.commit_offsets()

    # -- many records at once

    def _send_records(self) -> bool:
        """Send records as columns, if the task need not be told of each and no errors are tolerated; else one by one."""
        if (self._tells_records and not self._tells_runs) or self._operator.tolerates_all:
            return super()._send_records()
        records = self._to_send or ()
        self._record_batch(len(records))
        columns: SourceColumns | None = None
        dropped: list[SourceRecord] = []  # since the columns began: they are dropped again if these are sent again
        for index, before in enumerate(records):
            try:
                context = ProcessingContext(before)
                outgoing = self._conversion.convert(context, self._transforms.apply(context, before))
            except Exception:
                if columns is not None:
                    self._send_columns(columns)  # records before the error are delivered, as if sent one by one
                raise
            if outgoing is None:
                dropped.append(before)
                continue
            if columns is None or not columns.takes(outgoing):
                if columns is not None and not self._send_columns(columns):
                    self._to_send = records[columns.first :]
                    return False
                self._columns_dropped(dropped)
                dropped = []
                columns = SourceColumns(outgoing, index)
            columns.add(before, outgoing)
        if columns is not None and not self._send_columns(columns):
            self._to_send = records[columns.first :]
            return False
        self._columns_dropped(dropped)
        self._to_send = None
        return True

    def _columns_dropped(self, records: Sequence[SourceRecord]) -> None:
        self._count_dropped(len(records))
        for record in records:
            self._record_dropped(record)

    def _send_columns(self, columns: SourceColumns) -> bool:
        """Send columns; return False if they must be sent later."""
        self._raise_send_error()
        submitted = [self._submitted.submit(*run) for run in columns.runs]
        topic = columns.topic
        try:
            if self.parts.topics is not None:
                self.parts.topics.ensure(topic)
            sent = self._producer.send_many(*columns.arguments)
        except Exception as error:
            for run in submitted:
                run.drop()
            if not getattr(error, "retriable", isinstance(error, RetriableException)):
                if isinstance(error, ConnectException):
                    raise
                raise ConnectException("Unrecoverable exception trying to send") from error
            log.warning("Task %s could not send to %s and tries again: %s", self.id, topic, error)
            return False
        told = columns.records if self._tells_runs else ()
        sent.add_callback(lambda batches: self._columns_sent(submitted, topic, columns.count, told, batches))
        sent.add_errback(lambda error: self._columns_lost(topic, error))
        return True

    def _columns_sent(
        self,
        submitted: Sequence[SubmittedRecord],
        topic: str,
        count: int,
        told: Sequence[SourceRecord],
        batches: Sequence[BatchMetadata],
    ) -> None:
        self._record_written(count)
        if told:
            try:
                self._task.commit_records(told, batches)
            except Exception as error:
                log.error("commit_records of task %s has failed", self.id, exc_info=error)
        for run in submitted:
            run.ack()
        if self.parts.tracks_topics:
            self._record_active_topic(topic)

    def _columns_lost(self, topic: str, error: BaseException) -> None:
        if not self._producer_closed:
            log.error("Task %s could not send records to %s: %s", self.id, topic, error)
        if self._send_error is None:
            self._send_error = error

    # -- from the committer's thread

    @property
    def should_commit_offsets(self) -> bool:
        return not self.is_failed

    def commit_offsets(self) -> bool:
        """Write the offsets of all written records, and call the task's `commit`. Return whether that succeeded."""
        started = self.time.monotonic_ms()
        deadline = started + self.parts.flush_timeout_ms
        with self._offsets_lock:
            offsets, self._committable = self._committable, _NOTHING
        if offsets.committable:
            log.info("Committing offsets of task %s for %d acknowledged messages", self.id, offsets.committable)
        writer = self.parts.writer
        for partition, offset in offsets.offsets.values():
            writer.offset(partition, offset)
        try:
            if writer.begin_flush(deadline - self.time.monotonic_ms()) and not self._flush(deadline):
                self._record_commit(self.time.monotonic_ms() - started, ConnectException("Failed to flush offsets"))
                return False
        except TimeoutError as error:
            log.warning("Task %s waits for an earlier flush of offsets; it commits later: %s", self.id, error)
            self._record_commit(self.time.monotonic_ms() - started, error)
            return False
        self._record_commit(self.time.monotonic_ms() - started)
        self._commit_source_task()
        return True

    def _flush(self, deadline: float) -> bool:
        writer = self.parts.writer
        written = writer.flush(self._flushed)
        if written is None:
            writer.cancel_flush()
            return False
        try:
            written.result(max(0.0, deadline - self.time.monotonic_ms()) / 1000)
        except (TimeoutError, FutureTimeoutError):
            log.error("The offsets of task %s were not written in time; newer ones are at the next commit", self.id)
        except Exception as error:
            log.error("The offsets of task %s cannot be written: %s", self.id, error)
        else:
            return True
        writer.cancel_flush()
        return False

    def _flushed(self, error: BaseException | None) -> None:
        if error is not None:
            log.error("The offsets of task %s cannot be written: %s", self.id, error)

    def _update_committable(self) -> None:
        newer = self._submitted.committable_offsets()
        if newer.is_empty and self._committable is _NOTHING:
            return
        with self._offsets_lock:
            self._committable = self._committable.updated_with(newer)

    def _raise_send_error(self) -> None:
        if self._send_error is not None:
            raise ConnectException("Unrecoverable exception from producer send callback") from self._send_error
