"""What a dispatcher needs of an event loop and of its clients; `aio_runtime` and `tx_runtime` implement it.

A dispatcher is a coroutine that awaits only what a `Runtime` returns, so that it runs on either loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.listener import AsyncConsumerRebalanceListener
from kafkapy.structs import OffsetAndMetadata

T = TypeVar("T")
Offsets = Mapping[TopicPartition, int]


class RevocationListener(Protocol):
    """Called when partitions are revoked or lost."""

    async def revoked(self, partitions: Collection[TopicPartition]) -> None: ...

    async def lost(self, partitions: Collection[TopicPartition]) -> None: ...


class RecordSource:
    """A consumer, of asyncio or Twisted: the methods that both have."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    async def start(self, topics: list[str], listener: RevocationListener) -> None:
        self._consumer.subscribe(topics, listener=_Listener(listener))
        await self._consumer.start()

    async def poll(self, timeout_ms: float) -> Mapping[TopicPartition, list[Any]]:
        records: Mapping[TopicPartition, list[Any]] = await self._consumer.poll(timeout_ms)
        return records

    def pause(self) -> None:
        """Pause all partitions that are assigned now; call it again for partitions assigned later."""
        self._consumer.pause(*self._consumer.assignment())

    def resume(self) -> None:
        self._consumer.resume(*self._consumer.paused())

    async def commit(self, offsets: Offsets) -> None:
        await self._consumer.commit(with_metadata(offsets))

    async def end_offsets(self) -> dict[TopicPartition, int]:
        """Resume the assigned partitions."""
        offsets: dict[TopicPartition, int] = await self._consumer.end_offsets(self._consumer.assignment())
        return offsets

    async def position(self, partition: TopicPartition) -> int | None:
        return await self._consumer.position(partition) if partition in self._consumer.assignment() else None

    async def back_to_committed(self) -> None:
        raise NotImplementedError

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()

    async def stop(self) -> None:
        await self._consumer.stop(autocommit=False)


class _Listener(AsyncConsumerRebalanceListener):
    def __init__(self, to: RevocationListener) -> None:
        self._to = to

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        await self._to.revoked(revoked)

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        return

    async def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        await self._to.lost(lost)


class RecordSink:
    """A producer, of asyncio or Twisted."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    async def start(self, *, transactional: bool) -> None:
        await self._producer.start()
        if transactional:
            await self._producer.init_transactions()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, bytes | None]],
        timestamp_ms: int,
    ) -> None:
        """Send a record; returns when it is delivered."""
        raise NotImplementedError

    async def transaction(self, sends: list[tuple[Any, ...]], offsets: Offsets, group_metadata: Any) -> None:
        """Send all records (arguments of `send`) and commit the offsets in one transaction. On an error the
        transaction is aborted, and the error is raised."""
        raise NotImplementedError

    async def stop(self) -> None:
        await self._producer.stop()


def with_metadata(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    return {partition: OffsetAndMetadata(offset, "", -1) for partition, offset in offsets.items()}


class Runtime(Protocol):
    def source(self, options: Mapping[str, Any]) -> RecordSource: ...

    def sink(self, options: Mapping[str, Any]) -> RecordSink: ...

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine, which must not raise."""

    def cancel_spawned(self) -> None:
        """Coroutines that were started and have not ended."""

    async def sleep(self, seconds: float) -> None: ...

    async def within(self, seconds: float, awaitable: Awaitable[T]) -> T:
        """Await a coroutine. Raises TimeoutError after `seconds`, when the coroutine has been cancelled."""
        ...

    async def in_thread(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        """Run a function in a thread. Raises TimeoutError after `seconds`; the thread continues."""
        ...

    def flag(self) -> Flag: ...

    def close(self) -> None: ...


class Flag(Protocol):
    """A flag that is set once."""

    def set(self) -> None:
        """Set the flag; on the loop's thread."""

    @property
    def is_set(self) -> bool: ...

    async def wait(self, seconds: float) -> bool:
        """Wait for the flag, at most `seconds`. True if it is set."""
        ...
