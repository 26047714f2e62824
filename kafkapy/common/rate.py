"""Rates per second over the last time windows (Kafka's `Rate`, a `SampledStat` of sums)."""

from __future__ import annotations

import math
from collections import deque
from typing import Final

from kafkapy.common.limits import MAX_INT

MAX_THROTTLE_MS: Final = MAX_INT
"""The longest throttle time that a response can contain.

Java's numbers overflow there: Apache's quota of 0 throttles nothing.
"""


class Rate:
    """A rate over the last windows. Times are ms of a monotonic clock.

    A window begins with the first value after the end of the previous one. It counts until all windows have passed
    since its last value (as in Kafka from 3.8 on, "Fix rate metric spikes"), so the oldest one may have begun up to one
    window earlier.

    Invariant: `_samples` are [start, time of the last value, sum], one for each window, oldest first, none expired;
    `_total` is their sum.
    """

    __slots__ = ("_least_ms", "_num_windows", "_samples", "_total", "_window_ms")

    def __init__(self, num_windows: int = 11, window_ms: int = 1000) -> None:
        self._num_windows = num_windows
        self._window_ms = window_ms
        self._least_ms = self._least_elapsed()
        self._samples: deque[list[float]] = deque()
        self._total = 0.0

    def record(self, value: float, now: int) -> None:
        """Add `value`; a negative one undoes an earlier one."""
        samples = self._samples
        if samples and now - samples[0][1] >= self._num_windows * self._window_ms:
            self._expire(now)
        if samples and now - samples[-1][0] < self._window_ms:
            sample = samples[-1]
            sample[1] = now
            sample[2] += value
        else:
            samples.append([now, now, value])
        self._total += value

    def per_second(self, now: int) -> float:
        """Return the rate over the elapsed windows, at least all but one, so that a burst after silence is not a high
        rate."""
        self._expire(now)
        if not self._samples:
            return 0.0
        return self._total * 1000 / self._elapsed(now)

    def throttle_ms(self, limit: float, now: int, bound_ms: int | None = None) -> int:
        """Return how long to wait if the rate exceeds `limit` per second, in proportion to the excess; 0 if it does
        not.

        At most `bound_ms`, by default the length of all windows (Kafka's `QuotaUtils.boundedThrottleTime`).
        """
        if self._total * 1000 <= limit * self._least_ms:
            return 0  # true for most requests, whatever the time is
        rate = self.per_second(now)
        if not rate > limit:
            return 0
        if bound_ms is None:
            bound_ms = self._num_windows * self._window_ms
        if limit <= 0:
            return bound_ms
        return int(min(math.floor((rate - limit) / limit * self._elapsed(now) + 0.5), bound_ms))

    def _least_elapsed(self) -> int:
        return max((self._num_windows - 1) * self._window_ms, 1)

    def _elapsed(self, now: int) -> float:
        """Return the elapsed time, at least `_least_ms`."""
        elapsed = now - self._samples[0][0]
        windows = elapsed // self._window_ms
        return max(elapsed + max(self._num_windows - 1 - windows, 0) * self._window_ms, 1)

    def _expire(self, now: int) -> None:
        samples, age = self._samples, self._num_windows * self._window_ms
        while samples and now - samples[0][1] >= age:
            samples.popleft()
            # Summed anew, because subtraction would accumulate rounding errors.
            self._total = math.fsum(sample[2] for sample in samples)


class SimpleRate(Rate):
    """A rate over the time since the oldest sample, at least one window (Kafka's `SimpleRate`, for replication quotas).

    A burst after silence is a high rate as soon as the first window has passed, so throttles take effect from the
    beginning.
    """

    __slots__ = ()

    def _least_elapsed(self) -> int:
        return self._window_ms

    def _elapsed(self, now: int) -> float:
        return max(now - self._samples[0][0], self._window_ms)
