"""Cuts a byte stream into length-prefixed frames, the outermost layer of Kafka's protocol."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Protocol

from kafkapy.clients.foreign_starts import told_by
from kafkapy.errors import WrongProtocolError
from kafkapy.protocol.errors import Errors, KafkaError

_FRAME_LENGTH = struct.Struct(">i")

DEFAULT_MAX_FRAME_BYTES = 1 << 30
"""Limit of one response: far above fetch.max.bytes (50 MiB), far below the lengths that garbage could announce."""


def frame_length(buffer: bytearray | memoryview, max_frame_bytes: int) -> int:
    """Return the length at the start of `buffer`.

    Raises `KafkaError(UNKNOWN_SERVER_ERROR)` for an impossible length, and WrongProtocolError, with text that follows
    the peer's address, if the bytes belong to another protocol.
    """
    length: int = _FRAME_LENGTH.unpack_from(buffer)[0]
    if not 0 <= length <= max_frame_bytes:
        told = told_by(buffer)
        if told is not None:
            raise WrongProtocolError(told)
        raise KafkaError(
            Errors.UNKNOWN_SERVER_ERROR,
            f"The peer announced a response of {length} bytes; at most {max_frame_bytes} are accepted. "
            "Is it a Kafka listener, and without TLS?",
        )
    return length


class Receiver(Protocol):
    """Receives the bytes of a connection and cuts them into frames."""

    def buffer(self) -> memoryview:
        """Return memory for the next bytes, not empty."""
        ...

    def received(self, count: int) -> Iterable[tuple[memoryview, bool]]:
        """Return the frames that `count` more bytes complete, without their length fields, each with whether it is
        owned.

        A frame that is not owned is valid until the next call of `buffer`.
        Raises `KafkaError(UNKNOWN_SERVER_ERROR)` for a negative length or one above the bound.
        """
        ...


_WHOLE_FRAME_BYTES = 1 << 20
_LARGE_FRAME_BYTES = 1 << 21
"""Slightly larger than a response with one partition's `max.partition.fetch.bytes`, by default 1 MiB."""
_SPARES = 2
"""Two, because one response is decoded while the next is received."""
_KEPT_BY_MALLOC = 1 << 22
"""glibc returns freed blocks above a threshold to the kernel, and raises the threshold to their size. One block of
this size raises it so far that objects decoded from a response reuse memory instead of faulting in new pages."""


class ReceiveBuffer:
    """Receives the bytes of one connection, without copies of large frames.

    Invariant: while no frame is begun, bytes are received into `_scratch`, which connections of one thread share; else
    into the first `_size` bytes of `_frame`, which holds the first `_filled` bytes of one frame (its length field
    included). `_frame` grows with the received bytes, never beyond the frame's end, and beyond 2 MiB never to more
    than twice what was received. `_spares` has the memory of the last large frames. It is reused when no views of it
    are left, because faulting in new memory costs more than receiving into it.
    """

    def __init__(self, scratch: memoryview, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self._scratch = scratch
        self._max_frame_bytes = max_frame_bytes
        self._frame: bytearray | None = None
        self._size = 0
        self._filled = 0
        self._spares: list[bytearray] = []

    def buffer(self) -> memoryview:
        frame = self._frame
        if frame is None:
            return self._scratch
        if self._filled == self._size:
            frame = self._grow(frame)
        return memoryview(frame)[self._filled : self._size]

    def received(self, count: int) -> Iterator[tuple[memoryview, bool]]:
        frame = self._frame
        if frame is None:
            yield from self._cut(self._scratch[:count])
            return
        self._filled += count
        if self._filled >= 4:
            end = 4 + frame_length(frame, self._max_frame_bytes)
            if self._filled == end:
                self._frame = None
                yield memoryview(frame)[4:end], True

    def _cut(self, data: memoryview) -> Iterator[tuple[memoryview, bool]]:
        position, count = 0, len(data)
        while count - position >= 4:
            end = position + 4 + frame_length(data[position : position + 4], self._max_frame_bytes)
            if end > count:
                break
            yield data[position + 4 : end], False
            position = end
        if position < count:
            self._frame = bytearray(data[position:])
            self._size = self._filled = count - position

    def _grow(self, frame: bytearray) -> bytearray:
        size = self._size
        if size < 4:
            wanted = 4
        else:
            end = 4 + frame_length(frame, self._max_frame_bytes)
            wanted = min(end, max(_LARGE_FRAME_BYTES, 2 * size))
        bigger = self._memory(wanted)
        bigger[:size] = memoryview(frame)[:size]
        self._frame, self._size = bigger, wanted
        return bigger

    def _memory(self, size: int) -> bytearray:
        """Return at least `size` bytes of memory, with arbitrary contents."""
        if not _WHOLE_FRAME_BYTES // 4 <= size <= _LARGE_FRAME_BYTES:
            return bytearray(size)
        spares = self._spares
        for index in range(len(spares)):
            # A view holds a reference to its bytearray: without views, only this list and the call do.
            if len(spares[index]) >= size and sys.getrefcount(spares[index]) == 2:
                return spares[index]
        if not spares:
            bytes(_KEPT_BY_MALLOC)  # zeroed by the kernel, so that no page is touched
        memory = bytearray(size)
        spares.append(memory)
        del spares[:-_SPARES]
        return memory


class BulkBuffer:
    """Memory for large responses, one at a time: each is received where the previous one was.

    Invariant: `_buffer` holds the first `_filled` bytes of one frame (its length field included). It grows to at most
    twice the received bytes, whatever length the frame announces. A frame is valid until the next byte is received.
    """

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self._buffer = bytearray(_WHOLE_FRAME_BYTES)
        self._max_frame_bytes = max_frame_bytes
        self._filled = 0

    def buffer(self) -> memoryview:
        if self._filled == len(self._buffer):
            bigger = bytearray(min(self._end(), 2 * self._filled))
            bigger[: self._filled] = self._buffer
            self._buffer = bigger
        return memoryview(self._buffer)[self._filled :]

    def received(self, count: int) -> Iterable[tuple[memoryview, bool]]:
        self._filled += count
        end = self._end() if self._filled >= 4 else self._filled + 1
        if self._filled < end:
            return ()
        if self._filled > end:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The peer sent more than was asked for")
        self._filled = 0
        return ((memoryview(self._buffer)[4:end], True),)

    def _end(self) -> int:
        return 4 + frame_length(self._buffer, self._max_frame_bytes)
