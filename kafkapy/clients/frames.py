"""Cutting a byte stream into length-prefixed frames: the outermost layer of Kafka's protocol."""

from __future__ import annotations

import struct

from kafkapy.protocol.errors import Errors, KafkaError

_SIZE = struct.Struct(">i")

DEFAULT_MAX_FRAME_BYTES = 1 << 30
"""Bound on one response: far above fetch.max.bytes (50 MiB), far below what a garbled length could ask for."""


class FrameReader:
    """Collects bytes until whole frames (int32 length, then as many bytes) are there.

    Invariant: `_buffer` holds the bytes of at most one unfinished frame (its length field included), and its length was
    found to be within `max_frame_bytes` before any byte of the frame was kept. Memory grows with the bytes that came,
    never with the length that was promised.
    """

    def __init__(self, max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> list[memoryview]:
        """The frames that `data` completes, without their length fields.

        A frame is a view: of `data` itself if it came in one piece, else of a buffer that is given away with it.
        Raises `KafkaError(UNKNOWN_SERVER_ERROR)` for a negative length or one above the bound.
        """
        frames: list[memoryview] = []
        rest = memoryview(data)
        while rest:
            if not self._buffer and len(rest) >= 4:
                end = 4 + self._frame_length(rest)
                if end <= len(rest):
                    frames.append(rest[4:end])
                    rest = rest[end:]
                    continue
            rest = self._take(rest, frames)
        return frames

    def _take(self, data: memoryview, frames: list[memoryview]) -> memoryview:
        """Move the bytes that belong to the unfinished frame into the buffer; returns what is left of `data`."""
        buffer = self._buffer
        if len(buffer) < 4:
            missing = 4 - len(buffer)
            buffer += data[:missing]
            data = data[missing:]
            if len(buffer) < 4:
                return data
        end = 4 + self._frame_length(buffer)
        missing = end - len(buffer)
        buffer += data[:missing]
        if len(buffer) == end:
            frames.append(memoryview(buffer)[4:])
            self._buffer = bytearray()
        return data[missing:]

    def _frame_length(self, buffer: bytearray | memoryview) -> int:
        length: int = _SIZE.unpack_from(buffer)[0]
        if not 0 <= length <= self._max_frame_bytes:
            raise KafkaError(
                Errors.UNKNOWN_SERVER_ERROR,
                f"The peer announced a response of {length} bytes; at most {self._max_frame_bytes} are accepted. "
                "Is it a Kafka listener, and without TLS?",
            )
        return length
