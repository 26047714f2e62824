"""Counts, sums and maxima over the last time windows (Kafka's `SampledStat`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class SampledStat:
    """Statistics of values that are recorded one by one: per request or batch, never per record.

    Times are ms of a monotonic clock. Invariant: `_samples` are [start, count, sum, largest], one for each window, the
    oldest first, at most `num_samples`. One thread records; any thread may read.
    """

    __slots__ = ("_num_samples", "_samples", "_window_ms", "count", "total")

    def __init__(self, num_samples: int = 2, window_ms: float = 30_000) -> None:
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._samples: deque[list[float]] = deque(maxlen=num_samples)
        self.count = 0
        """The number of values since the start; `total` is their sum."""
        self.total = 0.0

    def record(self, value: float, now: float) -> None:
        self.count += 1
        self.total += value
        samples = self._samples
        if samples and now - samples[-1][0] < self._window_ms:
            sample = samples[-1]
            sample[1] += 1
            sample[2] += value
            if value > sample[3]:
                sample[3] = value
        else:
            samples.append([now, 1, value, value])

    def rate(self, now: float) -> float:
        """Return the sum of values per second."""
        return rate((self,), now)

    def frequency(self, now: float) -> float:
        """Return the number of values per second."""
        return frequency((self,), now)

    def average(self, now: float) -> float:
        """Return the average; 0 if there are no recent values."""
        return average((self,), now)

    def largest(self, now: float) -> float:
        """Return the maximum; 0 if there are no recent values."""
        return largest((self,), now)

    def recent(self, now: float) -> list[list[float]]:
        kept_since = now - self._num_samples * self._window_ms
        return [sample for sample in list(self._samples) if sample[0] > kept_since]

    def elapsed_seconds(self, now: float) -> float:
        """Return the time since the oldest window began, at least all windows but one: a burst after silence is not a
        high rate."""
        recent = self.recent(now)
        elapsed = now - recent[0][0] if recent else 0.0
        missing = self._num_samples - 1 - elapsed // self._window_ms
        return max((elapsed + max(missing, 0) * self._window_ms) / 1000, 1e-3)


def rate(stats: Iterable[SampledStat], now: float) -> float:
    """Return the summed rate of several."""
    return sum(sum(sample[2] for sample in stat.recent(now)) / stat.elapsed_seconds(now) for stat in stats)


def frequency(stats: Iterable[SampledStat], now: float) -> float:
    return sum(sum(sample[1] for sample in stat.recent(now)) / stat.elapsed_seconds(now) for stat in stats)


def average(stats: Iterable[SampledStat], now: float) -> float:
    samples = [sample for stat in stats for sample in stat.recent(now)]
    count = sum(sample[1] for sample in samples)
    return sum(sample[2] for sample in samples) / count if count else 0.0


def largest(stats: Iterable[SampledStat], now: float) -> float:
    return max((sample[3] for stat in stats for sample in stat.recent(now)), default=0.0)
