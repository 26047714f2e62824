"""When transactions of a source task end: after each poll, at an interval, or where the connector says (KIP-618)."""

from __future__ import annotations

from kafkapy.common.time import Time
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.connect.source import TransactionBoundary


class BoundaryManager:
    """After each poll (`transaction.boundary=poll`), and the base of the others; for the task's thread."""

    ends_with_batches = False
    """Can the connector end a transaction with a batch?"""

    def begin(self) -> None:
        """The task begins to poll, or goes on after a pause."""

    def commits_on(self, record: SourceRecord) -> bool:
        """Does a transaction end with this record?"""
        return False

    def aborts_on(self, record: SourceRecord) -> bool:
        """Is the transaction given up after this record?"""
        return False

    def commits_batch(self) -> bool:
        """Does a transaction end with this batch?"""
        return True

    def aborts_batch(self) -> bool:
        """Is the transaction given up after this batch?"""
        return False

    def commits_final(self) -> bool:
        """Is what is left committed when the task pauses or ends?"""
        return True


class IntervalBoundaries(BoundaryManager):
    """With the first batch after an interval (`transaction.boundary=interval`)."""

    def __init__(self, interval_ms: float, time: Time) -> None:
        """
        Args:
            interval_ms: Length of a transaction.
            time: The clock.
        """
        self._interval_ms = interval_ms
        self._time = time
        self._last_ms = 0

    def begin(self) -> None:
        self._last_ms = self._time.monotonic_ms()

    def commits_batch(self) -> bool:
        now = self._time.monotonic_ms()
        if now < self._last_ms + self._interval_ms:
            return False
        self._last_ms = now
        return True


class ConnectorBoundaries(BoundaryManager):
    """Where the task asks for it (`transaction.boundary=connector`). What was not asked for at the end is not committed."""

    ends_with_batches = True

    def __init__(self, context: WorkerTransactionContext) -> None:
        """`context`: what the task has asked for."""
        self._context = context

    def commits_on(self, record: SourceRecord) -> bool:
        return self._context.should_commit_on(record)

    def aborts_on(self, record: SourceRecord) -> bool:
        return self._context.should_abort_on(record)

    def commits_batch(self) -> bool:
        return self._context.should_commit_batch()

    def aborts_batch(self) -> bool:
        return self._context.should_abort_batch()

    def commits_final(self) -> bool:
        return self._context.should_commit_batch()


def boundaries_of(
    boundary: TransactionBoundary, interval_ms: float, context: WorkerTransactionContext | None, time: Time
) -> BoundaryManager:
    """Return the manager of a task.

    Args:
        boundary: `transaction.boundary`.
        interval_ms: `transaction.boundary.interval.ms`, or the worker's interval of commits.
        context: What the task asks for; needed for `connector`.
        time: The clock.
    """
    if boundary is TransactionBoundary.INTERVAL:
        return IntervalBoundaries(interval_ms, time)
    if boundary is TransactionBoundary.CONNECTOR:
        assert context is not None
        return ConnectorBoundaries(context)
    return BoundaryManager()
