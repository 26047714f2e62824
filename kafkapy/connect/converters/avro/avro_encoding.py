"""Avro's binary encoding of single values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from kafkapy.connect.errors import DataException

Encode = Callable[[bytearray, Any], None]
"""Appends a value."""
Decode = Callable[["AvroInput"], Any]
"""Reads a value."""
FLOAT: Final = struct.Struct("<f")
DOUBLE: Final = struct.Struct("<d")
_DEEPEST: Final = 200
_MOST_EMPTY: Final = 1 << 16
"""Items without fields have no bytes."""


class AvroInput:
    """Bytes that are read from the front.

    Invariant: `at` is within the data; a read beyond its end raises DataException.

    Args:
        data: All bytes.

    Example:
        >>> AvroInput(bytes([0x03])).long()
        -2
    """

    __slots__ = ("at", "data", "depth")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.depth = 0

    def long(self) -> int:
        """Read an integer."""
        data, at, shift, number = self.data, self.at, 0, 0
        while True:
            if at >= len(data) or shift > 63:
                raise DataException("The Avro data end too early, or have an integer of more than 64 bits")
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        self.at = at
        return (number >> 1) ^ -(number & 1)

    def take(self, count: int) -> bytes:
        """Read some bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise DataException("The Avro data end too early")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def text(self) -> str:
        """Read a string."""
        try:
            return self.take(self.long()).decode()
        except UnicodeDecodeError as error:
            raise DataException(f"The Avro data have a string that is no UTF-8: {error}") from error

    def count(self) -> int:
        """Read the number of items of a block of an array or a map; 0: it was the last block."""
        count = self.long()
        if count < 0:
            self.long()
            count = -count
        if count > max(len(self.data) - self.at, _MOST_EMPTY):
            raise DataException(f"The Avro data have {count} items announced, and fewer bytes")
        return count

    def enter(self) -> None:
        """Begin a nested value. Raises DataException for too many levels."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise DataException(f"The Avro data are nested deeper than {_DEEPEST} levels")

    def leave(self) -> None:
        """End a nested value."""
        self.depth -= 1


def put_long(out: bytearray, value: int) -> None:
    """Append an integer.

    Args:
        out: Grows.
        value: Of 64 bits.

    Example:
        >>> put_long(out := bytearray(), 64), bytes(out).hex()
        (None, '8001')
    """
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def put_bytes(out: bytearray, value: bytes) -> None:
    """Append bytes with their length."""
    put_long(out, len(value))
    out += value


def put_text(out: bytearray, value: str) -> None:
    """Append a string."""
    put_bytes(out, value.encode(errors="replace"))
