"""The fields of a request, one after the other: what the codecs that are written by hand read with."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_extensions import i64

_WINDOW: Final = 512
_ITEM: Final = 272
"""A topic's name and what stands around it take no more bytes: names have at most 249."""
_MAX_SHORT_LENGTH: Final = 0x80 << 7


class UnusualError(Exception):
    """Something that comes so seldom that the schema's codec may read it."""


UNUSUAL_OR_WRONG: Final = (UnusualError, IndexError, struct.error, UnicodeDecodeError)
"""What a reader raises; the schema's codec says what is wrong, if something is."""


class RequestReader:
    """Reads in any version, flexible (compact lengths, tagged fields) or not.

    `IndexError` and `struct.error` where the bytes end too early, `UnicodeDecodeError` if a string is not ASCII,
    `UnusualError` for null and for tagged fields.

    Invariant: `_window` is a copy of the buffer's bytes from `_base` on, and `_at` counts from there: bytes are read faster
    than a view, and of records only the first are copied.
    """

    __slots__ = ("_at", "_base", "_buffer", "_flexible", "_window")

    def __init__(self, buffer: memoryview, position: int, flexible: bool) -> None:
        self._buffer = buffer
        self._flexible = flexible
        self._base: i64 = position
        self._at: i64 = 0
        self._window = bytes(buffer[position : position + _WINDOW])

    def item(self) -> None:
        """Next comes a topic or a partition: it has to lie in the window."""
        if self._at > _WINDOW - _ITEM:
            self._move(self._base + self._at)

    def _move(self, position: i64) -> None:
        self._base = position
        self._at = 0
        self._window = bytes(self._buffer[position : position + _WINDOW])

    def numbers(self, unpack: Callable[[bytes, int], tuple[Any, ...]], size: i64) -> tuple[Any, ...]:
        """Numbers of fixed size, by the `unpack_from` of their struct, which takes `size` bytes."""
        at = self._at
        self._at = at + size
        return unpack(self._window, at)

    def int32(self) -> i64:
        at, data = self._at, self._window
        self._at = at + 4
        first: i64 = data[at]
        second: i64 = data[at + 1]
        third: i64 = data[at + 2]
        return (first << 24 | second << 16 | third << 8 | data[at + 3]) - ((first & 0x80) << 25)

    def count(self) -> i64:
        """Of an array."""
        count = self._length() if self._flexible else self.int32()
        if count < 0:
            raise UnusualError
        return count

    def _length(self) -> i64:
        """A compact length of one byte or two; -1 for null."""
        at, data = self._at, self._window
        length: i64 = data[at]
        at += 1
        if length > 0x7F:
            length += (data[at] << 7) - 0x80
            if length >= _MAX_SHORT_LENGTH:
                raise UnusualError
            at += 1
        self._at = at
        return length - 1

    def string(self) -> str:
        if self._flexible:
            size = self._length()
        else:
            at = self._at
            high: i64 = self._window[at]
            size = (high << 8 | self._window[at + 1]) - ((high & 0x80) << 9)
            self._at = at + 2
        if size < 0:
            raise UnusualError
        return self.raw(size).decode("ascii")

    def is_null(self) -> bool:
        """Is the string that comes next null? If it is not, it is still there to be read."""
        at, data = self._at, self._window
        if self._flexible:
            null = data[at] == 0
            size: i64 = 1
        else:
            null = data[at] == 0xFF and data[at + 1] == 0xFF
            size = 2
        if null:
            self._at = at + size
        return null

    def raw(self, size: i64) -> bytes:
        """That many bytes, which must lie in the window."""
        at = self._at
        end = at + size
        if end > len(self._window):
            raise IndexError
        self._at = end
        return self._window[at:end]

    def next_byte(self) -> i64:
        """It is still there to be read."""
        return self._window[self._at]

    def records(self) -> memoryview:
        """Record batches, where they lie in the buffer."""
        if self._flexible:
            data = self._window
            size: i64 = 0
            shift: i64 = 0
            while True:
                byte: i64 = data[self._at]
                self._at += 1
                size |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift > 28:
                    raise UnusualError
            size -= 1
        else:
            size = self.int32()
        start = self._base + self._at
        end = start + size
        if size < 0 or end > len(self._buffer):
            raise UnusualError
        records = self._buffer[start:end]
        self._move(end)
        return records

    def no_tags(self) -> None:
        """There is no tagged field in this place."""
        if self._flexible:
            at = self._at
            if self._window[at]:
                raise UnusualError
            self._at = at + 1
