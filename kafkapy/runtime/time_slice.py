"""The time slice of work on the reactor: when long work has to yield. Compiled where possible."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator
from time import monotonic
from typing import Any, Final, cast

from kafkapy.runtime.stall_meter import StallMeter

SLICE_SECONDS: Final = 0.0002
"""Length of a slice: about ten small requests. Yielding costs about 10 µs."""

MIN_REQUEST_SECONDS: Final = 0.0001
"""Minimum time of a request, even if the slice is almost used up when it begins.

Requests that arrived together have it, too: answering them together wakes their client once.
"""

BURST_REQUESTS: Final = 5
"""Requests that a producer may have in flight (`max.in.flight.requests.per.connection`)."""

BURST_SECONDS: Final = 0.0004
"""Minimum time of a burst of that many requests.

A shorter one splits the answers of pipelining producers, which sends less (docs/benchmarks.md, 200 connections).
"""

MAX_SLICE_SECONDS: Final = 0.001
"""Limit of renewing the slice while no other work waits: timers and calls of threads are looked for after this at the
latest."""


class TimeSlice:
    """The deadline after which long work yields. All work of a turn shares one slice.

    Work asks `is_over` between small parts. A slice is extended by the time that the reactor's thread spent in the
    kernel's run queue (yielding would not have helped others then), and renewed while there is no other work.

    Invariant: only this class sets the deadline `ends`; `StallMeter` and `FeedbackQueue` supply the measurements.
    """

    def __init__(
        self,
        meter: StallMeter | None = None,
        now: Callable[[], float] = monotonic,
        has_other_work: Callable[[], bool] = lambda: True,
    ) -> None:
        """`has_other_work`: returns whether there is other work, or an event that was not served yet."""
        self.meter: Final = meter or StallMeter()
        self.now: Final = now
        self._has_other_work = has_other_work
        self.seconds = SLICE_SECONDS
        self.max_seconds = MAX_SLICE_SECONDS
        self.ends = math.inf
        self._request_ends = 0.0

    def begin(self, now: float) -> None:
        self.ends = now + self.seconds

    def begin_request(self) -> None:
        self._request_ends = self.now() + MIN_REQUEST_SECONDS

    def is_over(self, extra_seconds: float = 0.0) -> bool:
        """Return whether the slice is used up. `extra_seconds`: how much longer than other work the caller may go on."""
        now = self.now()
        if now < self.ends + extra_seconds or now < self._request_ends:
            return False
        if now <= self.meter.woke + self.max_seconds + extra_seconds and not self._has_other_work():
            self.ends = now + self.seconds - extra_seconds
            return False
        self.extend_by_run_queue_time(now)
        return now >= self.ends + extra_seconds

    def begin_burst(self) -> float:
        """Return the start of a burst for `burst_is_over`: the time now, less the time in the run queue."""
        return self.now() - self.meter.run_queue_seconds

    def burst_is_over(self, began: float, handled: int) -> bool:
        """Return whether the next of the requests that arrived together has to wait.

        `handled`: how many were served since `began`."""
        now = self.now()
        own_ends = began + (BURST_SECONDS if handled < BURST_REQUESTS else MIN_REQUEST_SECONDS)
        ends = max(self.ends, own_ends + self.meter.run_queue_seconds)
        return now >= ends and now >= ends + self.extend_by_run_queue_time(now)

    def extend_by_run_queue_time(self, now: float) -> float:
        """Extend the slice by the time in the kernel's run queue since the last call, and return it in seconds."""
        seconds = self.meter.charge_run_queue_time(now)
        self.ends += seconds
        return seconds


class NotSuspended:
    """Awaitable that does not suspend. A `Completion` that is done would take three times as long."""

    def __await__(self) -> Generator[Any, Any, None]:
        return _NOTHING


_NOTHING: Final = cast("Generator[Any, Any, None]", iter(()))
_NOT_SUSPENDED: Final = NotSuspended()


class Checkpoints:
    """Yields at the points where requests may be suspended; `checkpoint` is cheap while the slice lasts."""

    def __init__(self, time_slice: TimeSlice, suspend: Callable[[], Awaitable[None]]) -> None:
        """`suspend`: returns a completion that is done when the request is resumed."""
        self._slice: Final = time_slice
        self._suspend: Final = suspend

    def checkpoint(self) -> Awaitable[None]:
        return self._suspend() if self._slice.is_over() else _NOT_SUSPENDED
