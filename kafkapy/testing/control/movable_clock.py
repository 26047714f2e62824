"""A broker's clock that a test moves on: what is due by then happens, without waiting."""

from __future__ import annotations

import time
from typing import Any

from kafkapy.runtime.reactor_clock import ReactorClock


class MovableClock(ReactorClock):
    """Wall clock, monotonic clock and the reactor's timers move together. Threads that sleep go on to sleep, and ZooKeeper's
    sessions know nothing of it: they have an order of their own.

    Invariant: `monotonic_ms` never goes back; the wall clock does once, by `back_to_present`.
    """

    def __init__(self, reactor: Any) -> None:
        super().__init__(reactor)
        self._ahead_ms = 0
        """Of the monotonic clock and the reactor's timers."""
        self._wall_ahead_ms = 0
        reactor.seconds = self.seconds

    def seconds(self) -> float:
        return time.monotonic() + self._ahead_ms / 1000

    def monotonic_ms(self) -> int:
        return super().monotonic_ms() + self._ahead_ms

    def milliseconds(self) -> int:
        return super().milliseconds() + self._wall_ahead_ms

    def advance(self, ms: int) -> None:
        """The timers that are due run in the reactor's next turn, in the order of their times, each once."""
        self._ahead_ms += ms
        self._wall_ahead_ms += ms

    def back_to_present(self) -> None:
        """The wall clock is right again; what has timed out stays so."""
        self._wall_ahead_ms = 0
