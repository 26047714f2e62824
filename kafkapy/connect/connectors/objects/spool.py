"""A file on local disk that is written before its upload."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from kafkapy.connect.errors import ConnectException

_BUFFER: Final = 64 * 1024


class Spool:
    """Collects bytes in memory and appends them to a temporary file.

    The file is open only while bytes are appended, so that the number of spools has no limit by open files.

    Invariant: `_buffer` has what the file lacks, and is smaller than 64 KiB after each call.

    Args:
        folder: Where the temporary file is. Default: the system's folder.

    Example:
        >>> spool = Spool()
        >>> spool.write(b"abc")
        3
        >>> Path(spool.complete()).read_bytes()
        b'abc'
        >>> spool.discard()
    """

    closed = False  # pyarrow and gzip ask for it

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._path: str | None = None
        self._buffer = bytearray()
        self._size = 0

    def write(self, data: bytes) -> int:
        self._buffer += data
        self._size += len(data)
        if len(self._buffer) >= _BUFFER:
            self._append()
        return len(data)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Do nothing: `complete` writes the rest."""

    def close(self) -> None:
        """Do nothing: writers of formats close what they write to."""

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def complete(self) -> str:
        """Write the rest and return the path of the file."""
        self._append()
        assert self._path is not None
        return self._path

    def discard(self) -> None:
        """Remove the file."""
        self._buffer.clear()
        if self._path is not None:
            Path(self._path).unlink(missing_ok=True)
            self._path = None

    def _append(self) -> None:
        try:
            if self._path is None:
                fd, self._path = tempfile.mkstemp(prefix="kafkapy-sink-", dir=self._folder)
                os.close(fd)
            with open(self._path, "ab") as file:  # buffered: an unbuffered one may write a part where the disk is full
                file.write(self._buffer)
        except OSError as error:
            raise ConnectException(f"A temporary file cannot be written: {error}") from error
        self._buffer.clear()
