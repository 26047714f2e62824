"""How much memory requests may hold while they arrive (KIP-72, `queued.max.request.bytes`)."""

from __future__ import annotations

from typing import Protocol


class Waiter(Protocol):
    """Whoever was refused."""

    def memory_available(self) -> None:
        """Ask again."""
        ...


class MemoryPool:
    """Bytes that are promised to requests which have not wholly arrived.

    Invariant: `available` is the limit without what was taken and not given back. Whoever finds anything left gets all it asks
    for, so `available` falls below 0 by less than one request (Kafka's `SimpleMemoryPool`, not strict): any request comes whole
    in the end. Whoever finds nothing stands in `_waiting`, and they are asked in that order.
    """

    def __init__(self, limit: int) -> None:
        self.available = limit
        self._waiting: dict[Waiter, None] = {}

    def take(self, size: int, waiter: Waiter) -> bool:
        """Promise `size` bytes. If it can't be now: False, and `waiter` hears when it may be."""
        if self.available <= 0:
            self._waiting[waiter] = None
            return False
        self.forget(waiter)
        self.available -= size
        return True

    def hold(self, size: int) -> None:
        """A request that was given back is needed longer."""
        self.available -= size

    def give(self, size: int) -> None:
        """Have bytes back."""
        self.available += size
        while self.available > 0 and self._waiting:
            waiter = next(iter(self._waiting))
            del self._waiting[waiter]
            waiter.memory_available()

    def forget(self, waiter: Waiter) -> None:
        """It waits no longer."""
        self._waiting.pop(waiter, None)
