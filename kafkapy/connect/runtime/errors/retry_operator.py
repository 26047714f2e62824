"""Retries operations on records, and tolerates and reports errors (KIP-298; Kafka's `RetryWithToleranceOperator`)."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from kafkapy.common.time import SystemTime, Time
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.stage import Stage, ToleranceType

log = logging.getLogger("kafkapy.connect.runtime")

V = TypeVar("V")

_DELAY_MIN_MS = 300
_TOLERABLE = (Stage.TRANSFORMATION, Stage.HEADER_CONVERTER, Stage.KEY_CONVERTER, Stage.VALUE_CONVERTER)


class ErrorReporter(Protocol):
    """Reports a failed record to the log or a topic. `report` can be called from any thread."""

    def report(self, context: ProcessingContext) -> Future[Any]:
        """Report a failed record. The future is done when the report is durable."""
        ...

    def close(self) -> None: ...


class ErrorMetrics(Protocol):
    """Counts errors (Kafka's `ErrorHandlingMetrics`)."""

    def record_failure(self) -> None: ...
    def record_error(self) -> None: ...
    def record_skipped(self) -> None: ...
    def record_retry(self) -> None: ...
    def record_error_timestamp(self) -> None: ...


class _NoMetrics:
    def record_failure(self) -> None: ...
    def record_error(self) -> None: ...
    def record_skipped(self) -> None: ...
    def record_retry(self) -> None: ...
    def record_error_timestamp(self) -> None: ...


class RetryWithToleranceOperator:
    """One for each task.

    Invariant: `_reporters` and `_failures` change under `_lock`; a task without tolerance has at most one failure.

    Example:
        >>> operator = RetryWithToleranceOperator(tolerance=ToleranceType.ALL)
        >>> context = ProcessingContext("record")
        >>> operator.execute(context, lambda: int("x"), Stage.VALUE_CONVERTER, int) is None, context.failed
        (True, True)
    """

    def __init__(
        self,
        retry_timeout_ms: int = 0,
        max_delay_ms: int = 60_000,
        tolerance: ToleranceType = ToleranceType.NONE,
        metrics: ErrorMetrics | None = None,
        time: Time | None = None,
    ) -> None:
        """
        Args:
            retry_timeout_ms: How long an operation is retried (`errors.retry.timeout`). Default: no retries; -1: no
                limit.
            max_delay_ms: The longest pause between two attempts (`errors.retry.delay.max.ms`).
            tolerance: Tolerated errors. Default: none.
            metrics: Counts errors. Default: none.
            time: The clock. Default: the system's.
        """
        self.tolerance = tolerance
        self._retry_timeout_ms = retry_timeout_ms
        self._max_delay_ms = max_delay_ms
        self._metrics: ErrorMetrics = metrics or _NoMetrics()
        self._time = time or SystemTime()
        self._lock = threading.Lock()
        self._failures = 0
        self._reporters: Sequence[ErrorReporter] = ()
        self._stop = threading.Event()

    @property
    def tolerates_all(self) -> bool:
        return self.tolerance is ToleranceType.ALL

    @property
    def within_tolerance(self) -> bool:
        """Return False if an error occurred that is not tolerated."""
        return self.tolerates_all or self._failures == 0

    def set_reporters(self, reporters: Sequence[ErrorReporter]) -> None:
        with self._lock:
            self._reporters = list(reporters)

    def execute(
        self, context: ProcessingContext, operation: Callable[[], V], stage: Stage, executing_class: type[Any]
    ) -> V | None:
        """Execute an operation on a record.

        Args:
            context: The record's context. Nothing is done if it has failed already.
            operation: The operation; it is repeated after a RetriableException.
            stage: The stage of the operation.
            executing_class: The class that executes it.

        Returns:
            The result; None after a tolerated error, which was reported.

        Raises:
            ConnectException: The operation has failed.
        """
        context.at(stage, executing_class)
        if context.failed:
            return None
        try:
            return operation()  # the usual case
        except Exception as error:
            first = error
        return self.recover(context, operation, stage, executing_class, first)

    def recover(
        self,
        context: ProcessingContext,
        operation: Callable[[], V],
        stage: Stage,
        executing_class: type[Any],
        error: Exception,
    ) -> V | None:
        """Do what `execute` does after its first attempt has failed.

        Args:
            context: The record's context, which has not failed.
            operation: The operation.
            stage: The stage of the operation.
            executing_class: The class that executes it.
            error: The error of the first attempt.

        Raises:
            ConnectException: The operation has failed.
        """
        context.at(stage, executing_class)
        try:
            return self._handle(context, operation, error)
        finally:
            if context.failed:
                self._metrics.record_error()
                self._report(context)

    def execute_failed(
        self, context: ProcessingContext, stage: Stage, executing_class: type[Any], error: BaseException
    ) -> Future[None]:
        """Report an error that occurred outside of `execute`.

        Returns:
            A future that is done when all reports are durable.

        Raises:
            ConnectException: The error is not tolerated.
        """
        self._mark_failed()
        context.at(stage, executing_class)
        context.error = error
        self._metrics.record_failure()
        reported = self._report(context)
        if not self.within_tolerance:
            self._metrics.record_error()
            raise ConnectException("Tolerance exceeded in error handler") from error
        return reported

    def trigger_stop(self) -> None:
        """End pauses: the operation in progress counts as failed."""
        self._stop.set()

    def close(self) -> None:
        """Close the reporters. Raises ConnectException."""
        with self._lock:
            reporters, self._reporters = self._reporters, ()
        failed = None
        for reporter in reporters:
            try:
                reporter.close()
            except Exception as error:
                failed = error
        if failed is not None:
            raise ConnectException("Failed to close all reporters") from failed

    def _handle(self, context: ProcessingContext, operation: Callable[[], V], first: Exception) -> V | None:
        try:
            result = self._retry(context, operation, first)
        except Exception as error:
            self._metrics.record_failure()
            self._mark_failed()
            context.error = error
            tolerable = context.stage in _TOLERABLE or isinstance(error, RetriableException)
            if not tolerable:
                raise ConnectException("Unhandled exception in error handler") from error
            if not self.within_tolerance:
                raise ConnectException("Tolerance exceeded in error handler") from error
            self._metrics.record_skipped()
            return None
        if context.failed:
            self._mark_failed()
            self._metrics.record_skipped()
        return result

    def _retry(self, context: ProcessingContext, operation: Callable[[], V], first: Exception) -> V | None:
        """Retry after the first failure. The last retriable error is stored in the context."""
        deadline = self._time.milliseconds() + self._retry_timeout_ms if self._retry_timeout_ms >= 0 else None
        error = first
        attempt = 1
        while True:
            context.attempt = attempt
            if not isinstance(error, RetriableException):
                raise error
            self._metrics.record_failure()
            if deadline is not None and self._time.milliseconds() >= deadline:
                context.error = error
                return None
            self._pause(attempt, deadline)
            self._metrics.record_retry()
            if self._stop.is_set():
                context.error = error
                return None
            attempt += 1
            try:
                result = operation()
            except Exception as failure:
                error = failure
            else:
                context.attempt = attempt
                return result

    def _pause(self, attempt: int, deadline: int | None) -> None:
        delay: float = _DELAY_MIN_MS << min(attempt - 1, 32)
        if delay > self._max_delay_ms:
            delay = random.uniform(0, self._max_delay_ms)
        if deadline is not None:
            delay = min(delay, max(0, deadline - self._time.milliseconds()))
        self._stop.wait(delay / 1000)

    def _mark_failed(self) -> None:
        with self._lock:
            self._failures += 1
        self._metrics.record_error_timestamp()

    def _report(self, context: ProcessingContext) -> Future[None]:
        with self._lock:
            reporters = self._reporters
        return all_done([reporter.report(context) for reporter in reporters])


def all_done(futures: Sequence[Future[Any]]) -> Future[None]:
    """Return a future that is done when all are; it fails with the first error."""
    done: Future[None] = Future()
    if not futures:
        done.set_result(None)
        return done
    lock = threading.Lock()
    left = len(futures)
    failure: BaseException | None = None

    def finished(future: Future[Any]) -> None:
        nonlocal left, failure
        with lock:
            left -= 1
            failure = failure or future.exception()
            last = left == 0
        if not last:
            return
        if failure is None:
            done.set_result(None)
        else:
            done.set_exception(failure)

    for future in futures:
        future.add_done_callback(finished)
    return done
