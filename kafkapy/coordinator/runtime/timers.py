"""Timers that are restarted far more often than they fire: each heartbeat restarts one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

from kafkapy.common.scheduler import ScheduledTask, Scheduler
from kafkapy.common.time import Time

Key = TypeVar("Key", bound=Hashable)


class _Timer:
    __slots__ = ("deadline_ms", "due_ms", "task")

    def __init__(self, deadline_ms: int, task: ScheduledTask) -> None:
        self.deadline_ms = deadline_ms
        self.due_ms = deadline_ms
        self.task = task


class Timers(Generic[Key]):
    """One timer for each key; `fired(key)` is called when it expires.

    Invariant: each timer has a task that is due no later than its deadline. A restart with a later deadline only
    changes the deadline; the task, if early, schedules itself again for the rest.
    """

    def __init__(self, scheduler: Scheduler, time: Time, fired: Callable[[Key], None]) -> None:
        self._scheduler = scheduler
        self._time = time
        self._fired = fired
        self._timers: dict[Key, _Timer] = {}

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys of running timers."""
        return iter(self._timers)

    def start(self, key: Key, delay_ms: int) -> None:
        """Start or restart the key's timer."""
        deadline = self._time.monotonic_ms() + delay_ms
        timer = self._timers.get(key)
        if timer is not None:
            timer.deadline_ms = deadline
            if timer.due_ms <= deadline:
                return
            timer.task.cancel()
        self._timers[key] = _Timer(deadline, self._schedule(key, delay_ms))

    def cancel(self, key: Key) -> None:
        """Cancel the key's timer, if there is one."""
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.task.cancel()

    def _schedule(self, key: Key, delay_ms: int) -> ScheduledTask:
        return self._scheduler.schedule_once("a coordinator's timer", lambda: self._due(key), max(0, delay_ms))

    def _due(self, key: Key) -> None:
        timer = self._timers[key]
        remaining = timer.deadline_ms - self._time.monotonic_ms()
        if remaining > 0:
            timer.due_ms = timer.deadline_ms
            timer.task = self._schedule(key, remaining)
        else:
            del self._timers[key]
            self._fired(key)
