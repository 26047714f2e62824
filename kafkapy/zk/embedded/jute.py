"""Jute, ZooKeeper's serialization of records: big-endian integers, a bool is a byte, a buffer or string an int32 length
(-1: null) and its bytes, a vector an int32 count (-1: null) and its elements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

INT = struct.Struct("!i")
LONG = struct.Struct("!q")
NULL = INT.pack(-1)


class MalformedError(Exception):
    """Bytes that are not a record of the expected kind. The client receives MARSHALLING_ERROR, or its connection is
    closed.
    """


class Decoder:
    """Reads fields sequentially. Memory for a length is allocated only if that many bytes are available."""

    __slots__ = ("_data", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self._data = data
        self.position = position

    def at(self, position: int) -> Decoder:
        """Return another decoder of the same bytes."""
        return Decoder(self._data, position)

    @property
    def remaining(self) -> int:
        return len(self._data) - self.position

    def int32(self) -> int:
        try:
            (value,) = INT.unpack_from(self._data, self.position)
        except struct.error:
            raise MalformedError("an int32 is cut short") from None
        self.position += 4
        return value  # type: ignore[no-any-return]

    def int64(self) -> int:
        try:
            (value,) = LONG.unpack_from(self._data, self.position)
        except struct.error:
            raise MalformedError("an int64 is cut short") from None
        self.position += 8
        return value  # type: ignore[no-any-return]

    def boolean(self) -> bool:
        if self.position >= len(self._data):
            raise MalformedError("a boolean is cut short")
        self.position += 1
        return self._data[self.position - 1] != 0

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        if size > self.remaining:
            raise MalformedError(f"{size} bytes are expected, and {self.remaining} are left")
        self.position += size
        return self._data[self.position - size : self.position]

    def rest(self) -> bytes:
        return self.take(self.remaining)

    def buffer(self) -> bytes | None:
        size = self.int32()
        if size == -1:
            return None
        start = self.position
        if size < 0 or size > len(self._data) - start:
            raise MalformedError(f"a buffer of {size} bytes, and {len(self._data) - start} are left")
        self.position = start + size
        return self._data[start : self.position]

    def string(self) -> str:
        """Read a string that must not be null."""
        text = self.nullable_string()
        if text is None:
            raise MalformedError("a string is null")
        return text

    def nullable_string(self) -> str | None:
        data = self.buffer()
        return None if data is None else data.decode("utf-8", "replace")

    def vector(self, element: Callable[[], T], least_size: int = 4) -> list[T]:
        """Read a vector; null is an empty one. `least_size`: the minimum bytes of an element."""
        count = self.int32()
        if count == -1:
            return []
        if count < 0 or count * least_size > self.remaining:
            raise MalformedError(f"a vector of {count} elements, and {self.remaining} bytes are left")
        return [element() for _ in range(count)]


def string(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    return INT.pack(len(data)) + data


def buffer(data: bytes | None) -> bytes:
    return NULL if data is None else INT.pack(len(data)) + data


def strings(texts: Sequence[str]) -> bytes:
    return INT.pack(len(texts)) + b"".join(map(string, texts))
