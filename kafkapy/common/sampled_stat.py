"""How often, how much and how large lately (Kafka's `SampledStat` of counts, sums and maxima)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class SampledStat:
    """Values that are noted one by one: once for a request or a batch, never for a record.

    Times are in ms, of a monotonic clock. Invariant: `_samples` are [start, count, sum, largest], each of one window, the oldest
    first, at most `num_samples`. One thread records; any may ask.
    """

    __slots__ = ("_num_samples", "_samples", "_window_ms", "count", "total")

    def __init__(self, num_samples: int = 2, window_ms: float = 30_000) -> None:
        self._num_samples = num_samples
        self._window_ms = window_ms
        self._samples: deque[list[float]] = deque(maxlen=num_samples)
        self.count = 0
        """Values since the beginning, as `total` is their sum."""
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
        """The sum, by the second."""
        return rate((self,), now)

    def frequency(self, now: float) -> float:
        """How many values by the second."""
        return frequency((self,), now)

    def average(self, now: float) -> float:
        """0 if there was none lately."""
        return average((self,), now)

    def largest(self, now: float) -> float:
        """0 if there was none lately."""
        return largest((self,), now)

    def recent(self, now: float) -> list[list[float]]:
        kept_since = now - self._num_samples * self._window_ms
        return [sample for sample in list(self._samples) if sample[0] > kept_since]

    def elapsed_seconds(self, now: float) -> float:
        """Since the oldest window began, but all but one of them at least: a burst after silence is not yet a high rate."""
        recent = self.recent(now)
        elapsed = now - recent[0][0] if recent else 0.0
        missing = self._num_samples - 1 - elapsed // self._window_ms
        return max((elapsed + max(missing, 0) * self._window_ms) / 1000, 1e-3)


def rate(stats: Iterable[SampledStat], now: float) -> float:
    """Of several together, as all of these."""
    return sum(sum(sample[2] for sample in stat.recent(now)) / stat.elapsed_seconds(now) for stat in stats)


def frequency(stats: Iterable[SampledStat], now: float) -> float:
    return sum(sum(sample[1] for sample in stat.recent(now)) / stat.elapsed_seconds(now) for stat in stats)


def average(stats: Iterable[SampledStat], now: float) -> float:
    samples = [sample for stat in stats for sample in stat.recent(now)]
    count = sum(sample[1] for sample in samples)
    return sum(sample[2] for sample in samples) / count if count else 0.0


def largest(stats: Iterable[SampledStat], now: float) -> float:
    return max((sample[3] for stat in stats for sample in stat.recent(now)), default=0.0)
