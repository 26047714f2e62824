"""A slice of a log file that goes to the socket without being read (Kafka's `FileRecords.slice`)."""

from __future__ import annotations

import os
from typing import BinaryIO


class FileRecords:
    """Bytes `[position, position + size)` of an open log file.

    Invariant: the slice keeps the file object alive, so its descriptor stays valid after the segment is deleted or closed;
    the bytes below `position + size` were complete batches (or a cut at the fetch limit) when the slice was taken and are
    never changed afterwards, only cut off by a truncation: a reader that finds fewer bytes must end the connection.
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
        """All bytes of the slice (short only if the file was truncated meanwhile)."""
        return os.pread(self.file.fileno(), self.size, self.position)
