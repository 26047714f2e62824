"""Reads numbers and texts from the bytes of the server."""

from __future__ import annotations

from kafkapy.connect.errors import DataException


class ByteReader:
    """Reads from a place on. Invariant: `at` is the place of what is read next.

    Args:
        data: All of it.
        at: Where to begin. Default: at the start.

    Example:
        >>> ByteReader(bytes([2, 0, 97])).uint(2)
        2
    """

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        """Return so many bytes. Raises DataException if there are fewer."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise DataException(f"An event of the binary log ends {end - len(self.data)} bytes too early")
        found = self.data[self.at : end]
        self.at = end
        return found

    def uint(self, size: int) -> int:
        """Return a number, least significant byte first."""
        return int.from_bytes(self.take(size), "little")

    def signed(self, size: int) -> int:
        """Return a number that may be negative, least significant byte first."""
        return int.from_bytes(self.take(size), "little", signed=True)

    def big(self, size: int) -> int:
        """Return a number, most significant byte first."""
        return int.from_bytes(self.take(size), "big")

    def packed(self) -> int:
        """Return a number of the protocol, which has 1 to 9 bytes."""
        first = self.uint(1)
        if first < 251:
            return first
        return self.uint({252: 2, 253: 3, 254: 8}[first]) if first in (252, 253, 254) else 0

    def text(self) -> bytes:
        """Return bytes after their length."""
        return self.take(self.packed())

    def rest(self) -> bytes:
        return self.take(self.left)
