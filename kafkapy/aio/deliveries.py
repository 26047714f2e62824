"""The results of the asyncio producer's sends, which are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar

from kafkapy.aio.base import callback_future
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
    """An awaitable that has kafka-python's methods and, where they differ, asyncio's.

    It need not be awaited. Cancelling a task that awaits it does not cancel the delivery.
    """

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, T]:
        if not self.is_done:
            yield from callback_future(self._when_done)
        return self.result()

    def done(self) -> bool:
        """Has the delivery succeeded or failed?"""
        return self.is_done

    def cancelled(self) -> bool:
        """Always False: a queued record is sent."""
        return False

    def result(self) -> T:
        """The result. Raises asyncio.InvalidStateError if the delivery is not done, or the error with which it
        failed."""
        if not self.is_done:
            raise asyncio.InvalidStateError("Result is not set.")
        return super().get(0)

    def exception(self) -> BaseException | None:  # type: ignore[override]  # a method, as asyncio's futures have it
        """The error with which the delivery failed, or None. Raises asyncio.InvalidStateError if it is not done."""
        if not self.is_done:
            raise asyncio.InvalidStateError("Exception is not set.")
        return self._error

    def get(self, timeout: float | None = None) -> T:
        """Wait for the result, at most `timeout` seconds, in a thread other than the loop's. On the loop, await it."""
        if not self.is_done and timeout != 0 and asyncio._get_running_loop() is not None:
            raise IllegalStateError("get() would block the event loop, which it waits for: await the delivery")
        return super().get(timeout)

    def add_done_callback(self, f: Callable[[Self], object]) -> None:
        """Call `f(delivery)` on the loop when it is done."""
        loop = asyncio.get_running_loop()
        self._when_done(lambda: loop.call_soon(f, self))

    def remove_done_callback(self, f: Callable[[Self], object]) -> int:
        """Does nothing. It exists for `asyncio.wait`, whose callbacks do no harm when they are called later."""
        return 0


class Delivery(AwaitedDelivery[RecordMetadata], FutureRecordMetadata):
    """The result of `send`: awaiting it returns the `RecordMetadata`, or raises."""

    __slots__ = ()


class BatchDelivery(AwaitedDelivery[list[BatchMetadata]], FutureBatchMetadata):
    """The result of `send_many`: awaiting it returns the `BatchMetadata` of each batch."""

    __slots__ = ()
