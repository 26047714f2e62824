"""The interface for scheduling tasks (Kafka's `Scheduler`), and a mock."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Protocol

from kafkapy.common.time import MockTime


class ScheduledTask(Protocol):
    def cancel(self) -> None:
        """Cancel the task. No effect if it has run or was cancelled."""
        ...


class Scheduler(Protocol):
    """Runs tasks later. `runtime/` implements it on the reactor; the methods say whether a task may block."""

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int) -> ScheduledTask:
        """Run `task` once after `delay_ms` on the reactor thread: it must not block."""
        ...

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int, period_ms: int) -> ScheduledTask:
        """Run `task` after `delay_ms` on the reactor thread, and then every `period_ms` (if > 0): it must not block."""
        ...

    def schedule_in_thread(
        self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1
    ) -> ScheduledTask:
        """Run `task` in the background pool, where it may block; again every `period_ms` if that is > 0.

        A periodic task never overlaps itself. Exceptions are logged and do not stop it.
        """
        ...


class _MockTask:
    def __init__(self, task: Callable[[], object], period_ms: int) -> None:
        self.task = task
        self.period_ms = period_ms
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class MockScheduler:
    """Runs due tasks in order of time when the test calls `advance`."""

    def __init__(self, time: MockTime) -> None:
        self.time = time
        self._queue: list[tuple[int, int, _MockTask]] = []
        self._ids = itertools.count()

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int) -> _MockTask:
        return self._add(task, delay_ms, -1)

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int, period_ms: int) -> _MockTask:
        return self._add(task, delay_ms, period_ms)

    def schedule_in_thread(
        self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1
    ) -> _MockTask:
        return self._add(task, delay_ms, period_ms)

    @property
    def pending(self) -> int:
        return sum(not entry.cancelled for _, _, entry in self._queue)

    def _add(self, task: Callable[[], object], delay_ms: int, period_ms: int) -> _MockTask:
        entry = _MockTask(task, period_ms)
        heapq.heappush(self._queue, (self.time.monotonic_ms() + delay_ms, next(self._ids), entry))
        return entry

    def advance(self, ms: int) -> None:
        """Move the clock by `ms`, running each due task at its time."""
        end = self.time.monotonic_ms() + ms
        while self._queue and self._queue[0][0] <= end:
            due, _, entry = heapq.heappop(self._queue)
            if entry.cancelled:
                continue
            self.time.advance(max(0, due - self.time.monotonic_ms()))
            entry.task()
            if entry.period_ms > 0 and not entry.cancelled:
                heapq.heappush(self._queue, (due + entry.period_ms, next(self._ids), entry))
        self.time.advance(end - self.time.monotonic_ms())
