"""The aborted transactions of one segment (Kafka's `TransactionIndex`)."""

from __future__ import annotations

import os
import struct
from typing import Final, NamedTuple

from kafkapy.log.files.checkpoints import MalformedFileError
from kafkapy.log.files.log_files import delete_if_exists

_ABORTED_TXN_ENTRY: Final = struct.Struct(">hqqqq")
_ABORTED_TXN_VERSION: Final = 0


class AbortedTxn(NamedTuple):
    """One aborted transaction: its data lies in [first_offset, last_offset], the abort marker at last_offset."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    """The last stable offset right after the marker: no transaction aborted later began before it."""


class TransactionIndex:
    """Entries of 34 bytes: int16 version 0, int64 producer id, first offset, last offset, last stable offset.

    Invariant: entries are in order of their last offset, which lies in this segment; the file exists only once a transaction
    was aborted in it. A crash may leave a torn or a missing last entry: recovery of the segment writes the file anew.
    """

    __slots__ = ("_entries", "base_offset", "path")

    def __init__(self, path: str, base_offset: int, exists: bool) -> None:
        self.path = path
        self.base_offset = base_offset
        self._entries: list[AbortedTxn] | None = None if exists else []

    def entries(self) -> list[AbortedTxn]:
        """All entries, read on first use. Raises `MalformedFileError` for an unknown version or a foreign offset,
        `FileNotFoundError` if the file is renamed at this moment."""
        if self._entries is None:
            path = self.path
            with open(path, "rb") as file:
                content = file.read()
            if path != self.path:
                raise FileNotFoundError(f"{path} was renamed")
            whole = len(content) - len(content) % _ABORTED_TXN_ENTRY.size
            entries = []
            for version, *fields in _ABORTED_TXN_ENTRY.iter_unpack(content[:whole]):
                entry = AbortedTxn(*fields)
                if version > _ABORTED_TXN_VERSION or entry.last_offset < self.base_offset:
                    raise MalformedFileError(f"Corrupt transaction index {self.path}: version {version}, {entry}")
                entries.append(entry)
            self._entries = entries
        return self._entries

    def append(self, txn: AbortedTxn) -> None:
        entries = self.entries()
        if entries and entries[-1].last_offset >= txn.last_offset:
            raise ValueError(
                f"The last offset of appended transactions must increase sequentially, but {txn.last_offset} is not "
                f"greater than current last offset {entries[-1].last_offset} of index {self.path}"
            )
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(fd, _ABORTED_TXN_ENTRY.pack(_ABORTED_TXN_VERSION, *txn), len(entries) * _ABORTED_TXN_ENTRY.size)
        finally:
            os.close(fd)
        entries.append(txn)

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """The transactions that overlap [fetch_offset, upper_bound_offset); True if later segments can hold no more."""
        found = []
        for txn in self.entries():
            if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound_offset:
                found.append(txn)
            if txn.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions whose marker is at or behind an offset."""
        entries = self.entries()
        kept = [txn for txn in entries if txn.last_offset < offset]
        if len(kept) < len(entries):
            os.truncate(self.path, len(kept) * _ABORTED_TXN_ENTRY.size)
            self._entries = kept

    def reset(self) -> None:
        """Drop all entries whatever the file holds (an empty file stays, as Kafka leaves it)."""
        if self._entries != [] and os.path.exists(self.path):
            os.truncate(self.path, 0)
        self._entries = []

    def sanity_check(self) -> None:
        """Raises `MalformedFileError`."""
        self.entries()

    def delete_if_exists(self) -> bool:
        return delete_if_exists(self.path)
