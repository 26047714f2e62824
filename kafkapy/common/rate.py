"""How much a second, over the last windows of time (Kafka's `Rate`, a `SampledStat` of sums)."""

from __future__ import annotations

from collections import deque


class Rate:
    """Times are in ms, of a monotonic clock.

    Invariant: `_samples` are (start, sum), each of one window, the oldest first, none older than all windows together; `_total`
    is their sum.
    """

    def __init__(self, num_windows: int = 11, window_ms: int = 1000) -> None:
        self._num_windows = num_windows
        self._window_ms = window_ms
        self._samples: deque[tuple[int, int]] = deque()
        self._total = 0

    def record(self, value: int, now: int) -> None:
        self._expire(now)
        if self._samples and now - self._samples[-1][0] < self._window_ms:
            start, before = self._samples[-1]
            self._samples[-1] = (start, before + value)
        else:
            self._samples.append((now, value))
        self._total += value

    def per_second(self, now: int) -> float:
        """Over the windows that have passed, but for all but one at least: a burst after silence is not yet a high rate."""
        self._expire(now)
        if not self._samples:
            return 0.0
        return self._total * 1000 / self._elapsed(now)

    def throttle_ms(self, limit: float, now: int) -> int:
        """How long to wait for a rate above `limit` a second: in proportion to the excess; 0 if it is not above.

        At most as long as all windows (Kafka's `QuotaUtils.boundedThrottleTime`).
        """
        rate = self.per_second(now)
        if rate <= limit:
            return 0
        longest = self._num_windows * self._window_ms
        if limit <= 0:
            return longest
        return min(round((rate - limit) / limit * self._elapsed(now)), longest)

    def _elapsed(self, now: int) -> int:
        elapsed = now - self._samples[0][0]
        windows = elapsed // self._window_ms
        return elapsed + max(self._num_windows - 1 - windows, 0) * self._window_ms

    def _expire(self, now: int) -> None:
        while self._samples and now - self._samples[0][0] >= self._num_windows * self._window_ms:
            self._total -= self._samples.popleft()[1]


class SimpleRate(Rate):
    """A rate over the time since the oldest sample, but for one window at least (Kafka's `SimpleRate`, of replication quotas).

    A burst after silence is a high rate after the first window: a throttle holds from the beginning.
    """

    def _elapsed(self, now: int) -> int:
        return max(now - self._samples[0][0], self._window_ms)
