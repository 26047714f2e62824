"""The token bucket of controller mutations (KIP-599; Kafka's `TokenBucket`)."""

from __future__ import annotations

import math

from kafkapy.common.rate import MAX_THROTTLE_MS


class TokenBucket:
    """Tokens accrue at `limit` per second and are spent immediately; below 0 the quota is exhausted.

    Unlike with a rate over windows, a large burst has no effect any more once its tokens have accrued again. Times are
    ms of a monotonic clock. Invariant: `_tokens` (None: full) is the number at `_updated`, at most a whole burst.

    Example:
        >>> bucket = TokenBucket(samples=100, window_seconds=1)
        >>> bucket.record(560, limit=5, now=0)
        >>> bucket.throttle_ms(limit=5, now=0)
        12000
    """

    __slots__ = ("_burst_seconds", "_tokens", "_updated")

    def __init__(self, samples: int = 11, window_seconds: int = 1) -> None:
        """The capacity of the bucket is what accrues during `samples` windows."""
        self._burst_seconds = samples * window_seconds
        self._tokens: float | None = None
        self._updated = 0

    def record(self, permits: float, limit: float, now: int) -> None:
        """Spend `permits`; the result may be below 0."""
        burst = self._burst_seconds * limit
        self._tokens = min(burst, self.tokens(limit, now) - permits)
        self._updated = now

    def tokens(self, limit: float, now: int) -> float:
        """Return the number of tokens."""
        burst = self._burst_seconds * limit
        if self._tokens is None:
            return burst
        return min(burst, self._tokens + limit * (now - self._updated) / 1000)

    def fill(self) -> None:
        """Fill the bucket with a whole burst."""
        self._tokens = None

    def throttle_ms(self, limit: float, now: int) -> int:
        """Return how long until there is no debt, ms; 0 if there is none."""
        tokens = self.tokens(limit, now)
        if not tokens < 0:
            return 0
        if limit <= 0:
            return MAX_THROTTLE_MS
        return int(min(math.floor(-tokens / limit * 1000 + 0.5), MAX_THROTTLE_MS))
