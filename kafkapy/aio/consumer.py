"""`KafkaConsumer` for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, Unpack

from kafkapy.aio.base import from_awaitable, run
from kafkapy.clients.asyncio_driver import AsyncioDriver
from kafkapy.clients.completion import Completion
from kafkapy.consumer.async_consumer import T
from kafkapy.consumer.async_faces import AwaitableConsumer
from kafkapy.consumer.options import ConsumerOptions


class KafkaConsumer(AwaitableConsumer):
    """Reads topics on the running event loop.

        async with KafkaConsumer("topic", group_id="group", bootstrap_servers="host:9092") as consumer:
            async for record in consumer:
                ...

    Make it inside a coroutine. The methods are those of `kafkapy.KafkaConsumer`; those that take time are awaited.
    Listeners may be coroutines (`AsyncConsumerRebalanceListener`).
    """

    def __init__(self, *topics: str, **configs: Unpack[ConsumerOptions]) -> None:
        super().__init__(AsyncioDriver(), topics, configs)

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.stop(autocommit=False)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """After a failure nothing is committed: the record at hand may not have been dealt with."""
        await self.stop(autocommit=kind is None)

    def _promise(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        return run(coroutine)

    def _adopt(self, awaitable: Any) -> Completion[Any]:
        return from_awaitable(awaitable)
