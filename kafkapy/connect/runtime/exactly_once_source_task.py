"""A source task with exactly-once (KIP-618; Kafka's `ExactlyOnceWorkerSourceTask`): records and their offsets are in one
transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.task_requests import ExactlyOnceChecks
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.abstract_source_task import AbstractWorkerSourceTask, SourceTaskParts
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.source_conversion import OutgoingRecord
from kafkapy.connect.runtime.submitted_records import SubmittedRecord
from kafkapy.connect.runtime.transaction_boundaries import BoundaryManager
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.protocol.errors import Errors, KafkaError

if TYPE_CHECKING:
    from kafkapy.producer.future import RecordMetadata

log = logging.getLogger("kafkapy.connect.runtime")


class ExactlyOnceWorkerSourceTask(AbstractWorkerSourceTask):
    """Invariant: the writer has an offset only if its record is part of the open transaction, or of one that was
    committed or, at the task's request, aborted. `_open`: there is a transaction; only the task's thread begins and
    ends it. `_committable` has the records for the task's `commit_record` after the commit, under `_records_lock`.
    """

    def __init__(
        self,
        parts: SourceTaskParts,
        boundaries: BoundaryManager,
        checks: ExactlyOnceChecks,
        transactions: WorkerTransactionContext | None = None,
    ) -> None:
        """
        Args:
            parts: The task's parts; the producer has a transactional id.
            boundaries: Determines when a transaction ends.
            checks: Run before and after the producer fences earlier tasks.
            transactions: The task's requests for transactions. Default: none.
        """
        super().__init__(parts)
        self._boundaries = boundaries
        self._checks = checks
        self._transactions = transactions
        self._open = False
        self._in_transaction = 0
        self._records_lock = threading.Lock()
        self._committable: list[tuple[SourceRecord, RecordMetadata | None]] = []

    def _prepare_to_initialize(self) -> None:
        self._checks.before_producer()
        if self.is_stopping:
            return  # its producer would fence that of a newer task
        self._producer.init_transactions()
        self._checks.after_producer()

    def _prepare_to_enter_send_loop(self) -> None:
        self._boundaries.begin()

    def _begin_send_iteration(self) -> None:
        pass

    def _prepare_to_poll(self) -> None:
        pass

    def _polled(self, records: Sequence[SourceRecord]) -> None:
        if self._transactions is not None:
            self._transactions.polled(records)

    def _record_dropped(self, record: SourceRecord) -> None:
        self._tell_later(record, None)
        self._end_on(record)

    def _prepare_to_send(self, record: SourceRecord, outgoing: OutgoingRecord) -> SubmittedRecord | None:
        if outgoing.topic == self.parts.offset_store.primary_topic:
            # Reading the offsets would wait for a transaction that ends only after that read.
            raise ConnectException(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled"
            )
        self._begin()
        return None

    def _record_dispatched(self, record: SourceRecord) -> None:
        self._in_transaction += 1
        self.parts.writer.offset(record.source_partition, record.source_offset)
        self._end_on(record)

    def _batch_dispatched(self) -> None:
        boundaries = self._boundaries
        if boundaries.aborts_batch():
            self._abort()
            self._commit()
        elif boundaries.commits_batch():
            self._commit()

    def _record_sent(self, record: SourceRecord, metadata: RecordMetadata) -> None:
        self._tell_later(record, metadata)

    def _send_failed(
        self, context: ProcessingContext, synchronous: bool, topic: str, record: SourceRecord, error: BaseException
    ) -> None:
        if synchronous:
            raise self._wrapped("Unrecoverable exception trying to send", error) from error
        # later errors are reported by the commit

    def _final_offset_commit(self, failed: bool) -> None:
        if not failed:
            self._commit_final()

    def _on_pause(self) -> None:
        super()._on_pause()
        self._commit_final()  # an open transaction would expire

    # -- transactions

    def _commit_final(self) -> None:
        boundaries = self._boundaries
        if boundaries.ends_with_batches and boundaries.aborts_batch():
            self._abort()
            self._commit()
        elif boundaries.commits_final():
            self._commit()

    def _end_on(self, record: SourceRecord) -> None:
        if self._boundaries.aborts_on(record):
            self._abort()
            self._commit()  # the offsets: else the records would be read again
        elif self._boundaries.commits_on(record):
            self._commit()

    def _begin(self) -> None:
        if not self._open:
            self._producer.begin_transaction()
            self._open = True

    def _abort(self) -> None:
        if not self._open:
            log.warning("Task %s aborts a transaction that is empty", self.id)
            return
        log.info("Task %s aborts its transaction", self.id)
        self._producer.abort_transaction()
        self._open = False
        self._in_transaction = 0

    def _commit(self) -> None:
        started = self.time.monotonic_ms()
        try:
            self._commit_offsets()
        except Exception as error:
            self._record_commit(self.time.monotonic_ms() - started, error)
            self.parts.writer.cancel_flush()
            text = f"Failed to flush offsets and/or records for task {self.id}"
            raise self._wrapped(text, error) from error
        self._record_commit(self.time.monotonic_ms() - started)
        with self._records_lock:
            committed, self._committable = self._committable, []
        for record, metadata in committed:
            self._commit_task_record(record, metadata)
        self._commit_source_task()

    def _commit_offsets(self) -> None:
        flushes = self.parts.writer.begin_flush()
        if not flushes and not self._open:
            return
        self._begin()
        errors: list[BaseException] = []
        if flushes:
            self.parts.writer.flush(lambda error: None if error is None else errors.append(error))
        if not errors:  # else records would be committed without their offsets
            self._open = False
            self._producer.commit_transaction()
            self._count_transaction()
        if errors:
            raise errors[0]

    def _count_transaction(self) -> None:
        size, self._in_transaction = self._in_transaction, 0
        record = getattr(self.metrics, "record_transaction", None)
        if record is not None:
            record(size)

    def _tell_later(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        if self._tells_records:
            with self._records_lock:
                self._committable.append((record, metadata))

    def _wrapped(self, text: str, error: BaseException) -> ConnectException:
        causes = (error, error.__cause__)
        if not any(isinstance(each, KafkaError) and each.error is Errors.INVALID_PRODUCER_EPOCH for each in causes):
            return ConnectException(text)
        return ConnectException(
            f"The task {self.id} was unable to finish writing records to Kafka before its producer transaction expired. It "
            "may be necessary to reconfigure this connector in order for it to run healthily with exactly-once support. "
            "Options for this include: tune the connector's producer configuration for higher throughput, increase the "
            "transaction timeout for the connector's producers, decrease the offset commit interval (if using "
            "interval-based transaction boundaries), or use the 'poll' transaction boundary (if the connector is not "
            "already configured to use it)."
        )
