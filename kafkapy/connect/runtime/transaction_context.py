"""Transaction boundaries requested by a source task (Kafka's `WorkerTransactionContext`, KIP-618)."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from kafkapy.connect.records import SourceRecord


class WorkerTransactionContext:
    """Stores a task's requests until the worker sends the record or batch.

    Invariant: records in `_committable` and `_abortable` are identified by `id()`, and referenced so that no other
    record gets their id. A record that two successive polls have not returned is removed, so that their number is
    bounded by the requests during two polls; `_waiting` has those that one poll has not returned. Methods can be
    called from any thread.

    Example:
        >>> context = WorkerTransactionContext()
        >>> context.commit_transaction()
        >>> context.should_commit_batch(), context.should_commit_batch()
        (True, False)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._committable: dict[int, SourceRecord] = {}
        self._abortable: dict[int, SourceRecord] = {}
        self._commit_batch = False
        self._abort_batch = False
        self._waiting: set[int] = set()

    def commit_transaction(self, record: SourceRecord | None = None) -> None:
        """Commit after this record; without one after the batch."""
        with self._lock:
            if record is None:
                self._commit_batch = True
            else:
                self._committable[id(record)] = record

    def abort_transaction(self, record: SourceRecord | None = None) -> None:
        """Abort after this record; without one after the batch."""
        with self._lock:
            if record is None:
                self._abort_batch = True
            else:
                self._abortable[id(record)] = record

    def polled(self, records: Iterable[SourceRecord]) -> None:
        """Remove records that neither this poll nor the previous one has returned: they are never sent.

        Args:
            records: The records returned by the poll.
        """
        returned = {id(record) for record in records}
        with self._lock:
            missing = (self._committable.keys() | self._abortable.keys()) - returned
            for key in missing & self._waiting:
                self._committable.pop(key, None)
                self._abortable.pop(key, None)
            self._waiting = missing - self._waiting

    def should_commit_batch(self) -> bool:
        """Return whether a commit was requested since the last call. Raises RuntimeError if an abort was also
        requested."""
        with self._lock:
            self._check_batch()
            asked, self._commit_batch = self._commit_batch, False
            return asked

    def should_abort_batch(self) -> bool:
        """Return whether an abort was requested since the last call. Raises RuntimeError if a commit was also
        requested."""
        with self._lock:
            self._check_batch()
            asked, self._abort_batch = self._abort_batch, False
            return asked

    def should_commit_on(self, record: SourceRecord) -> bool:
        """Return whether a commit was requested after this record. Raises RuntimeError if an abort was also
        requested."""
        with self._lock:
            self._check_record(record)
            return self._committable.pop(id(record), None) is not None

    def should_abort_on(self, record: SourceRecord) -> bool:
        """Return whether an abort was requested after this record. Raises RuntimeError if a commit was also
        requested."""
        with self._lock:
            self._check_record(record)
            return self._abortable.pop(id(record), None) is not None

    def _check_batch(self) -> None:
        if self._commit_batch and self._abort_batch:
            raise RuntimeError("Connector requested both commit and abort of same transaction")

    def _check_record(self, record: SourceRecord) -> None:
        if id(record) in self._committable and id(record) in self._abortable:
            raise RuntimeError(
                "Connector requested both commit and abort of same record against topic/partition "
                f"{record.topic}/{record.kafka_partition}"
            )
