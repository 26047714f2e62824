"""How long work on the reactor may go on before other work has its turn. This is machine code where there is any."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator
from time import monotonic
from typing import Any, Final, cast

from kafkapy.runtime.stall_meter import StallMeter

SLICE_SECONDS: Final = 0.0002
"""Length of a slice: the time of some ten small requests. A checkpoint that gives way costs about 10 µs, a twentieth of it."""

LEAST_SECONDS: Final = 0.0001
"""What a request has in any case, in whatever state the slice is when it begins, and so have requests that arrived together:
to answer them together wakes their client once."""

BURST: Final = 5
"""Requests that a producer may have in flight (`max.in.flight.requests.per.connection`)."""

BURST_SECONDS: Final = 0.0004
"""What so many that arrived together have. With 0.1 ms two or three of five were answered together, and 200 producers on two
cores sent a fifth less (docs/benchmarks.md, 200 connections)."""

LONGEST_SECONDS: Final = 0.001
"""While no other work waits, a slice is renewed, but not for longer than this after the reactor looked for timers."""


class TimeSlice:
    """The deadline by which work that has more to do gives way. One slice is shared by all that runs one after the other.

    Work asks `is_over` between small parts of it. A slice lasts longer than `SLICE_SECONDS` by the time in which the reactor's
    thread had no core (others would not have been served sooner), and while there is no other work.

    Invariant: the deadline `ends` is written here alone; `StallMeter` and `FeedbackQueue` tell what was measured.
    """

    def __init__(
        self,
        meter: StallMeter | None = None,
        now: Callable[[], float] = monotonic,
        others_wait: Callable[[], bool] = lambda: True,
    ) -> None:
        """`others_wait`: is there other work, or an event that was not served yet?"""
        self.meter: Final = meter or StallMeter()
        self.now: Final = now
        self._others_wait = others_wait
        self.seconds = SLICE_SECONDS
        self.longest_seconds = LONGEST_SECONDS
        self.ends = math.inf
        self._least_ends = 0.0

    def begin(self, now: float) -> None:
        self.ends = now + self.seconds

    def request_begins(self) -> None:
        self._least_ends = self.now() + LEAST_SECONDS

    def is_over(self, late_seconds: float = 0.0) -> bool:
        """Should work that has more to do give way? `late_seconds`: how much longer than other work it may go on."""
        now = self.now()
        if now < self.ends + late_seconds or now < self._least_ends:
            return False
        if now <= self.meter.woke + self.longest_seconds + late_seconds and not self._others_wait():
            self.ends = now + self.seconds - late_seconds
            return False
        self.without_core(now)
        return now >= self.ends + late_seconds

    def burst_begins(self) -> float:
        """The moment, as `burst_is_over` takes it: without the time that the thread had no core."""
        return self.now() - self.meter.lost_seconds

    def burst_is_over(self, began: float, handled: int) -> bool:
        """Should the next of the requests that arrived together give way? `handled` were since the burst `began`."""
        now = self.now()
        own_ends = began + (BURST_SECONDS if handled < BURST else LEAST_SECONDS)
        ends = max(self.ends, own_ends + self.meter.lost_seconds)
        return now >= ends and now >= ends + self.without_core(now)

    def without_core(self, now: float) -> float:
        """For how many seconds since this was last asked others had the cores. The slice ends so much later."""
        lost = self.meter.lost(now)
        self.ends += lost
        return lost


class GoOn:
    """A checkpoint within the slice: awaiting it does nothing. A `Completion` that is done would take three times as long."""

    def __await__(self) -> Generator[Any, Any, None]:
        return _NOTHING


_NOTHING: Final = cast("Generator[Any, Any, None]", iter(()))
_GO_ON: Final = GoOn()


class Checkpoints:
    """Where requests give way: `checkpoint` is free while the slice lasts."""

    def __init__(self, time_slice: TimeSlice, suspend: Callable[[], Awaitable[None]]) -> None:
        """`suspend`: done when this request has its next turn."""
        self._slice: Final = time_slice
        self._suspend: Final = suspend

    def checkpoint(self) -> Awaitable[None]:
        return self._suspend() if self._slice.is_over() else _GO_ON
