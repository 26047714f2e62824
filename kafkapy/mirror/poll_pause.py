"""The pause between two rounds of a task with periodic work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_LONGEST_WAIT_S = 1.0


class PollPause:
    """Divides the pause between rounds into short waits, so that the task can be stopped and paused meanwhile.

    Args:
        interval_s: Time from round to round, in s; None: there are no rounds.
        longest_wait_s: How long `wait` blocks at most, in s. Default: 1.
        clock: Monotonic, in s.
    """

    def __init__(
        self,
        interval_s: float | None,
        longest_wait_s: float = _LONGEST_WAIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval_s = interval_s
        self._longest_wait_s = longest_wait_s
        self._clock = clock
        self._stopped = threading.Event()
        self._due = clock() + (interval_s or 0.0)

    def wait(self) -> bool:
        """Wait for a limited time; return whether a round is due, and then begin the next interval."""
        if self._interval_s is None:
            self._stopped.wait(self._longest_wait_s)
            return False
        remaining = self._due - self._clock()
        if remaining > 0:
            self._stopped.wait(min(remaining, self._longest_wait_s))
        if self._stopped.is_set() or self._clock() < self._due:
            return False
        self._due = self._clock() + self._interval_s
        return True

    def stop(self) -> None:
        """End the wait and all later ones."""
        self._stopped.set()

    def sleep(self, seconds: float) -> None:
        """Wait `seconds`, or until `stop`."""
        self._stopped.wait(seconds)

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()
