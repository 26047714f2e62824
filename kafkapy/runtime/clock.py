"""Time as the broker's parts are given it: now, later, again and again, and in a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

from kafkapy.common.scheduler import MockScheduler, ScheduledTask, Scheduler
from kafkapy.common.time import MockTime, Time

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class InThread(Protocol):
    """Runs what blocks in a pool of threads; its result or exception comes back to the thread that asked."""

    def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]: ...


class Clock(Time, Scheduler, Protocol):
    """What needs only a part of it takes a `Time`, a `Scheduler` or an `InThread`.

    `in_thread`: the background pool. What a `Scheduler` has to do ends with the broker's work; `later` goes on until the end.
    """

    def later(self, delay_ms: float, function: Callable[[], object]) -> ScheduledTask:
        """Call it once, on the reactor thread; not before the time is over."""
        ...

    def turn_is_over(self, late_seconds: float = 0.0) -> bool:
        """Should work that has more to do give way? For code that cannot await a `checkpoint`; asked after each small part.

        `late_seconds`: for work that is expensive to divide, how much longer than other work it may go on.
        """
        ...

    def slice_begins(self) -> None:
        """A request begins: it may go on for a moment, even if others have used up the present time slice."""
        ...

    def checkpoint(self) -> Awaitable[None]:
        """To be awaited in the loop of work that may take long: other work has its turn here if the time slice is over.

        Example:
            for chunk in chunks(partitions):
                await clock.checkpoint()
                answers += [self._answer(partition) for partition in chunk]
        """
        ...

    def turn(self) -> Awaitable[None]:
        """Done when all requests that were there have been looked at, and all work that gave way before has had a turn."""
        ...

    def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]: ...

    def from_thread(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call it on the reactor thread; from any thread."""
        ...


class MockClock:
    """A test moves it by `advance`; what is due runs on the way, and what is for a thread runs at once."""

    def __init__(self) -> None:
        self._time = MockTime()
        self._tasks = MockScheduler(self._time)
        self.milliseconds, self.monotonic_ms = self._time.milliseconds, self._time.monotonic_ms
        self.sleep = self._time.sleep
        self.schedule_once, self.schedule = self._tasks.schedule_once, self._tasks.schedule
        self.schedule_in_thread = self._tasks.schedule_in_thread
        self.turns = 0
        """How often work gave way."""
        self._turn_ends_ms = self.monotonic_ms() + 1

    @property
    def pending(self) -> int:
        """Tasks that are still to run."""
        return self._tasks.pending

    def advance(self, ms: int) -> None:
        self._tasks.advance(ms)
        self._turn_ends_ms = self.monotonic_ms() + 1

    def later(self, delay_ms: float, function: Callable[[], object]) -> ScheduledTask:
        return self._tasks.schedule_once("later", function, int(delay_ms))

    def turn_is_over(self, late_seconds: float = 0.0) -> bool:
        return self.monotonic_ms() >= self._turn_ends_ms + late_seconds * 1000

    def slice_begins(self) -> None:
        """Only `advance` ends a slice."""

    async def checkpoint(self) -> None:
        if self.turn_is_over():
            await self.turn()

    async def turn(self) -> None:
        self.turns += 1
        self._turn_ends_ms = self.monotonic_ms() + 1

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    def from_thread(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        function(*args, **kwargs)
