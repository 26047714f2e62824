"""ZooKeeper's transaction log: `version-2/log.ZXID`, hexadecimal, the zxid of its first entry.

    file     int32 "ZKLG", int32 2, int64 database id (0); then entries; zeros after the last one are room that was taken before
    entry    int64 Adler-32 of the bytes, int32 length, the bytes (`transactions.encode_entry`), byte "B"

A crash leaves an entry cut short, or zeros, at the end of the newest file. Such an entry was never answered: reading ends before
it, and it is cut off before the log is written on.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from kafkapy.common.capabilities import sync, sync_data
from kafkapy.zk.embedded.jute import MalformedError
from kafkapy.zk.embedded.transactions import Txn, TxnHeader, decode_entry

_FILE_HEADER = struct.pack("!4siq", b"ZKLG", 2, 0)
_ENTRY = struct.Struct("!qi")
_END = b"B"


class StorageError(Exception):
    """The data directory is invalid or cannot be written; the message is for the operator."""


def version_directory(directory: Path) -> Path:
    return directory / "version-2"


def zxid_of(path: Path) -> int:
    """Return the zxid in a log or snapshot file's name; -1 for other names."""
    try:
        return int(path.suffix[1:], 16)
    except ValueError:
        return -1


def files_of(directory: Path, kind: str) -> list[Path]:
    """Return the files of a kind, `log` or `snapshot`, by zxid."""
    return sorted((path for path in directory.glob(f"{kind}.*") if zxid_of(path) >= 0), key=zxid_of)


def entry_bytes(data: bytes) -> bytes:
    return _ENTRY.pack(zlib.adler32(data), len(data)) + data + _END


class TransactionLogFile:
    """One file, read from its beginning. `valid_size`: the end of the last complete entry, once the file has been read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.valid_size = 0

    def entries(self) -> Iterator[tuple[TxnHeader, Txn]]:
        data = self.path.read_bytes()
        if data[:4] != _FILE_HEADER[:4]:
            if data.strip(b"\0"):
                raise StorageError(f"{self.path} is no transaction log of ZooKeeper: it does not begin with ZKLG")
            return  # created, and never written
        position = self.valid_size = len(_FILE_HEADER)
        while position + _ENTRY.size < len(data):
            checksum, size = _ENTRY.unpack_from(data, position)
            start = position + _ENTRY.size
            entry = data[start : start + size]
            position = start + size + 1
            if (
                size <= 0
                or position > len(data)
                or data[position - 1 : position] != _END
                or zlib.adler32(entry) != checksum
            ):
                return
            try:
                yield decode_entry(entry)
            except MalformedError as error:
                raise StorageError(f"{self.path}: the entry at byte {start} is whole, but {error}") from None
            self.valid_size = position

    @property
    def torn_bytes(self) -> int:
        """Return the number of bytes after the last complete entry that are not zeros."""
        with open(self.path, "rb") as file:
            file.seek(self.valid_size)
            return len(file.read().rstrip(b"\0"))

    def cut(self) -> None:
        """Cut the file after the last complete entry."""
        if self.valid_size:
            os.truncate(self.path, self.valid_size)
        else:
            self.path.unlink()


class TransactionLog:
    """Writes the log. One thread at a time.

    Invariant: the open file ends with the last written entry; after `roll` the next entry starts a new file.
    """

    def __init__(self, directory: Path, force_sync: bool) -> None:
        self._directory = directory
        self._force_sync = force_sync
        self._file: int | None = None

    def write(self, first_zxid: int, entries: bytes) -> None:
        """Write and sync. `OSError`: a part of it may have been written."""
        if self._file is None:
            path = self._directory / f"log.{first_zxid:x}"
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            _write_all(self._file, _FILE_HEADER + entries)
            if self._force_sync:
                sync(self._file)
                sync_directory(self._directory)
            return
        _write_all(self._file, entries)
        if self._force_sync:
            sync_data(self._file)

    def roll(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    close = roll


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY)
    try:
        sync(file)
    finally:
        os.close(file)


def remove_quietly(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
