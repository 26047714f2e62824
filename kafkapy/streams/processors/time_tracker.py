"""The time of a join of two streams, which its two sides share."""

from __future__ import annotations

from typing import Final

NO_TIMESTAMP: Final = -1
MAX_TIMESTAMP: Final = 2**63 - 1


class TimeTracker:
    """What both sides of a join know of time.

    Attributes:
        stream_time: The highest timestamp of a record of either side; `NO_TIMESTAMP` before the first.
        min_time: No record that waits for a partner is older; `MAX_TIMESTAMP` if none is known to wait.
        next_time_to_emit: By the wall clock, ms.
        emit_interval_ms: From one look for records without a partner to the next.
    """

    def __init__(self) -> None:
        self.stream_time = NO_TIMESTAMP
        self.min_time = MAX_TIMESTAMP
        self.next_time_to_emit = 0
        self.emit_interval_ms = 1000

    def is_open(self, extent_ms: int) -> bool:
        """Whether the window of the oldest waiting record is open, if it extends so far.

        A sum beyond 64 bits is negative, as in Java: after a restart, when `min_time` is not known, this makes the join look
        into its store.
        """
        end = self.min_time + extent_ms
        return (end - 2**64 if end > MAX_TIMESTAMP else end) >= self.stream_time


class TimeTrackerSupplier:
    """Gives the two sides of a join in one task the same `TimeTracker`."""

    def __init__(self) -> None:
        self._trackers: dict[str, TimeTracker] = {}

    def get(self, task_id: str) -> TimeTracker:
        """The task's; made at the first call."""
        return self._trackers.setdefault(task_id, TimeTracker())

    def remove(self, task_id: str) -> None:
        """Called when the task is closed."""
        self._trackers.pop(task_id, None)
