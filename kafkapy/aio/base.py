"""From the cores' completions to asyncio's futures."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from kafkapy.clients.asyncio_driver import AsyncioDriver
from kafkapy.clients.completion import CancelledError, Completion, spawn

T = TypeVar("T")


def to_future(completion: Completion[T], loop: asyncio.AbstractEventLoop | None = None) -> asyncio.Future[T]:
    """A future with the completion's outcome. Cancelling it cancels the completion."""
    future: asyncio.Future[T] = (loop or asyncio.get_running_loop()).create_future()

    def finished(done: Completion[T]) -> None:
        if future.done():
            done.exception()
            return
        error = done.exception()
        if error is None:
            future.set_result(done.result())
        elif isinstance(error, CancelledError):
            future.cancel()
        else:
            future.set_exception(error)

    def maybe_cancelled(future: asyncio.Future[T]) -> None:
        if future.cancelled() and not completion.done:
            completion.cancel()

    completion.add_callback(finished)
    if not future.done():
        future.add_done_callback(maybe_cancelled)
    return future


def run(coroutine: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
    """Start a coroutine over completions; its outcome as a future."""
    return to_future(spawn(coroutine))


def from_awaitable(coroutine: Coroutine[Any, Any, T]) -> Completion[T]:
    """The other way round: a coroutine of asyncio (a listener of the user) as a completion for a core."""
    completion: Completion[T] = Completion()

    def finished(task: asyncio.Task[T]) -> None:
        if task.cancelled():
            completion.cancel()
        elif (error := task.exception()) is not None:
            completion.set_exception(error)
        else:
            completion.set_result(task.result())

    asyncio.get_running_loop().create_task(coroutine).add_done_callback(finished)
    return completion


class AsyncClient:
    """What the asyncio clients have in common: made inside a running loop, started by `start` or `async with`."""

    def __init__(self) -> None:
        self._driver = AsyncioDriver()

    async def start(self) -> None:
        """Connect."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Let go of everything."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
