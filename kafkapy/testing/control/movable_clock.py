"""A broker's clock that a test can advance: timers that become due run without waiting."""

from __future__ import annotations

import time
from typing import Any

from kafkapy.runtime.reactor_clock import ReactorClock


class MovableClock(ReactorClock):
    """Advances wall clock, monotonic clock and the reactor's timers together.

    Sleeping threads and the timeouts of ZooKeeper sessions are not affected; `expire_session` expires a session.

    Invariant: `monotonic_ms` never goes back; the wall clock goes back only in `back_to_present`.
    """

    def __init__(self, reactor: Any) -> None:
        super().__init__(reactor)
        self._ahead_ms = 0
        """Offset of the monotonic clock and the reactor's timers."""
        self._wall_ahead_ms = 0
        reactor.seconds = self.seconds

    def seconds(self) -> float:
        return time.monotonic() + self._ahead_ms / 1000

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self._ahead_ms

    def milliseconds(self) -> int:
        return super().milliseconds() + self._wall_ahead_ms

    def advance(self, ms: int) -> None:
        """Advance the clock. Timers that are due run once each, ordered by time, in the reactor's next iteration."""
        self._ahead_ms += ms
        self._wall_ahead_ms += ms

    def back_to_present(self) -> None:
        """Set the wall clock to the real time. Expired timers stay expired."""
        self._wall_ahead_ms = 0
