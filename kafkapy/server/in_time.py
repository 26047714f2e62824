"""Answers that do not wait for longer than the client does."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, spawn

R = TypeVar("R")

LEAST_PATIENCE_MS = 1_000
"""Who waits for nothing still hears what is wrong with the request, as far as ZooKeeper answers in that time."""


async def in_time(clock: Clock, timeout_ms: int, work: Awaitable[R]) -> R | None:
    """What comes of the work; None if it takes longer than that. It goes on then, and nobody hears what comes of it."""
    first: Completion[R | None] = Completion()

    def done(finished: Completion[R]) -> None:
        error = finished.exception()
        if error is None:
            first.set_result(finished.result())
        else:
            first.set_exception(error)

    timer = clock.later(timeout_ms, lambda: first.set_result(None))
    spawn(_result_of(work)).add_callback(done)
    try:
        return await first
    finally:
        timer.cancel()


async def _result_of(work: Awaitable[R]) -> R:
    return await work
