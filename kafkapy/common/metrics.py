"""What the broker counts and measures: numbers that cost next to nothing to keep, read by whoever renders them.

A counter is a plain integer attribute, of one thread. What takes more (sorting, summing, forgetting) is done when somebody asks,
or once a second, never for each request.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

WINDOW_SECONDS = 60.0
"""Quantiles are those of this time."""

KEPT_SAMPLES = 16
"""Of what one `fold` takes in, at most about twice as many are kept; their weight says for how many they stand.

With one fold a second that are 1,000 to 2,000 of the last minute; Kafka's histograms are samples of 1,028."""


class Histogram:
    """How long something took, or how large it was: count and sum since the start, quantiles of the last minute.

    Invariant: `_pending` holds what was recorded since the last `fold`; `_recent` holds (time, weight, samples) of each fold
    of the last `WINDOW_SECONDS`, oldest first. `record` may be called from any thread, all else from one.
    """

    __slots__ = ("_now", "_pending", "_recent", "count", "record", "sum")

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now`: seconds of a monotonic clock."""
        self._now = now
        self._pending: list[float] = []
        self.record = self._pending.append
        """Note one value."""
        self._recent: deque[tuple[float, int, Sequence[float]]] = deque()
        self.count = 0
        self.sum = 0.0

    def fold(self) -> None:
        """Take in what was recorded. To be called about once a second while much is."""
        size = len(self._pending)
        if size:
            values = self._pending[:size]
            del self._pending[:size]
            self.add(values)

    def add(self, values: Sequence[float]) -> None:
        """As `record` of each."""
        size = len(values)
        if not size:
            return
        self.count += size
        self.sum += sum(values)
        weight = max(1, size // KEPT_SAMPLES)
        self._keep(weight, values[::weight])

    def add_zeros(self, count: int) -> None:
        """As `record(0)`, `count` times."""
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
        """The values below which these shares (ascending, 0..1) of the last minute's values lie; None if there was none."""
        return merged_quantiles((self,), wanted)

    def weighted_samples(self) -> list[tuple[float, int]]:
        """(value, for how many it stands) of the last minute."""
        self.fold()
        self._forget(self._now())
        return [(value, weight) for _, weight, samples in self._recent for value in samples]


def merged_quantiles(histograms: Sequence[Histogram], wanted: Sequence[float]) -> list[float] | None:
    """`Histogram.quantiles` of all that these have recorded."""
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
    """Which share of the last minute a clock has run, one that runs at most as fast as time does: how idle a thread is.

    Invariant: `_marks` holds (time, clock), oldest first, at most one older than `WINDOW_SECONDS`.
    """

    def __init__(self, clock: Callable[[], float], now: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._now = now
        self._marks: deque[tuple[float, float]] = deque([(now(), clock())])

    def mark(self) -> None:
        """To be called about once a second."""
        now = self._now()
        marks = self._marks
        marks.append((now, self._clock()))
        while len(marks) > 2 and marks[1][0] <= now - WINDOW_SECONDS:
            marks.popleft()

    def value(self) -> float:
        """0..1"""
        began, clock = self._marks[0]
        elapsed = self._now() - began
        return min(1.0, max(0.0, (self._clock() - clock) / elapsed)) if elapsed > 0 else 1.0
