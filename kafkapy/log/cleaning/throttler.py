"""Limits the rate of work (Kafka's `Throttler`)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kafkapy.common.time import Time

_CHECK_INTERVAL_MS = 300
"""The value of Kafka's `LogCleaner`."""
_MAX_SLEEP_MS = 100
"""Maximum length of one sleep. Between sleeps it checks for the end of the cleaning, so a stop waits at most this long.
"""


class Throttler:
    """A rate limit shared by all cleaner threads: a thread that exceeds the rate sleeps until it is kept."""

    def __init__(self, desired_rate_per_sec: float, time: Time) -> None:
        """`desired_rate_per_sec`: in the unit of `maybe_throttle`, e.g. bytes."""
        self.desired_rate_per_sec = desired_rate_per_sec
        self._time = time
        self._lock = threading.Lock()
        self._period_start = time.monotonic_ms()
        self._observed = 0

    def maybe_throttle(self, observed: int, check: Callable[[], object] = lambda: None) -> None:
        """Record `observed` units of work, and sleep if needed. `check` is called between sleeps, and may raise to end
        them.
        """
        for _ in range(self._sleep_count(observed)):
            check()
            self._time.sleep(_MAX_SLEEP_MS / 1000)

    def _sleep_count(self, observed: int) -> int:
        with self._lock:
            self._observed += observed
            elapsed = self._time.monotonic_ms() - self._period_start
            if elapsed <= _CHECK_INTERVAL_MS:
                return 0
            wanted = self._observed * 1000 / self.desired_rate_per_sec
            sleeps = max(0, round((wanted - elapsed) / _MAX_SLEEP_MS))
            # The next period starts after the sleep.
            self._period_start += elapsed + sleeps * _MAX_SLEEP_MS
            self._observed = 0
            return sleeps
