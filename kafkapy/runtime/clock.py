"""The interfaces through which the broker's parts read the time, schedule work, yield, and use threads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, Protocol, TypeVar

from kafkapy.common.scheduler import MockScheduler, ScheduledTask, Scheduler
from kafkapy.common.time import MockTime, Time

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class InThread(Protocol):
    """Runs a blocking function in a thread pool; the result or exception is delivered on the calling thread."""

    def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]: ...


class Clock(Time, Scheduler, Protocol):
    """All of a broker's timing. A part that needs less takes a `Time`, a `Scheduler` or an `InThread`.

    `in_thread` uses the background pool. Tasks of the `Scheduler` stop when the broker shuts down; `later` still works
    then.
    """

    def later(self, delay_ms: float, function: Callable[[], object]) -> ScheduledTask:
        """Call the function once on the reactor thread, after at least `delay_ms`."""
        ...

    def should_yield(self, extra_seconds: float = 0.0) -> bool:
        """Is the time slice used up?

        For code that cannot await a `checkpoint`; to be asked after each small part of the work.

        `extra_seconds`: how much longer this work may go on than other work, because it is expensive to interrupt.
        """
        ...

    def begin_request(self) -> None:
        """Start a request: it gets a minimum of time even if the current time slice is used up."""
        ...

    def checkpoint(self) -> Awaitable[None]:
        """Yield if the time slice is used up. Await this in loops that may take long.

        Example:
            for chunk in chunks(partitions):
                await clock.checkpoint()
                answers += [self._answer(partition) for partition in chunk]
        """
        ...

    def yield_now(self) -> Awaitable[None]:
        """Yield: done after all ready requests have been served and all work that yielded before has been resumed."""
        ...

    def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]: ...

    def from_thread(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call the function on the reactor thread. May be called from any thread."""
        ...


class MockClock:
    """A clock for tests. `advance` moves it and runs the tasks that become due; work for threads runs at once."""

    def __init__(self) -> None:
        self._time = MockTime()
        self._tasks = MockScheduler(self._time)
        self.milliseconds, self.monotonic_ms = self._time.milliseconds, self._time.monotonic_ms
        self.sleep = self._time.sleep
        self.schedule_once, self.schedule = self._tasks.schedule_once, self._tasks.schedule
        self.schedule_in_thread = self._tasks.schedule_in_thread
        self.yields = 0
        """How often work has yielded."""
        self._turn_ends_ms = self.monotonic_ms() + 1

    @property
    def pending(self) -> int:
        """The number of tasks that have not run yet."""
        return self._tasks.pending

    def advance(self, ms: int) -> None:
        self._tasks.advance(ms)
        self._turn_ends_ms = self.monotonic_ms() + 1

    def later(self, delay_ms: float, function: Callable[[], object]) -> ScheduledTask:
        return self._tasks.schedule_once("later", function, int(delay_ms))

    def should_yield(self, extra_seconds: float = 0.0) -> bool:
        return self.monotonic_ms() >= self._turn_ends_ms + extra_seconds * 1000

    def begin_request(self) -> None:
        """Does nothing: only `advance` ends a slice."""

    async def checkpoint(self) -> None:
        if self.should_yield():
            await self.yield_now()

    async def yield_now(self) -> None:
        self.yields += 1
        self._turn_ends_ms = self.monotonic_ms() + 1

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    def from_thread(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        function(*args, **kwargs)
