"""Answers that do not wait for longer than the client does."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from typing import TypeVar

from kafkapy.network.request import Request
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, first_of, spawn

R = TypeVar("R")

LEAST_PATIENCE_MS = 1_000
"""A client that does not wait still hears what is wrong with the request, as far as ZooKeeper answers in that time."""


async def in_time(clock: Clock, timeout_ms: int, work: Awaitable[R], request: Request | None = None) -> R | None:
    """The result of the work; None if it takes longer than that. It goes on then, and its result is dropped.

    `request`: what the work is for, if it reads the request: that is not freed before the work is done.
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
