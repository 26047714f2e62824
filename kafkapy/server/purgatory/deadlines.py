"""Deadlines of delayed operations in O(1) (the job of Kafka's hierarchical `TimingWheel`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from kafkapy.runtime.clock import Clock

log = logging.getLogger("kafkapy.server.Timer")

_TICK_MS = 5
"""Within so many ms deadlines share one timer; nothing expires early, and late by that at most."""
_LONG_DELAY_MS, _LONG_TICK_MS = 1000, 100
"""From the first on within the second: a tenth of the delay at most."""


class Expirable(Protocol):
    """Something with a deadline. When it is done before that, it leaves its `bucket`."""

    bucket: dict[Expirable, None] | None

    def expire(self) -> None:
        """Called once when the deadline has passed and this is still in its bucket."""
        ...


class Deadlines:
    """Buckets of 5 ms (100 ms for delays of a second and more): adding and leaving is a dict's, one call serves a bucket.

    Invariant: each bucket in `_buckets`, by its end in ms, has exactly one pending call of the clock for that moment, so nothing
    expires early. What is done holds no memory until its deadline: acks=all waits 30 s by default, and is done in a few ms.
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
        """After the next yield."""
        self._clock.later(0, work)

    def _fire(self, end_ms: int) -> None:
        bucket = self._buckets.pop(end_ms)
        self._expire(bucket, list(bucket))

    def _expire(self, bucket: dict[Expirable, None], tasks: list[Expirable]) -> None:
        """Ten thousand may be due together. It asks for itself when the turn is over: a timer's call is no coroutine."""
        for number, task in enumerate(tasks):
            if number and self._clock.should_yield():
                self.go_on_later(partial(self._expire, bucket, tasks[number:]))
                return
            if task in bucket:
                try:
                    task.expire()
                except Exception:
                    log.exception("Error while %r expired", task)  # the others have their deadline too
