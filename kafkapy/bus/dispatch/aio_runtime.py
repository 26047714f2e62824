"""A dispatcher's runtime on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from kafkapy import aio
from kafkapy.bus.dispatch.daemon_threads import DaemonThreads
from kafkapy.bus.dispatch.runtime import Offsets, RecordSink, RecordSource, with_metadata

T = TypeVar("T")


class AioFlag:
    def __init__(self) -> None:
        self._event = asyncio.Event()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        return True


class AioRuntime:
    """Make it for the running loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = DaemonThreads("handlers")

    def source(self, options: Mapping[str, Any]) -> AioSource:
        return AioSource(aio.KafkaConsumer(**options))

    def sink(self, options: Mapping[str, Any]) -> AioSink:
        return AioSink(aio.KafkaProducer(**options))

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel_spawned(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def within(self, seconds: float, awaitable: Awaitable[T]) -> T:
        return await asyncio.wait_for(awaitable, seconds)

    async def in_thread(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if not future.done():
                if error is None:
                    future.set_result(result)
                elif isinstance(error, StopIteration):
                    future.set_exception(RuntimeError("StopIteration was raised in a thread"))
                else:
                    future.set_exception(error)

        def work() -> None:
            result: Any = None
            problem: BaseException | None = None
            try:
                result = function()
            except BaseException as error:
                problem = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, problem)

        self._threads.run(work)
        return await asyncio.wait_for(future, timeout_s)

    def flag(self) -> AioFlag:
        return AioFlag()

    def close(self) -> None:
        self._threads.close()


class AioSource(RecordSource):
    async def back_to_committed(self) -> None:
        found = await self._consumer.seek_to_committed()
        unknown = [partition for partition, offset in found.items() if offset is None]
        if unknown:
            if self._consumer.config["auto_offset_reset"] == "earliest":
                await self._consumer.seek_to_beginning(*unknown)
            else:
                await self._consumer.seek_to_end(*unknown)


class AioSink(RecordSink):
    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, bytes | None]],
        timestamp_ms: int,
    ) -> None:
        await (await self._producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms))

    async def transaction(self, sends: list[tuple[Any, ...]], offsets: Offsets, group_metadata: Any) -> None:
        async with self._producer.transaction():
            deliveries = [
                await self._producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms)
                for topic, value, key, headers, timestamp_ms in sends
            ]
            if offsets:
                await self._producer.send_offsets_to_transaction(with_metadata(offsets), group_metadata)
            await asyncio.gather(*deliveries)
