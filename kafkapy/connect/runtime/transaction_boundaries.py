"""Transaction boundaries of a source task: after each poll, at an interval, or defined by the connector (KIP-618)."""

from __future__ import annotations

from kafkapy.common.time import Time
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.connect.source import TransactionBoundary


class BoundaryManager:
    """Ends transactions after each poll (`transaction.boundary=poll`); base of the others. Used on the task's
    thread."""

    ends_with_batches = False
    """Whether the connector can end a transaction with a batch."""

    def begin(self) -> None:
        """Called when the task starts to poll, or resumes after a pause."""

    def commits_on(self, record: SourceRecord) -> bool:
        """Return whether a transaction ends with this record."""
        return False

    def aborts_on(self, record: SourceRecord) -> bool:
        """Return whether the transaction is aborted after this record."""
        return False

    def commits_batch(self) -> bool:
        """Return whether a transaction ends with this batch."""
        return True

    def aborts_batch(self) -> bool:
        """Return whether the transaction is aborted after this batch."""
        return False

    def commits_final(self) -> bool:
        """Return whether the open transaction is committed when the task pauses or ends."""
        return True


class IntervalBoundaries(BoundaryManager):
    """Ends transactions with the first batch after an interval (`transaction.boundary=interval`)."""

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
    """Ends transactions at the task's requests (`transaction.boundary=connector`). Records after the last one are not
    committed."""

    ends_with_batches = True

    def __init__(self, context: WorkerTransactionContext) -> None:
        """`context`: the task's requests."""
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
        context: The task's requests; required for `connector`.
        time: The clock.
    """
    if boundary is TransactionBoundary.INTERVAL:
        return IntervalBoundaries(interval_ms, time)
    if boundary is TransactionBoundary.CONNECTOR:
        assert context is not None
        return ConnectorBoundaries(context)
    return BoundaryManager()
