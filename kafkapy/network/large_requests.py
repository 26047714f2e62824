"""Large requests: they are decoded, their responses encoded, and both freed, in threads.

Only this module decides by size; handlers treat all requests alike.
"""

from __future__ import annotations

import logging
from struct import Struct
from typing import Any, Final

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.many import free, has_many_names, has_many_structs
from kafkapy.protocol.message import Message
from kafkapy.protocol.wire import DECODE_ERRORS, unsigned_varint
from kafkapy.runtime import large_memory
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import Completion, spawn, when_done
from kafkapy.runtime.garbage import GcPause
from kafkapy.runtime.yield_gil import yield_gil

log = logging.getLogger("kafkapy.network.SocketServer")

_SIZE: Final = Struct(">i")
_INT16: Final = Struct(">h")
_ACKS_AND_TIMEOUT: Final = 6
_FIRST_WITH_TRANSACTIONS: Final = 3
_PRODUCE: Final = int(ApiKey.PRODUCE)

INLINE_DECODE_BYTES: Final = 1 << 16
"""A frame of at most this many bytes is decoded on the reactor, and so is a larger Produce that is large only by its
records."""

INLINE_PRODUCE_BYTES: Final = (1 << 20) + (1 << 14)
"""The same limit for a Produce with very many partitions: the records of a producer's `max.request.size`, plus the rest
of the request.
"""

_MANY_PARTITIONS: Final = 1000
"""Topics of a Produce, or partitions of its first topic."""

_MANY_STRUCTS: Final = 2_000
"""A response with more structs is encoded in a thread, so that other requests are not delayed."""

_GC_PAUSE_MIN_BYTES: Final = 1 << 19
"""A request of more bytes than this may contain so many objects that the garbage collector is paused until it is
answered."""

_MANY_NAMES: Final = 20_000
"""With more names and numbers than this, it is."""


def is_large(frame: memoryview, key: int, version: int, position: int) -> bool:
    """Return whether the frame takes long to decode. `position`: the start of the body."""
    size = len(frame)
    if size <= INLINE_DECODE_BYTES:
        return False
    return key != _PRODUCE or (size > INLINE_PRODUCE_BYTES and _has_many_partitions(frame, position, version))


class LargeRequests:
    """Decodes, encodes and frees large requests in threads.

    Invariant: nothing else refers to what it frees. The request is answered, and its body and what was kept for it are
    removed from it before.
    """

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread

    async def decode(self, request: Request, frame: memoryview | bytes, position: int) -> None:
        """Decode the request's body.

        Raises:
            SchemaError: the body cannot be decoded.
        """
        gc_pause = GcPause() if request.size > _GC_PAUSE_MIN_BYTES else None
        request.body = await self._in_thread(request.codec.decode_in_thread, frame, position)
        if gc_pause is not None and has_many_names(request.body, _MANY_NAMES):
            request.gc_pause = gc_pause

    def has_large_answer(self, request: Request, response: Message) -> bool:
        """Return whether the response must be encoded in a thread.

        For a Produce that was appended in one time slice it never is."""
        return (request.api_key is not ApiKey.PRODUCE or request.has_unappended) and has_many_structs(
            response, _MANY_STRUCTS
        )

    async def encode(self, request: Request, response: Message) -> None:
        """Encode the response in a thread."""
        await self._in_thread(request.encode, response)

    def answered(self, request: Request, response: Message | None) -> None:
        """Free the request's body, what was made for the answer, and a large response."""
        if response is None and (request.size <= INLINE_DECODE_BYTES or request.api_key is ApiKey.PRODUCE):
            return
        things: list[Any] = [request.body, *request.kept]
        if response is not None:
            things.append(response)
        gc_pause, request.gc_pause = request.gc_pause, None
        request.body, request.kept = None, ()
        spawn(self._free(things, gc_pause, request.unfinished))

    def release(self, produce: Any) -> None:
        """Free a Produce that was appended, and the memory of its records."""
        spawn(self._release(produce))

    async def _free(self, things: list[Any], _gc_pause: object, unfinished: Completion[Any] | None) -> None:
        """Free the objects in a thread. The garbage collector stays paused until they are gone."""
        if unfinished is not None:
            await when_done(unfinished)
        await self._in_thread(free, things)

    async def _release(self, produce: Any) -> None:
        await self._in_thread(_release, produce)


def _release(produce: Any) -> None:
    large_memory.release(_memory_of(produce))
    free([produce])


def _memory_of(produce: Any) -> list[memoryview]:
    """Return the mapping of the records; all records of a large Produce lie in one."""
    for topic in produce.topic_data:
        for chunk in chunks(topic.partition_data):
            yield_gil()
            for data in chunk:
                if data.records:
                    return [data.records]
    return []


def _has_many_partitions(produce: memoryview, position: int, version: int) -> bool:
    """Read the start of a Produce, and return whether it has very many topics or partitions.

    False if it cannot be read."""
    flexible = ApiKey.PRODUCE.flexible(version)
    try:
        if version >= _FIRST_WITH_TRANSACTIONS:
            length, position = _read_length(produce, position, flexible, _INT16)
            position += max(0, length)
        topics, position = _read_length(produce, position + _ACKS_AND_TIMEOUT, flexible, _SIZE)
        if not 0 < topics <= _MANY_PARTITIONS:
            return topics > 0
        length, position = _read_length(produce, position, flexible, _INT16)
        return _read_length(produce, position + max(0, length), flexible, _SIZE)[0] > _MANY_PARTITIONS
    except DECODE_ERRORS:
        return False


def _read_length(buffer: memoryview, position: int, flexible: bool, fixed: Struct) -> tuple[int, int]:
    """Return a length or count, and the position after it."""
    if flexible:
        length, position = unsigned_varint(buffer, position)
        return length - 1, position
    return fixed.unpack_from(buffer, position)[0], position + fixed.size
