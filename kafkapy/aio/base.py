"""Bridges from the cores' completions to asyncio's tasks and futures."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

from kafkapy.clients.asyncio_driver import AsyncioDriver
from kafkapy.errors import SaslAuthenticationFailedError, SaslConnectionError
from kafkapy.runtime.completion import CancelledError, Completion, spawn

T = TypeVar("T")

_running: set[asyncio.Task[Any]] = set()
"""Strong references to running tasks, since an event loop holds only weak ones."""


async def until(completion: Completion[T]) -> T:
    """The completion's result, read in the caller's own step: the future that is awaited carries no data.

    Cancelling the caller leaves the completion as it is.
    """
    if not completion.done:
        await callback_future(completion.add_callback)
    try:
        return completion.result()
    except CancelledError:
        raise asyncio.CancelledError from None


def callback_future(when: Callable[[Callable[..., object]], object]) -> asyncio.Future[None]:
    """A future that is done when the function passed to `when` is called, on this loop's thread."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    when(lambda *_: None if future.done() else future.set_result(None))
    return future


async def ask(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine over completions and return its result. It is cancelled with the caller."""
    task = spawn(coroutine)
    try:
        return await until(task)
    finally:
        if not task.done:
            task.cancel()


def from_awaitable(coroutine: Coroutine[Any, Any, T]) -> Completion[T]:
    """The reverse: run a coroutine of asyncio in a task of its own, as a completion for a core."""
    completion: Completion[T] = Completion()

    def finished(task: asyncio.Task[T]) -> None:
        _running.discard(task)
        if task.cancelled():
            completion.cancel()
        elif (error := task.exception()) is not None:
            completion.set_exception(error)
        else:
            completion.set_result(task.result())

    task = asyncio.get_running_loop().create_task(coroutine)
    _running.add(task)
    task.add_done_callback(finished)
    return completion


@contextmanager
def aiokafka_start_errors() -> Iterator[None]:
    """Raises errors of a start under the classes of aiokafka, too."""
    try:
        yield
    except SaslAuthenticationFailedError as error:
        raise SaslConnectionError(*error.args) from None


def close_abandoned(client: object, driver: AsyncioDriver, close: Callable[[], object]) -> None:
    """For a client that is garbage-collected without `stop`: warn, and close its connections on its loop."""
    warnings.warn(f"{client!r} was not stopped", ResourceWarning, source=client, stacklevel=3)
    driver.call_soon_threadsafe(close)  # without waiting: the garbage collector may run in any thread


class AsyncClient:
    """Base of the asyncio clients: made inside a running loop, started by `start` or `async with`."""

    def __init__(self) -> None:
        self._driver = AsyncioDriver()

    async def start(self) -> None:
        """Connect to the cluster."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Close connections and free what the client holds."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()
