"""The format of record contexts and nullable arrays in Kafka's buffers."""

from __future__ import annotations

import struct
from typing import Final

from kafkapy.streams.records import Headers, RecordContext

_INT: Final = struct.Struct(">i")
_TIMESTAMP_AND_OFFSET: Final = struct.Struct(">qq")
_NULL: Final = b"\xff\xff\xff\xff"


def nullable_array(data: bytes | None) -> bytes:
    """Serialize as length (4 bytes) and bytes; None as length -1."""
    return _NULL if data is None else _INT.pack(len(data)) + data


def write_context(context: RecordContext) -> bytes:
    """Serialize a context.

    Raises:
        TypeError: It has no topic.
    """
    if context.topic is None:
        raise TypeError("a buffered record has no topic")
    parts = [
        _TIMESTAMP_AND_OFFSET.pack(context.timestamp, context.offset),
        nullable_array(context.topic.encode()),
        _INT.pack(context.partition),
        _INT.pack(len(context.headers)),
    ]
    for name, value in context.headers:
        parts.append(nullable_array(name.encode()))
        parts.append(nullable_array(value))
    return b"".join(parts)


class BufferReader:
    """Reads these formats sequentially.

    Raises:
        ValueError: There are too few bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"{size} bytes are expected, {len(self._data) - self._position} are left")
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def long(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def nullable_array(self) -> bytes | None:
        size = self.integer()
        return None if size == -1 else self.take(size)

    def context(self) -> RecordContext:
        timestamp, offset = self.long(), self.long()
        topic = self._text()
        partition = self.integer()
        headers: Headers = []
        for _ in range(self.integer()):
            name = self._text()
            headers.append((name, self.nullable_array()))
        return RecordContext(timestamp, offset, partition, topic, headers)

    def _text(self) -> str:
        data = self.nullable_array()
        if data is None:
            raise ValueError("a null where there must be a text")
        return data.decode()
