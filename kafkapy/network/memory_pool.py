"""A limit of the memory of requests that have not wholly arrived (KIP-72, `queued.max.request.bytes`)."""

from __future__ import annotations

from typing import Protocol


class Waiter(Protocol):
    """A connection that waits for memory."""

    def memory_available(self) -> None:
        """Called when memory may be available."""
        ...


class MemoryPool:
    """Memory that is reserved for requests which have not wholly arrived.

    Invariant: `available` is the limit less what is reserved. A request is granted in full as long as `available` is
    positive, so it may fall below 0 by less than one request (Kafka's `SimpleMemoryPool`, not strict): any request can
    be received. Waiters are notified in the order in which they were refused.
    """

    def __init__(self, limit: int) -> None:
        self.available = limit
        self._waiting: dict[Waiter, None] = {}

    def reserve(self, size: int, waiter: Waiter) -> bool:
        """Reserve `size` bytes. Returns False if there are none; then the waiter's `memory_available` is called later."""
        if self.available <= 0:
            self._waiting[waiter] = None
            return False
        self.remove_waiter(waiter)
        self.available -= size
        return True

    def reserve_again(self, size: int) -> None:
        """Reserve memory again for a request that is needed longer."""
        self.available -= size

    def release(self, size: int) -> None:
        """Return reserved bytes to the pool, and notify waiters."""
        self.available += size
        while self.available > 0 and self._waiting:
            waiter = next(iter(self._waiting))
            del self._waiting[waiter]
            waiter.memory_available()

    def remove_waiter(self, waiter: Waiter) -> None:
        """Remove a waiter."""
        self._waiting.pop(waiter, None)
