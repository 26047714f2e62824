"""Deadlines of delayed operations in O(1) (instead of Kafka's hierarchical `TimingWheel`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from kafkapy.runtime.clock import Clock

log = logging.getLogger("kafkapy.server.Timer")

_TICK_MS = 5
"""Deadlines within this many ms share one timer; operations never expire early, and at most this late."""
_LONG_DELAY_MS, _LONG_TICK_MS = 1000, 100
"""Delays of the first value or more have buckets of the second one: they expire at most a tenth of the delay late."""


class Expirable(Protocol):
    """An operation with a deadline. If it completes earlier, it removes itself from its `bucket`."""

    bucket: dict[Expirable, None] | None

    def expire(self) -> None:
        """Called once, after the deadline, if the operation is still in its bucket."""
        ...


class Deadlines:
    """Buckets of 5 ms (100 ms for delays of a second and more): adding and removing are dict operations, and each
    bucket has one timer.

    Invariant: each bucket in `_buckets`, by its end in ms, has exactly one pending call of the clock for that moment,
    so nothing expires early. A completed operation holds no memory until its deadline: acks=all has 30 s by default,
    and completes in a few ms.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[int, dict[Expirable, None]] = {}

    def add(self, task: Expirable, delay_ms: int) -> None:
        now_ms = self._clock.monotonic_ms()
        tick_ms = _TICK_MS if delay_ms < _LONG_DELAY_MS else _LONG_TICK_MS
        end_ms = ((now_ms + delay_ms) // tick_ms + 1) * tick_ms
        bucket = self._buckets.get(end_ms)
        if bucket is None:
            self._buckets[end_ms] = bucket = {}
            self._clock.later(end_ms - now_ms, partial(self._fire, end_ms))
        bucket[task] = None
        task.bucket = bucket

    def should_yield(self) -> bool:
        return self._clock.should_yield()

    def go_on_later(self, work: Callable[[], object]) -> None:
        """Run `work` after the next yield."""
        self._clock.later(0, work)

    def _fire(self, end_ms: int) -> None:
        bucket = self._buckets.pop(end_ms)
        self._expire(bucket, list(bucket))

    def _expire(self, bucket: dict[Expirable, None], tasks: list[Expirable]) -> None:
        """Expire the tasks, of which ten thousand may be due together. Checks the time slice itself, as a timer's call
        is no coroutine."""
        for number, task in enumerate(tasks):
            if number and self._clock.should_yield():
                self.go_on_later(partial(self._expire, bucket, tasks[number:]))
                return
            if task in bucket:
                try:
                    task.expire()
                except Exception:
                    log.exception("Error while %r expired", task)  # go on with the others
