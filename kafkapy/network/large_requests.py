"""Large requests: to decode one, to encode its answer and to free both takes so long that it is done in threads.

This module alone decides by size; handlers read as if all requests were small.
"""

from __future__ import annotations

import logging
from struct import Struct
from typing import Any, Final

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.many import free, has_many_structs, names_many
from kafkapy.protocol.message import Message
from kafkapy.protocol.wire import NOT_READ, unsigned_varint
from kafkapy.runtime import large_memory
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import Completion, spawn, when_done
from kafkapy.runtime.garbage import Rest
from kafkapy.runtime.hand_over import hand_over

log = logging.getLogger("kafkapy.network.SocketServer")

_SIZE: Final = Struct(">i")
_INT16: Final = Struct(">h")
_ACKS_AND_TIMEOUT: Final = 6
_FIRST_WITH_TRANSACTIONS: Final = 3
_PRODUCE: Final = int(ApiKey.PRODUCE)

DECODED_AT_ONCE: Final = 1 << 16
"""Bytes of a frame that is decoded on the reactor; so is a larger Produce, if it is its records that make it large."""

PRODUCE_DECODED_AT_ONCE: Final = (1 << 20) + (1 << 14)
"""The same of a Produce with very many partitions: records as many as a producer's `max.request.size` allows, and what a request
has besides."""

_VERY_MANY: Final = 1000
"""Topics of a Produce, or partitions of its first one."""

_MANY_STRUCTS: Final = 2_000
"""Structs of a response that take so long to encode that other requests would be held up."""

_COLLECTOR_RESTS: Final = 1 << 19
"""Bytes of a request that may name so much that the collector rests until it is answered."""

_MANY_NAMES: Final = 20_000
"""Names and numbers for which it does."""


def is_large(frame: memoryview, key: int, version: int, position: int) -> bool:
    """Does it take long to decode? `position`: where the body begins."""
    size = len(frame)
    if size <= DECODED_AT_ONCE:
        return False
    return key != _PRODUCE or (size > PRODUCE_DECODED_AT_ONCE and _names_very_many(frame, position, version))


class LargeRequests:
    """Works in threads for what is large.

    Invariant: what it frees is referred to by nothing else: the request is answered, and its body and what was kept for it are
    taken out of it before.
    """

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread

    async def decode(self, request: Request, frame: memoryview | bytes, position: int) -> None:
        """`SchemaError` if it cannot be decoded."""
        rest = Rest() if request.size > _COLLECTOR_RESTS else None
        request.body = await self._in_thread(request.codec.decode_in_thread, frame, position)
        if rest is not None and names_many(request.body, _MANY_NAMES):
            request.rest = rest

    def has_large_answer(self, request: Request, response: Message) -> bool:
        """A Produce that was written in one time slice has not."""
        return (request.api_key is not ApiKey.PRODUCE or request.unwritten) and has_many_structs(
            response, _MANY_STRUCTS
        )

    async def encode(self, request: Request, response: Message) -> None:
        """Encode what the request will be answered with."""
        await self._in_thread(request.encode, response)

    def answered(self, request: Request, response: Message | None) -> None:
        """Free what was asked, and made for the answer, and a large answer itself."""
        if response is None and (request.size <= DECODED_AT_ONCE or request.api_key is ApiKey.PRODUCE):
            return
        things: list[Any] = [request.body, *request.kept]
        if response is not None:
            things.append(response)
        rest, request.rest = request.rest, None
        request.body, request.kept = None, ()
        spawn(self._free(things, rest, request.unfinished))

    def release(self, produce: Any) -> None:
        """Free a Produce that was appended, and the memory that its records lie in."""
        spawn(self._release(produce))

    async def _free(self, things: list[Any], _rest: object, unfinished: Completion[Any] | None) -> None:
        """The collector rests until then."""
        if unfinished is not None:
            await when_done(unfinished)
        await self._in_thread(free, things)

    async def _release(self, produce: Any) -> None:
        await self._in_thread(_release, produce)


def _release(produce: Any) -> None:
    large_memory.release(_memory_of(produce))
    free([produce])


def _memory_of(produce: Any) -> list[memoryview]:
    """All records of a large Produce lie in one piece of memory."""
    for topic in produce.topic_data:
        for chunk in chunks(topic.partition_data):
            hand_over()
            for data in chunk:
                if data.records:
                    return [data.records]
    return []


def _names_very_many(produce: memoryview, position: int, version: int) -> bool:
    """As a Produce begins. What cannot be read is for the decoder to say."""
    flexible = ApiKey.PRODUCE.flexible(version)
    try:
        if version >= _FIRST_WITH_TRANSACTIONS:
            length, position = _read_length(produce, position, flexible, _INT16)
            position += max(0, length)
        topics, position = _read_length(produce, position + _ACKS_AND_TIMEOUT, flexible, _SIZE)
        if not 0 < topics <= _VERY_MANY:
            return topics > 0
        length, position = _read_length(produce, position, flexible, _INT16)
        return _read_length(produce, position + max(0, length), flexible, _SIZE)[0] > _VERY_MANY
    except NOT_READ:
        return False


def _read_length(buffer: memoryview, position: int, flexible: bool, fixed: Struct) -> tuple[int, int]:
    """A length or count, and the position behind it."""
    if flexible:
        length, position = unsigned_varint(buffer, position)
        return length - 1, position
    return fixed.unpack_from(buffer, position)[0], position + fixed.size
