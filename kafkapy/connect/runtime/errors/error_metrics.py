"""Counts the errors of a task's records (Kafka's `ErrorHandlingMetrics`)."""

from __future__ import annotations

import threading
from functools import partial
from typing import Final

from kafkapy.connect.runtime.metrics import ERROR_GROUP, ConnectMetrics, task_tags
from kafkapy.connect.storage import ConnectorTaskId

_COUNTS: Final = {
    "total-record-failures": "Operations on records that failed.",
    "total-record-errors": "Records that failed.",
    "total-records-skipped": "Records that were skipped because of errors.",
    "total-retries": "Operations that were tried again.",
    "total-errors-logged": "Errors that were written to the log.",
    "deadletterqueue-produce-requests": "Records sent to the topic of dead letters.",
    "deadletterqueue-produce-failures": "Of these, those that are not there.",
}


class ErrorHandlingMetrics:
    """The group `task-error-metrics` of a task.

    Invariant: `_counts` changes under `_lock`; the task's thread and the producer's thread record.

    Example:
        >>> metrics = ConnectMetrics()
        >>> errors = ErrorHandlingMetrics(ConnectorTaskId("orders", 0), metrics)
        >>> errors.record_retry()
        >>> [value for name, value in metrics.read().items() if name.name == "total-retries"]
        [1]
    """

    def __init__(self, id: ConnectorTaskId, metrics: ConnectMetrics) -> None:
        """
        Args:
            id: The task.
            metrics: The worker's metrics.
        """
        self._metrics = metrics
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._last_error_ms = 0
        self._group = metrics.group(ERROR_GROUP, **task_tags(id))
        for name, description in _COUNTS.items():
            self._group.add(name, description, partial(self._count_of, name))
        self._group.add(
            "last-error-timestamp", "Time of the last error, in ms since 1970.", lambda now: self._last_error_ms
        )

    def record_failure(self) -> None:
        self._count("total-record-failures")

    def record_error(self) -> None:
        self._count("total-record-errors")

    def record_skipped(self) -> None:
        self._count("total-records-skipped")

    def record_retry(self) -> None:
        self._count("total-retries")

    def record_error_logged(self) -> None:
        self._count("total-errors-logged")

    def record_dead_letter(self) -> None:
        self._count("deadletterqueue-produce-requests")

    def record_dead_letter_failed(self) -> None:
        self._count("deadletterqueue-produce-failures")

    def record_error_timestamp(self) -> None:
        self._last_error_ms = self._metrics.time.milliseconds()

    def close(self) -> None:
        """Remove the metrics."""
        self._metrics.remove(self._group)

    def _count_of(self, name: str, now: float) -> int:
        return self._counts[name]

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1
