"""A file that is read on as it grows, under whatever name."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO, Final, NamedTuple

from kafkapy.connect.errors import ConnectException

_HEAD: Final = 256
_DAMAGE: Final = (EOFError, zlib.error, gzip.BadGzipFile)


class FilePlace(NamedTuple):
    """How far a file was read.

    Attributes:
        position: In bytes, of the uncompressed text.
        head: CRC of the first bytes of the file, and how many they are: another file with the same inode differs.
        head_size: See above.
    """

    position: int = 0
    head: int = 0
    head_size: int = 0

    def stored(self) -> dict[str, Any]:
        """Return the source offset."""
        return self._asdict()

    @classmethod
    def of(cls, stored: Any) -> FilePlace:
        """Return the place of a source offset. Raises ConnectException."""
        if stored is None:
            return cls()
        values = [stored.get(name) for name in cls._fields]
        if not all(isinstance(each, int) and each >= 0 for each in values):
            raise ConnectException(f"The stored offset {dict(stored)} is none of this connector.")
        return cls(*values)


class FollowedFile:
    """Reads what is new in a file.

    Invariant: `_stream` is open at `position` of the uncompressed text, or None.

    Args:
        path: Where the file is now.
        place: Where to begin.

    Attributes:
        path: As given; changes when the file is renamed.
        inode: Device and inode.
        position: Where the next byte is read.
        head: CRC and number of the first bytes.
        is_ended: Whether a compressed file was read to its end.
    """

    def __init__(self, path: str, place: FilePlace) -> None:
        self.path = path
        self.inode = inode_of(os.stat(path))
        self._open: Callable[[BinaryIO], BinaryIO] | None = _decompressor(path)
        self._raw: BinaryIO | None = None
        self._stream: BinaryIO | None = None
        self.is_ended = False
        self._unreadable_size = -1
        self.head = place.head, place.head_size
        self.position = place.position
        self._check_head()

    @property
    def is_compressed(self) -> bool:
        return self._open is not None

    def read(self, size: int) -> bytes:
        """Return the next bytes, none if there are none now. Raises OSError.

        A file that has become shorter is read from the start.
        """
        if self.is_ended or (self._stream is None and not self._reopen()):
            return b""
        assert self._stream is not None and self._raw is not None
        if not self.is_compressed and os.fstat(self._raw.fileno()).st_size < self.position:
            self.position, self.head = 0, (0, 0)
            self._stream.seek(0)
        try:
            data = self._stream.read(size)
        except _DAMAGE:
            self._wait_for_more()
            return b""
        self.position += len(data)
        self.is_ended = self.is_compressed and not data
        if self.head[1] < _HEAD and data:
            self._check_head()
        return data

    def close(self) -> None:
        """Close the file; `read` opens it again."""
        if self._stream is not None:
            self._stream.close()
        if self._raw is not None:
            self._raw.close()
        self._stream = self._raw = None

    def _wait_for_more(self) -> None:
        """Close a compressed file that ends too early: it is still being written."""
        assert self._raw is not None
        self._unreadable_size = os.fstat(self._raw.fileno()).st_size
        self.close()

    def _reopen(self) -> bool:
        """Returns whether the file is still at its path, and more of it is there than before."""
        try:
            raw: BinaryIO = open(self.path, "rb", 0)  # noqa: SIM115  # closed by `close`
        except FileNotFoundError:
            return False
        found = os.fstat(raw.fileno())
        if inode_of(found) != self.inode or found.st_size == self._unreadable_size:
            raw.close()
            return False
        self._raw = raw
        self._check_head()
        if self._open is None:
            raw.seek(self.position)
            self._stream = raw
            return True
        self._stream = self._open(raw)
        left = self.position
        while left:
            try:
                skipped = len(self._stream.read(min(left, 1 << 20)))
            except _DAMAGE:
                skipped = 0
            if not skipped:
                self._wait_for_more()
                return False
            left -= skipped
        return True

    def _check_head(self) -> None:
        """Begin again if the first bytes are others than before: the inode belongs to another file now."""
        if self._raw is not None:
            head = os.pread(self._raw.fileno(), _HEAD, 0)
        else:
            with open(self.path, "rb") as file:
                head = file.read(_HEAD)
        crc, size = self.head
        if size > len(head) or zlib.crc32(head[:size]) != crc:
            self.position = 0
        self.head = zlib.crc32(head), len(head)


def inode_of(found: os.stat_result) -> str:
    """Return what identifies a file, whatever its name."""
    return f"{found.st_dev}:{found.st_ino}"


def _decompressor(path: str) -> Callable[[BinaryIO], BinaryIO] | None:
    if path.endswith(".gz"):
        return lambda raw: io.BufferedReader(gzip.GzipFile(fileobj=raw))
    if path.endswith((".zst", ".zstd")):
        return lambda raw: zstd_file(raw, "rb")
    return None


def zstd_file(raw: BinaryIO, mode: str) -> BinaryIO:
    """Return a file of Zstandard around another one.

    Args:
        raw: Has the compressed bytes; stays open.
        mode: rb or wb.
    """
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd
    opened: BinaryIO = zstd.ZstdFile(raw, mode)
    return opened
