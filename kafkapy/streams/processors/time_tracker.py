"""Time of a stream-stream join, shared by its two sides."""

from __future__ import annotations

from typing import Final

NO_TIMESTAMP: Final = -1
MAX_TIMESTAMP: Final = 2**63 - 1


class TimeTracker:
    """Times that both sides of a join share.

    Attributes:
        stream_time: The highest timestamp of a record of either side; `NO_TIMESTAMP` before the first.
        min_time: Lower bound of the timestamps of unmatched records; `MAX_TIMESTAMP` if none is known.
        next_time_to_emit: Wall-clock time of the next emission, ms.
        emit_interval_ms: Time between two emissions of unmatched records.
    """

    def __init__(self) -> None:
        self.stream_time = NO_TIMESTAMP
        self.min_time = MAX_TIMESTAMP
        self.next_time_to_emit = 0
        self.emit_interval_ms = 1000

    def is_open(self, extent_ms: int) -> bool:
        """Return whether the window of the oldest unmatched record is open, if windows extend so far.

        A sum beyond 64 bits is negative, as in Java: after a restart, when `min_time` is not known, the join therefore
        reads its store.
        """
        end = self.min_time + extent_ms
        return (end - 2**64 if end > MAX_TIMESTAMP else end) >= self.stream_time


class TimeTrackerSupplier:
    """Supplies the same `TimeTracker` to the two sides of a join in a task."""

    def __init__(self) -> None:
        self._trackers: dict[str, TimeTracker] = {}

    def get(self, task_id: str) -> TimeTracker:
        """Return the task's tracker, which the first call creates."""
        return self._trackers.setdefault(task_id, TimeTracker())

    def remove(self, task_id: str) -> None:
        """Drop the task's tracker; called when the task is closed."""
        self._trackers.pop(task_id, None)
