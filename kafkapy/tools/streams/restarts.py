"""The policy for restarts of ended processes."""

from __future__ import annotations

from typing import Final

_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
STABLE_SECONDS: Final = 60.0
"""Time after which a running process counts as healthy, so that its earlier failures are ignored."""


class RestartPolicy:
    """Back-off and limit for one process.

    Invariant: `failures` is the number of consecutive ends within `STABLE_SECONDS` of the start.

    Args:
        limit: Largest number of consecutive restarts.

    Example:
        >>> policy = RestartPolicy(2)
        >>> policy.pause_after(1), policy.pause_after(1), policy.pause_after(1)
        (1.0, 2.0, None)
    """

    def __init__(self, limit: int) -> None:
        self.failures = 0
        self._limit = limit

    def pause_after(self, ran_seconds: float) -> float | None:
        """Return the pause before the restart of a process.

        Args:
            ran_seconds: How long it has run.

        Returns:
            Seconds until the next start; None: the limit is reached.
        """
        if ran_seconds >= STABLE_SECONDS:
            self.failures = 0
        self.failures += 1
        if self.failures > self._limit:
            return None
        return float(min(_FIRST_PAUSE * 2 ** min(self.failures - 1, 16), _LONGEST_PAUSE))
