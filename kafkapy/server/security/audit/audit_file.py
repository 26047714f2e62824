"""Audit files: the current one, and rotated ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from kafkapy.server.security.audit.audit_log import AuditWriteError


class RotatingAuditFile:
    """Appends lines to a file; before it exceeds `max_bytes`, it is renamed to `FILE.1`, `FILE.1` to `FILE.2`, and so
    on.

    Only the broker's user may read the files. A moved or deleted one is created again.

    Invariant: `_descriptor` is -1 or that of the opened `_path`, and `_size` is its size.
    """

    def __init__(self, path: Path, max_bytes: int, max_count: int) -> None:
        """
        Args:
            path: The file; missing directories are created.
            max_bytes: The file is rotated before it exceeds this, except by a single line.
            max_count: How many rotated files are kept.
        """
        self._path = path
        self._max_bytes = max_bytes
        self._max_count = max_count
        self._descriptor = -1
        self._size = 0
        self._is_torn = False
        """Whether the file may end with an incomplete line."""

    def write(self, lines: Sequence[bytes]) -> None:
        """See `AuditSink.write`."""
        try:
            self._reopen_if_moved()
            room: list[bytes] = []
            size = 0
            for line in lines:
                if room and self._size + size + len(line) + 1 > self._max_bytes:
                    self._append(room, size)
                    room, size = [], 0
                room += (line, b"\n")
                size += len(line) + 1
            self._append(room, size)
        except OSError as problem:
            self.close()
            raise AuditWriteError(f"{self._path}: {problem.strerror}") from problem

    def stopping(self) -> None:
        """Do nothing, because writes to a disk cannot be aborted."""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, pieces: list[bytes], size: int) -> None:
        if self._size and self._size + size > self._max_bytes:
            self._rotate()
        data = memoryview(b"".join((b"\n" * self._is_torn, *pieces)))
        self._is_torn = True
        while data:
            count = os.write(self._descriptor, data)
            self._size += count
            data = data[count:]
        self._is_torn = False

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _reopen_if_moved(self) -> None:
        if self._descriptor >= 0:
            here = None
            with suppress(FileNotFoundError):
                here = self._path.stat()
            opened = os.fstat(self._descriptor)
            if here is not None and (here.st_ino, here.st_dev) == (opened.st_ino, opened.st_dev):
                return
            self.close()
        self._open()

    def _rotate(self) -> None:
        self.close()
        for number in range(self._max_count - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(self._numbered(number), self._numbered(number + 1))
        os.replace(self._path, self._numbered(1))
        self._open()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")
