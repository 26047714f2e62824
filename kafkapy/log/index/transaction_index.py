"""The index of aborted transactions in one segment (Kafka's `TransactionIndex`)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkapy.common import page_cache
from kafkapy.common.limits import MAX_INT
from kafkapy.log.files.checkpoints import MalformedFileError
from kafkapy.log.files.log_files import delete_if_exists
from kafkapy.log.index.abstract_index import IndexFile

_ABORTED_TXN_ENTRY: Final = struct.Struct(">hqqqq")
_ABORTED_TXN_VERSION: Final = 0
_ENTRY_BYTES: Final = _ABORTED_TXN_ENTRY.size
_BLOCK_ENTRIES: Final = 120
"""Entries per read: some 4 KB."""


class AbortedTxn(NamedTuple):
    """An aborted transaction: its data is in [first_offset, last_offset], the abort marker at last_offset."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    """The last stable offset just after the marker: no transaction that is aborted later began before it."""


class TransactionIndex(IndexFile):
    """Entries of 34 bytes: int16 version 0, int64 producer id, first offset, last offset, last stable offset.

    Invariant: entries are ordered by last offset, which is in this segment, and by last stable offset. The file exists
    only once a transaction was aborted in the segment. All entries are in the file, none in memory: a look-up reads a
    block of them. A crash may leave a torn or missing last entry: recovery of the segment rewrites the file. The
    owner's lock covers every method that changes the index.
    """

    __slots__ = ("_count", "_found", "base_offset")

    def __init__(self, path: str, base_offset: int, exists: bool) -> None:
        super().__init__(path)
        self.base_offset = base_offset
        self._count = -1 if exists else 0
        """The number of entries; -1: not yet known."""
        self._found = 0
        """The slot where the last look-up started: a hint where to start the next one."""

    @property
    def count(self) -> int:
        """Return the number of entries; an incomplete last one does not count. Raises `OSError`."""
        count = self._count
        if count < 0:
            count = self._count = os.stat(self.path).st_size // _ENTRY_BYTES
        return count

    def entries(self) -> list[AbortedTxn]:
        """Return all entries. Raises `MalformedFileError` for an unknown version or an offset outside of the segment,
        `FileNotFoundError` if the file is being renamed.
        """
        return list(self._entries_from(0))

    def append(self, txn: AbortedTxn) -> None:
        count = self.count
        last = next(self._entries_from(count - 1), None) if count else None
        last_offset = -1 if last is None else last.last_offset
        if last_offset >= txn.last_offset:
            raise ValueError(
                f"The last offset of appended transactions must increase sequentially, but {txn.last_offset} is not "
                f"greater than current last offset {last_offset} of index {self.path}"
            )
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(fd, _ABORTED_TXN_ENTRY.pack(_ABORTED_TXN_VERSION, *txn), count * _ENTRY_BYTES)
        finally:
            os.close(fd)
        self._count = count + 1

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Return the transactions that overlap [fetch_offset, upper_bound_offset), and whether later segments cannot
        have more.
        """
        found: list[AbortedTxn] = []
        if self.count:
            for txn in self._entries_from(self._first_slot(fetch_offset)):
                if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound_offset:
                    found.append(txn)
                if txn.last_stable_offset >= upper_bound_offset:
                    return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker is at or after an offset."""
        kept = self._first_slot(offset)
        if kept < self.count:
            os.truncate(self.path, kept * _ENTRY_BYTES)
            self._count = kept

    def reset(self) -> None:
        """Remove all entries, whatever the file contains (an empty file remains, as in Kafka)."""
        if self._count != 0 and os.path.exists(self.path):
            os.truncate(self.path, 0)
        self._count = 0

    def sanity_check(self) -> None:
        """Raise `MalformedFileError` for content that no broker writes: unordered offsets, or a truncated last entry."""
        size = os.stat(self.path).st_size
        if size % _ENTRY_BYTES:
            raise MalformedFileError(
                f"Corrupt transaction index {self.path}: {size} bytes are no multiple of {_ENTRY_BYTES}"
            )
        last_offset, stable_offset = self.base_offset - 1, 0
        for txn in self._entries_from(0):
            # A transaction that is aborted after another one did not begin before that one's last stable offset.
            is_right = (
                last_offset < txn.last_offset >= txn.last_stable_offset - 1
                and stable_offset <= txn.first_offset <= txn.last_offset
                and stable_offset <= txn.last_stable_offset
                and txn.last_offset - self.base_offset <= MAX_INT
            )
            if not is_right:
                raise MalformedFileError(f"Corrupt transaction index {self.path}: {txn} can't be behind {last_offset}")
            last_offset, stable_offset = txn.last_offset, txn.last_stable_offset

    def delete_if_exists(self) -> bool:
        return delete_if_exists(self.path)

    # -- reading

    def _first_slot(self, offset: int) -> int:
        """Return the slot of the first entry whose last offset is >= `offset`; the number of entries if there is none.

        It searches from the end of the last look-up, in growing steps, for sequential readers; else by binary search.
        """
        low, high = 0, self.count
        if not high:
            return 0
        fd = self._open_file()
        try:
            hint, step = min(self._found, high), 1
            if hint and self._entry(fd, hint - 1).last_offset < offset:
                low = hint
                while low + step < high and self._entry(fd, low + step - 1).last_offset < offset:
                    low += step
                    step *= 2
                high = min(low + step, high)
            while low < high:
                middle = (low + high) >> 1
                if self._entry(fd, middle).last_offset < offset:
                    low = middle + 1
                else:
                    high = middle
        finally:
            os.close(fd)
        self._found = low
        return low

    def _entries_from(self, slot: int) -> Iterator[AbortedTxn]:
        while slot < self.count:
            fd = self._open_file()
            try:
                block = page_cache.read(fd, min(_BLOCK_ENTRIES, self.count - slot) * _ENTRY_BYTES, slot * _ENTRY_BYTES)
            finally:
                os.close(fd)
            count = len(block) // _ENTRY_BYTES
            if not count:  # truncated concurrently
                return
            for index in range(count):
                yield self._unpack(block, index)
            slot += count

    def _entry(self, fd: int, slot: int) -> AbortedTxn:
        entry = page_cache.read(fd, _ENTRY_BYTES, slot * _ENTRY_BYTES)
        if len(entry) < _ENTRY_BYTES:
            raise FileNotFoundError(f"{self.path} was truncated")
        return self._unpack(entry, 0)

    def _unpack(self, block: bytes | bytearray, index: int) -> AbortedTxn:
        version, *fields = _ABORTED_TXN_ENTRY.unpack_from(block, index * _ENTRY_BYTES)
        entry = AbortedTxn(*fields)
        if version > _ABORTED_TXN_VERSION or entry.last_offset < self.base_offset:
            raise MalformedFileError(f"Corrupt transaction index {self.path}: version {version}, {entry}")
        return entry
