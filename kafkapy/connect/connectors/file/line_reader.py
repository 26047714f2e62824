"""Lines out of bytes that come in pieces."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkapy.connect.errors import ConnectException

MAX_LINE_BYTES: Final = 1 << 30
"""The longest line, in bytes."""


class Line(NamedTuple):
    """A line: its text, without its end, and the position of the byte after it."""

    text: str
    end: int


class LineReader:
    r"""Splits bytes at `\n`, `\r\n` and `\r`.

    Invariant: `_rest` are the bytes after the last whole line, and `_position` is where they begin. A `\r` at the end stays
    there until the next byte shows whether `\n` follows.

    Args:
        position: Of the first byte.

    Example:
        >>> reader = LineReader(0)
        >>> reader.feed(b"one\ntw"), reader.feed(b"o\r\n")
        ([Line(text='one', end=4)], [Line(text='two', end=9)])
    """

    def __init__(self, position: int) -> None:
        self._position = position
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Line]:
        """Take the next bytes and return the lines that are whole now. Invalid UTF-8 becomes U+FFFD.

        Raises:
            ConnectException: A line is longer than `MAX_LINE_BYTES`.
        """
        ends_before = self._rest.endswith(b"\r")
        self._rest += data
        if not (ends_before or b"\n" in data or b"\r" in data):
            if len(self._rest) > MAX_LINE_BYTES:
                raise ConnectException(f"A line at position {self._position} is longer than {MAX_LINE_BYTES} bytes")
            return []
        pieces = bytes(self._rest).splitlines(keepends=True)
        self._rest = bytearray() if pieces[-1].endswith(b"\n") else bytearray(pieces.pop())
        return [self._line(piece) for piece in pieces]

    def _line(self, piece: bytes) -> Line:
        self._position += len(piece)
        return Line(piece.rstrip(b"\r\n").decode("utf-8", "replace"), self._position)
