"""Cheap counters and histograms, which metrics are computed from.

A counter is a plain integer attribute that one thread changes. Sorting, summing and expiring are done when metrics are
requested, or once a second, never for each request.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

WINDOW_SECONDS = 60.0
"""Quantiles are computed over this period."""

KEPT_SAMPLES = 16
"""One `fold` keeps at most about twice as many samples; each has a weight, the number of values that it stands for.

With one fold a second, 1,000 to 2,000 samples of the last minute are kept; Kafka's histograms keep 1,028.
"""


class Histogram:
    """A histogram of durations or sizes: count and sum since the start, quantiles of the last minute.

    Invariant: `_pending` holds what was recorded since the last `fold`; `_recent` holds (time, weight, samples) of each
    fold of the last `WINDOW_SECONDS`, oldest first. `record` may be called from any thread, everything else from one
    thread only.
    """

    __slots__ = ("_now", "_pending", "_recent", "count", "record", "sum")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now`: a monotonic clock, seconds."""
        self._now = now
        self._pending: list[float] = []
        self.record = self._pending.append
        """Record one value."""
        self._recent: deque[tuple[float, int, Sequence[float]]] = deque()
        self.count = 0
        self.sum = 0.0

    def fold(self) -> None:
        """Process what was recorded. To be called about once a second."""
        size = len(self._pending)
        if size:
            values = self._pending[:size]
            del self._pending[:size]
            self.add(values)

    def add(self, values: Sequence[float]) -> None:
        """Record each of the values."""
        size = len(values)
        if not size:
            return
        self.count += size
        self.sum += sum(values)
        weight = max(1, size // KEPT_SAMPLES)
        self._keep(weight, values[::weight])

    def add_zeros(self, count: int) -> None:
        """Record 0, `count` times."""
        if count:
            self.count += count
            self._keep(count, (0.0,))

    def _keep(self, weight: int, samples: Sequence[float]) -> None:
        now = self._now()
        self._forget(now)
        self._recent.append((now, weight, samples))

    def _forget(self, now: float) -> None:
        oldest = now - WINDOW_SECONDS
        recent = self._recent
        while recent and recent[0][0] < oldest:
            recent.popleft()

    def quantiles(self, wanted: Sequence[float]) -> list[float] | None:
        """Return the quantiles of the last minute's values for these shares (ascending, 0..1); None if there are no
        values."""
        return merged_quantiles((self,), wanted)

    def weighted_samples(self) -> list[tuple[float, int]]:
        """Return (value, weight) of the last minute's samples."""
        self.fold()
        self._forget(self._now())
        return [(value, weight) for _, weight, samples in self._recent for value in samples]


def merged_quantiles(histograms: Sequence[Histogram], wanted: Sequence[float]) -> list[float] | None:
    """Return the quantiles over all of these histograms; see `Histogram.quantiles`."""
    samples = sorted(sample for histogram in histograms for sample in histogram.weighted_samples())
    if not samples:
        return None
    total = sum(weight for _, weight in samples)
    found: list[float] = []
    below, position = 0, 0
    for share in wanted:
        while position < len(samples) - 1 and below + samples[position][1] < share * total:
            below += samples[position][1]
            position += 1
        found.append(samples[position][0])
    return found


class Share:
    """The share of the last minute in which a clock was running, for example a thread's idle time.

    Invariant: `_marks` holds (time, clock), oldest first, at most one of them older than `WINDOW_SECONDS`.
    """

    def __init__(self, clock: Callable[[], float], now: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._now = now
        self._marks: deque[tuple[float, float]] = deque([(now(), clock())])

    def mark(self) -> None:
        """Record the clock. To be called about once a second."""
        now = self._now()
        marks = self._marks
        marks.append((now, self._clock()))
        while len(marks) > 2 and marks[1][0] <= now - WINDOW_SECONDS:
            marks.popleft()

    def value(self) -> float:
        """Return the share, 0..1."""
        began, clock = self._marks[0]
        elapsed = self._now() - began
        return min(1.0, max(0.0, (self._clock() - clock) / elapsed)) if elapsed > 0 else 1.0
