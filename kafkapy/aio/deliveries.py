"""What the sends of the asyncio producer give: results that are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar

from kafkapy.aio.base import happened
from kafkapy.errors import IllegalStateError
from kafkapy.producer.future import (
    BatchMetadata,
    DeliveryFuture,
    FutureBatchMetadata,
    FutureRecordMetadata,
    RecordMetadata,
)

T = TypeVar("T")


class AwaitedDelivery(DeliveryFuture[T]):
    """An awaitable that has kafka-python's methods and, of those that differ, asyncio's. Nobody has to await it; whoever
    is cancelled while he does cancels nothing."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, T]:
        if not self.is_done:
            yield from happened(self._when_done)
        return self.result()

    def done(self) -> bool:
        """Is it delivered, or has it failed?"""
        return self.is_done

    def cancelled(self) -> bool:
        """Never: what is queued is sent."""
        return False

    def result(self) -> T:
        """The outcome, which must be there. Raises asyncio.InvalidStateError if it isn't, or what it failed with."""
        if not self.is_done:
            raise asyncio.InvalidStateError("Result is not set.")
        return super().get(0)

    def exception(self) -> BaseException | None:  # type: ignore[override]  # a method, as asyncio's futures have it
        """What it failed with, None if it didn't. Raises asyncio.InvalidStateError if it is not done."""
        if not self.is_done:
            raise asyncio.InvalidStateError("Exception is not set.")
        return self._error

    def get(self, timeout: float | None = None) -> T:
        """For other threads: wait for the result, at most `timeout` seconds. On a loop it must be awaited."""
        if not self.is_done and timeout != 0 and asyncio._get_running_loop() is not None:
            raise IllegalStateError("get() would block the event loop, which it waits for: await the delivery")
        return super().get(timeout)

    def add_done_callback(self, f: Callable[[Self], object]) -> None:
        """Call `f(delivery)` on the loop when it is done."""
        loop = asyncio.get_running_loop()
        self._when_done(lambda: loop.call_soon(f, self))

    def remove_done_callback(self, f: Callable[[Self], object]) -> int:
        """Takes nothing back: it is here for `asyncio.wait`, whose callbacks do no harm later."""
        return 0


class Delivery(AwaitedDelivery[RecordMetadata], FutureRecordMetadata):
    """What `send` gives: awaiting it gives the `RecordMetadata`, or raises."""

    __slots__ = ()


class BatchDelivery(AwaitedDelivery[list[BatchMetadata]], FutureBatchMetadata):
    """What `send_many` gives: awaiting it gives the `BatchMetadata`s."""

    __slots__ = ()
