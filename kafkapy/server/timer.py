"""Deadlines of delayed operations in O(1) (the job of Kafka's hierarchical `TimingWheel`)."""

from __future__ import annotations

import logging
from typing import Any, Protocol

log = logging.getLogger("kafkapy.server.Timer")


class Expirable(Protocol):
    """Something with a deadline."""

    completed: bool

    def expire(self) -> None:
        """Called once when the deadline has passed and `completed` is still false."""
        ...


class Timer:
    """Buckets of `tick_ms`: adding appends to a list, cancelling is setting `completed`, one reactor call serves a bucket.

    Invariant: each bucket in `_buckets` has exactly one pending reactor call, for the end of its tick, so nothing expires early.
    """

    def __init__(self, reactor: Any, tick_ms: int = 5) -> None:
        self._reactor = reactor
        self._tick_ms = tick_ms
        self._buckets: dict[int, list[Expirable]] = {}

    def add(self, task: Expirable, delay_ms: int) -> None:
        now_ms = self._reactor.seconds() * 1000
        tick = int((now_ms + delay_ms) // self._tick_ms) + 1
        bucket = self._buckets.get(tick)
        if bucket is None:
            self._buckets[tick] = bucket = []
            self._reactor.callLater(max(0.0, (tick * self._tick_ms - now_ms) / 1000), self._fire, tick)
        bucket.append(task)

    def _fire(self, tick: int) -> None:
        for task in self._buckets.pop(tick):
            if not task.completed:
                try:
                    task.expire()
                except Exception:
                    log.exception("Error while %r expired", task)  # the others have their deadline too
