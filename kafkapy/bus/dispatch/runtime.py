"""What a dispatcher needs of an event loop and of the clients on it; `aio_runtime` and `tx_runtime` have it.

A dispatcher is a coroutine that awaits nothing but what a `Runtime` gives, so that it runs on either loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from kafkapy.common.topic_partition import TopicPartition

T = TypeVar("T")
Offsets = Mapping[TopicPartition, int]


class RevocationListener(Protocol):
    """What a dispatcher does when partitions go."""

    async def revoked(self, partitions: Collection[TopicPartition]) -> None: ...

    async def lost(self, partitions: Collection[TopicPartition]) -> None: ...


class RecordSource(Protocol):
    """A consumer."""

    async def start(self, topics: list[str], listener: RevocationListener) -> None: ...

    async def poll(self, timeout_ms: float) -> Mapping[TopicPartition, list[Any]]: ...

    def pause(self) -> None:
        """All that is assigned now; what is assigned later is paused with the next call."""

    def resume(self) -> None: ...

    async def commit(self, offsets: Offsets) -> None: ...

    async def end_offsets(self) -> dict[TopicPartition, int]:
        """Of what is assigned."""
        ...

    async def position(self, partition: TopicPartition) -> int | None: ...

    async def back_to_committed(self) -> None: ...

    def group_metadata(self) -> Any: ...

    async def stop(self) -> None: ...


class RecordSink(Protocol):
    """A producer."""

    async def start(self, *, transactional: bool) -> None: ...

    async def send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, bytes | None]],
        timestamp_ms: int,
    ) -> None:
        """Returns when it is delivered."""

    async def transaction(self, sends: list[tuple[Any, ...]], offsets: Offsets, group_metadata: Any) -> None:
        """All of these (arguments of `send`) and the offsets, or nothing: it is aborted then, and raises."""

    async def stop(self) -> None: ...


class Runtime(Protocol):
    def source(self, options: Mapping[str, Any]) -> RecordSource: ...

    def sink(self, options: Mapping[str, Any]) -> RecordSink: ...

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start it; it raises nothing."""

    def cancel_spawned(self) -> None:
        """What was spawned and has not ended."""

    async def sleep(self, seconds: float) -> None: ...

    async def within(self, seconds: float, awaitable: Awaitable[T]) -> T:
        """Raises TimeoutError after so long, when it was cancelled."""
        ...

    async def in_thread(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        """Raises TimeoutError after so long; the thread goes on."""
        ...

    def flag(self) -> Flag: ...


class Flag(Protocol):
    """Set once."""

    def set(self) -> None:
        """On the loop's thread."""

    @property
    def is_set(self) -> bool: ...

    async def wait(self, seconds: float) -> bool:
        """Is it set after so long, at most?"""
        ...
