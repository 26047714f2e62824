"""A slice of a log file that is sent without being read (Kafka's `FileRecords.slice`)."""

from __future__ import annotations

import os
from typing import BinaryIO


class FileRecords:
    """Bytes `[position, position + size)` of an open log file.

    Invariant: the slice keeps the file object alive, so its descriptor stays valid after the segment is deleted or
    closed. The bytes below `position + size` were complete batches (or cut at the fetch limit) when the slice was
    taken. They never change afterwards, but a truncation may cut them off: a reader that finds fewer bytes must close
    the connection.
    """

    __slots__ = ("file", "position", "size")

    def __init__(self, file: BinaryIO, position: int, size: int) -> None:
        self.file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def fileno(self) -> int:
        return self.file.fileno()

    def read(self) -> bytes:
        """Return all bytes of the slice (fewer only if the file was truncated meanwhile)."""
        return os.pread(self.file.fileno(), self.size, self.position)
