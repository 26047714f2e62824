"""What the cleaner knows of transactions while it walks through a log (Kafka's `CleanedTransactionMetadata`)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from kafkapy.log.files.file_batches import Batch
from kafkapy.log.index.transaction_index import AbortedTxn, TransactionIndex
from kafkapy.record.control_records import ControlRecordType
from kafkapy.record.record_batch import RecordBatch


class CleanedTransactionMetadata:
    """Says of each batch whether its transaction was aborted, and of each marker whether it may go.

    A marker stays until every batch of its transaction is gone: as long as one was seen on this walk. Invariant:
    batches are shown in the order of the log; `cleaned_index`, if there is one, gets the aborted transactions whose
    markers stay.
    """

    def __init__(self) -> None:
        self.cleaned_index: TransactionIndex | None = None
        """The transaction index of the segment that is being written."""
        self._aborted: list[tuple[int, AbortedTxn]] = []  # a heap by first offset
        self._known: set[AbortedTxn] = set()
        self._ongoing_aborted: dict[int, AbortedTxn] = {}
        self._with_data: set[int] = set()  # of the ongoing aborted ones, those with a batch seen
        self._ongoing_committed: set[int] = set()

    def add_aborted_transactions(self, transactions: Iterable[AbortedTxn]) -> None:
        """Transactions of the part of the log that is walked next."""
        for transaction in transactions:
            if transaction not in self._known:
                self._known.add(transaction)
                heapq.heappush(self._aborted, (transaction.first_offset, transaction))

    def on_control_batch_read(self, batch: RecordBatch) -> bool:
        """True if the marker can be discarded. Raises `OSError` (writing the index)."""
        self._consume_up_to(batch.last_offset)
        record = next(batch.records(), None)
        if record is None:
            return True  # a marker that was cleaned before
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
        """True if the batch belongs to an aborted transaction."""
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
