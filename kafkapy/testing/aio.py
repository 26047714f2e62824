"""`KafkaCluster` for asyncio: blocking methods run in a thread and are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

from kafkapy.testing import cluster

P = ParamSpec("P")
R = TypeVar("R")

_AWAITED = frozenset(
    {
        *("start", "stop", "create_topic", "create_topics", "delete_topic", "records", "produce_many", "committed"),
        *("lag", "wait_until_committed", "wait_until_serving", "reset", "heal", "pause", "resume", "kill", "restart"),
        *("cut_once", "delay", "answer_with", "expire_session", "fill_disk", "empty_disk", "leader", "move_leader"),
        *("rebalance", "allow", "deny", "forget_acls", "create_user"),
    }
)


class AsyncKafkaCluster:
    """`kafkapy.testing.KafkaCluster` with the same arguments and attributes, and coroutines as methods.

    `sync` is the wrapped cluster, for `with cut():` or `admin`.

    Invariant: at most one method runs in a thread at any time.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.sync = cluster.KafkaCluster(*arguments, **options)
        self._lock = asyncio.Lock()
        self.clock = AsyncClock(self)

    async def run(self, function: Callable[P, R], *arguments: P.args, **options: P.kwargs) -> R:
        """Run a blocking function in a thread and return its result."""
        async with self._lock:
            return await asyncio.to_thread(function, *arguments, **options)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.sync, name)
        if name not in _AWAITED:
            return value

        async def awaited(*arguments: Any, **options: Any) -> Any:
            result = await self.run(value, *arguments, **options)
            return self if result is self.sync else result

        return awaited

    async def __aenter__(self) -> Self:
        await self.run(self.sync.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.run(self.sync.stop)


class AsyncClock:
    """The cluster's clock, for asyncio."""

    def __init__(self, kafka: AsyncKafkaCluster) -> None:
        self._kafka = kafka

    async def advance(self, seconds: float) -> None:
        await self._kafka.run(self._kafka.sync.clock.advance, seconds)


KafkaCluster = AsyncKafkaCluster
"""The same name as the blocking class, as with the clients in kafkapy.aio."""
