"""Keeps the rate of some work below a bound (Kafka's `Throttler`)."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kafkapy.common.time import Time

_CHECK_INTERVAL_MS = 300
"""Kafka's (`LogCleaner` makes its `Throttler` with it)."""
_NAP_MS = 100
"""Of a pause: after each it is asked whether the cleaning is to end, so a stop waits so long at most."""


class Throttler:
    """Shared by all cleaner threads: whoever works too fast sleeps for as long as it takes to be at the wanted rate."""

    def __init__(self, desired_rate_per_sec: float, time: Time) -> None:
        """`desired_rate_per_sec`: in the unit of what `maybe_throttle` is told, e.g. bytes."""
        self.desired_rate_per_sec = desired_rate_per_sec
        self._time = time
        self._lock = threading.Lock()
        self._period_start = time.monotonic_ms()
        self._observed = 0

    def maybe_throttle(self, observed: int, check: Callable[[], object] = lambda: None) -> None:
        """`observed` units of work were done. `check` is called between naps, and may raise to end them."""
        for _ in range(self._naps(observed)):
            check()
            self._time.sleep(_NAP_MS / 1000)

    def _naps(self, observed: int) -> int:
        with self._lock:
            self._observed += observed
            elapsed = self._time.monotonic_ms() - self._period_start
            if elapsed <= _CHECK_INTERVAL_MS:
                return 0
            wanted = self._observed * 1000 / self.desired_rate_per_sec
            naps = max(0, round((wanted - elapsed) / _NAP_MS))
            # The next period begins after the sleep.
            self._period_start += elapsed + naps * _NAP_MS
            self._observed = 0
            return naps
