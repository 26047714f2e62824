"""Tracks transactions while the cleaner reads a log (Kafka's `CleanedTransactionMetadata`)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from kafkapy.log.files.file_batches import Batch
from kafkapy.log.index.transaction_index import AbortedTxn, TransactionIndex
from kafkapy.record.control_records import ControlRecordType
from kafkapy.record.record_batch import RecordBatch


class CleanedTransactionMetadata:
    """Decides for each batch whether its transaction was aborted, and for each marker whether it can be removed.

    A marker remains while any batch of its transaction was seen during this cleaning. Invariant: batches are passed in
    log order. `cleaned_index`, if set, receives the aborted transactions whose markers remain.
    """

    def __init__(self) -> None:
        self.cleaned_index: TransactionIndex | None = None
        """The transaction index of the segment that is being written."""
        self._aborted: list[tuple[int, AbortedTxn]] = []  # a heap ordered by first offset
        self._known: set[AbortedTxn] = set()
        self._ongoing_aborted: dict[int, AbortedTxn] = {}
        self._with_data: set[int] = set()  # ongoing aborted transactions with at least one batch seen
        self._ongoing_committed: set[int] = set()

    def add_aborted_transactions(self, transactions: Iterable[AbortedTxn]) -> None:
        """Add the transactions of the part of the log that is read next."""
        for transaction in transactions:
            if transaction not in self._known:
                self._known.add(transaction)
                heapq.heappush(self._aborted, (transaction.first_offset, transaction))

    def on_control_batch_read(self, batch: RecordBatch) -> bool:
        """Return whether the marker can be discarded. Raises `OSError` (writing the index)."""
        self._consume_up_to(batch.last_offset)
        record = next(batch.records(), None)
        if record is None:
            return True  # a marker whose data was cleaned earlier
        kind = ControlRecordType.parse(record.key)
        producer_id = batch.producer_id
        if kind == ControlRecordType.ABORT:
            transaction = self._ongoing_aborted.pop(producer_id, None)
            if transaction is not None and producer_id in self._with_data:
                self._with_data.remove(producer_id)
                if self.cleaned_index is not None:
                    self.cleaned_index.append(transaction)
                return False
            return True
        if kind == ControlRecordType.COMMIT:
            if producer_id in self._ongoing_committed:
                self._ongoing_committed.remove(producer_id)
                return False
            return True
        return False

    def on_batch_read(self, batch: Batch) -> bool:
        """Return whether the batch belongs to an aborted transaction."""
        self._consume_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._ongoing_aborted:
            self._with_data.add(batch.producer_id)
            return True
        self._ongoing_committed.add(batch.producer_id)
        return False

    def _consume_up_to(self, offset: int) -> None:
        while self._aborted and self._aborted[0][0] <= offset:
            _, transaction = heapq.heappop(self._aborted)
            self._ongoing_aborted.setdefault(transaction.producer_id, transaction)
