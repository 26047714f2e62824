"""A source task without exactly-once (Kafka's `WorkerSourceTask`): offsets are committed after the records they stand for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING

from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.abstract_source_task import AbstractWorkerSourceTask, OutgoingRecord, SourceTaskParts
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.stage import Stage
from kafkapy.connect.runtime.submitted_records import CommittableOffsets, SubmittedRecord, SubmittedRecords

if TYPE_CHECKING:
    from kafkapy.producer.future import RecordMetadata

log = logging.getLogger("kafkapy.connect.runtime")

_NOTHING = CommittableOffsets({})


class WorkerSourceTask(AbstractWorkerSourceTask):
    """Invariant: `_committable` has the offsets whose records are in Kafka and that are not yet with the writer, under
    `_offsets_lock`; the task's thread adds to them and the committer's takes them. `_send_error` is the first record that
    the producer has lost: the task fails at its next poll or record.
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

    # -- from the committer's thread

    @property
    def should_commit_offsets(self) -> bool:
        return not self.is_failed

    def commit_offsets(self) -> bool:
        """Write the offsets of all records that are in Kafka, and tell the task. Returns whether that worked."""
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
