"""Statistics of values that are recorded in batches (Kafka's `Value`, `Max`, `Min`, `Avg` and `Meter`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

_WINDOWS: Final = 2
_WINDOW_S: Final = 30.0


class MeasuredValues:
    """Last value, largest, smallest and average of the last minute; number and sum since the start, and rates.

    Invariant: `_windows` are [start, count, sum, largest, smallest], the oldest first. One thread at a time.

    Example:
        >>> values = MeasuredValues()
        >>> values.record([5.0, 15.0], now=0.0)
        >>> values.statistics(now=1.0)
        (15.0, 15.0, 5.0, 10.0)
    """

    __slots__ = ("_windows", "count", "last", "total")

    def __init__(self) -> None:
        self._windows: deque[list[float]] = deque(maxlen=_WINDOWS)
        self.count = 0
        self.total = 0.0
        self.last = 0.0

    def record(self, values: Sequence[float], now: float) -> None:
        """Record values, at least one. `now`: s of a monotonic clock."""
        count, total, largest, smallest = len(values), sum(values), max(values), min(values)
        self.count += count
        self.total += total
        self.last = values[-1]
        windows = self._windows
        if windows and now - windows[-1][0] < _WINDOW_S:
            window = windows[-1]
            window[1] += count
            window[2] += total
            window[3] = max(window[3], largest)
            window[4] = min(window[4], smallest)
        else:
            windows.append([now, count, total, largest, smallest])

    def rate(self, now: float) -> float:
        """Return the sum of recent values per second."""
        return sum(window[2] for window in self._recent(now)) / self._elapsed_s(now)

    def frequency(self, now: float) -> float:
        """Return the number of recent values per second."""
        return sum(window[1] for window in self._recent(now)) / self._elapsed_s(now)

    def statistics(self, now: float) -> tuple[float, float, float, float]:
        """Return last, largest, smallest and average value; without recent values all but the first are NaN."""
        recent = self._recent(now)
        if not recent:
            return self.last, float("nan"), float("nan"), float("nan")
        average = sum(window[2] for window in recent) / sum(window[1] for window in recent)
        return self.last, max(window[3] for window in recent), min(window[4] for window in recent), average

    def _recent(self, now: float) -> list[list[float]]:
        return [window for window in self._windows if now - window[0] < _WINDOWS * _WINDOW_S]

    def _elapsed_s(self, now: float) -> float:
        """Return the time since the oldest window began, with a full one added while it is the first."""
        recent = self._recent(now)
        elapsed = now - recent[0][0] if recent else 0.0
        return elapsed + max(_WINDOWS - 1 - elapsed // _WINDOW_S, 0) * _WINDOW_S
