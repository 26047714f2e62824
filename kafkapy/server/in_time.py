"""Time limits of responses, so that they arrive before the client's time-out."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

from kafkapy.network.request import Request
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, first_of, spawn

R = TypeVar("R")

MIN_TIME_LIMIT_MS = 1_000
"""Minimum time limit: even a client that does not wait gets errors if ZooKeeper answers in this time."""


async def in_time(clock: Clock, timeout_ms: int, work: Awaitable[R], request: Request | None = None) -> R | None:
    """Return the result of the work; None if it takes longer. Then the work continues, and its result is dropped.

    `request`: the request that the work reads, if any: it is not freed before the work is done.
    """
    pending = spawn(_result_of(work))
    if request is not None:
        request.unfinished = pending
    time_over: Completion[None] = Completion()
    timer = clock.later(timeout_ms, partial(time_over.set_result, None))
    try:
        await first_of(pending, time_over)
    finally:
        timer.cancel()
    return pending.result() if pending.done else None


async def _result_of(work: Awaitable[R]) -> R:
    return await work
