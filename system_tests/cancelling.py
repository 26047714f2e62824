"""Who cancels calls at moments of chance, as `asyncio.timeout`, `asyncio.wait_for` and `Task.cancel` do it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any


class Cancelling:
    """Calls things and cancels some of them."""

    def __init__(self, chance: random.Random, wanted: int) -> None:
        self.chance = chance
        self.wanted = wanted
        self.done = 0

    @property
    def enough(self) -> bool:
        return self.done >= self.wanted

    async def call(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object] = lambda _: None) -> bool:
        """`take` what it gives, and True, unless it is cancelled before."""
        how = self.chance.choice((self._by_timeout, self._by_wait_for, self._by_cancel))
        try:
            await how(coroutine, take)
        except (TimeoutError, asyncio.CancelledError):
            self.done += 1
            return False
        return True

    def _seconds(self) -> float:
        return self.chance.choice((0.0, 0.0002, 0.001, 0.005, 0.03)) * self.chance.random()

    async def _by_timeout(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object]) -> None:
        async with asyncio.timeout(self._seconds()):
            take(await coroutine)

    async def _by_wait_for(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object]) -> None:
        take(await asyncio.wait_for(coroutine, self._seconds() or 1e-6))

    async def _by_cancel(self, coroutine: Coroutine[Any, Any, Any], take: Callable[[Any], object]) -> None:
        task = asyncio.create_task(coroutine)
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)
        if self.chance.random() < 0.5:
            await asyncio.sleep(self._seconds())
        task.cancel()
        take(await task)
