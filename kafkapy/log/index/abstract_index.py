"""Common code of the offset index and the time index: fixed-size entries with binary search (Kafka's `AbstractIndex`)."""

from __future__ import annotations

import os
import struct
from typing import ClassVar, Final

from kafkapy.common import page_cache

_SEARCH_BLOCK_ENTRIES: Final = 512
"""Entries of the last step of a binary search, read together: 4 KB of an offset index, a page."""
_SPILL_BYTES: Final = 1024
"""Bytes of new entries that a hot index buffers before writing: 128 entries of an offset index with one system call."""


class IndexFile:
    """A file that may be renamed, with its segment, while being read."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def _open_file(self) -> int:
        """Open a descriptor for reading. `FileNotFoundError` if the file is being renamed: its name may belong to
        another log now.
        """
        path = self.path
        fd = os.open(path, os.O_RDONLY)
        if path != self.path:
            os.close(fd)
            raise FileNotFoundError(f"{path} was renamed")
        return fd


class AbstractIndex(IndexFile):
    """A file of fixed-size big-endian entries, ascending in both fields.

    Invariant: an index is *cold* (`_memory is None`: every entry is in the file, a lookup reads what it needs and keeps
    nothing but the number of the slot it found) or *hot* (`_memory` holds every entry; the file holds the first `_written`
    bytes of them). Only the active segment's indexes are hot. The file of a hot index is preallocated (sparse) to the largest
    multiple of the entry size that fits `max_index_size`; it is trimmed to its entries when the segment becomes inactive or
    is closed.

    A crash leaves a preallocated file whose tail is zeros and whose last entries may be missing. That is harmless: segments
    past the recovery point have their indexes rebuilt, and the recovery point only moves after `write_out`.
    The owner's lock covers every method that changes the index.
    """

    __slots__ = ("_found", "_memory", "_written", "base_offset", "entries", "max_entries", "max_index_size")

    ENTRY: ClassVar[struct.Struct]

    def __init__(self, path: str, base_offset: int, max_index_size: int) -> None:
        super().__init__(path)
        self.base_offset = base_offset
        self.max_index_size = max_index_size
        self.entries = 0
        self.max_entries = 0
        self._memory: bytearray | None = None
        self._written = 0
        self._found = 0
        """The slot that the last search of the file found: a hint where to start the next one."""

    # -- file lifecycle

    def create(self, recovering: bool = False) -> None:
        """Become hot and empty, whatever the file contains. Raises `OSError`.

        The file is created or emptied, and preallocated. `recovering`: the file is not changed until the index is
        trimmed, which writes only differences, because most recovered logs result in the same index.
        """
        self._memory = bytearray()
        self._written = self.entries = 0
        self.max_entries = self.max_index_size // self.ENTRY.size
        if not recovering:
            self._set_file_size(self.max_entries * self.ENTRY.size, os.O_TRUNC)

    def open(self) -> None:
        """Use an existing file: every whole entry in it counts (recovery resets invalid ones)."""
        size = os.stat(self.path).st_size
        self._memory = None
        self._written = 0
        self.entries = self.max_entries = size // self.ENTRY.size

    @property
    def hot(self) -> bool:
        return self._memory is not None

    def heat(self) -> None:
        """Prepare for appends: load entries into memory, preallocate the file."""
        if self._memory is None:
            self._memory = bytearray(self._read(0, self.entries))
            self._written = len(self._memory)
            self.max_entries = max(self.entries, self.max_index_size // self.ENTRY.size)
            self._set_file_size(self.max_entries * self.ENTRY.size)

    def write_out(self) -> None:
        """Write new entries to the file (page cache only)."""
        memory = self._memory
        if memory is not None and self._written < len(memory) and self.path:  # otherwise it has no file yet
            fd = os.open(self.path, os.O_WRONLY)
            try:
                while self._written < len(memory):
                    self._written += os.pwrite(fd, bytes(memory[self._written :]), self._written)
            finally:
                os.close(fd)

    def trim_to_valid_size(self) -> None:
        """Write new entries, cut the file after the last entry, and become cold."""
        if self._memory is not None:
            self._write_differences(self._memory)
            self._memory = None
            self._written = 0
        elif self.max_entries != self.entries:
            self._set_file_size(self.entries * self.ENTRY.size)
        self.max_entries = self.entries

    def _write_differences(self, memory: bytearray) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            size = os.fstat(fd).st_size
            if size == len(memory) and os.pread(fd, size, 0) == memory:
                return
            while self._written < len(memory):
                self._written += os.pwrite(fd, bytes(memory[self._written :]), self._written)
            os.ftruncate(fd, len(memory))
        finally:
            os.close(fd)

    def _set_file_size(self, size: int, truncated: int = 0) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | truncated, 0o644)
        try:
            os.ftruncate(fd, size)
        finally:
            os.close(fd)

    # -- entries

    @property
    def is_full(self) -> bool:
        return self.entries >= self.max_entries

    @property
    def size_in_bytes(self) -> int:
        return self.entries * self.ENTRY.size

    def _append(self, first: int, second: int) -> None:
        memory = self._memory
        if memory is None:
            self.heat()
            memory = self._memory
            assert memory is not None
        memory += self.ENTRY.pack(first, second)
        self.entries += 1
        if len(memory) - self._written >= _SPILL_BYTES:
            self.write_out()

    def _truncate_to_entries(self, entries: int) -> None:
        """Keep only the first entries, as a hot index: the truncated segment is, or becomes, the active one."""
        self.heat()
        assert self._memory is not None
        del self._memory[entries * self.ENTRY.size :]
        if self._written > len(self._memory):
            # the tail of the file must be zeros again
            self._written = len(self._memory)
            self._set_file_size(self._written)
            self._set_file_size(self.max_entries * self.ENTRY.size)
        self.entries = entries

    def _raw_entry(self, slot: int) -> tuple[int, int]:
        memory = self._memory
        return self._unpack(self._read(slot, 1), 0) if memory is None else self._unpack(memory, slot)

    def _lower_bound_slot(self, target: int, field: int) -> int:
        """Return the last slot whose field (0 or 1) is <= target; -1 if there is none."""
        memory = self._memory  # another thread may make the index cold meanwhile
        if memory is not None:
            return self._search(memory, 0, self.entries, target, field)
        return self._search_file(target, field)[0]

    def _lower_bound(self, target: int, field: int) -> tuple[int, int] | None:
        """Return the last entry whose field (0 or 1) is <= target, in its stored form; None if there is none."""
        memory = self._memory
        if memory is None:
            return self._search_file(target, field)[1]
        slot = self._search(memory, 0, self.entries, target, field)
        return None if slot < 0 else self._unpack(memory, slot)

    def _neighbours(self, target: int, field: int) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
        """Return the entry of `_lower_bound` and the next one; None if it does not exist or would need another read."""
        memory, count = self._memory, self.entries
        if memory is None:
            _, found, behind = self._search_file(target, field)
            return found, behind
        slot = self._search(memory, 0, count, target, field)
        found = None if slot < 0 else self._unpack(memory, slot)
        return found, self._unpack(memory, slot + 1) if slot + 1 < count else None

    def _search(self, buffer: bytes | bytearray, low: int, high: int, target: int, field: int) -> int:
        unpack, size = self.ENTRY.unpack_from, self.ENTRY.size
        if low < high and unpack(buffer, (high - 1) * size)[field] <= target:
            return high - 1  # most lookups are near the end
        while low < high:
            middle = (low + high) >> 1
            if unpack(buffer, middle * size)[field] <= target:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _search_file(self, target: int, field: int) -> tuple[int, tuple[int, int] | None, tuple[int, int] | None]:
        """Return the slot, its entry, and the next entry if that was read, too.

        It starts where the last search ended, for sequential readers; else it halves the range with single reads down
        to one block, and searches that block.
        """
        entries = self.entries
        if not entries:
            return -1, None, None
        size = self.ENTRY.size
        fd = self._open_file()
        try:
            low = min(self._found, entries - 1)
            high = min(low + _SEARCH_BLOCK_ENTRIES, entries)
            block = page_cache.read(fd, (high - low) * size, low * size)
            count = len(block) // size
            slot = low + self._search(block, 0, count, target, field)
            if slot < low or (slot == low + count - 1 and high < entries):
                low, high = 0, entries
                while high - low > _SEARCH_BLOCK_ENTRIES:
                    middle = (low + high) >> 1
                    if self.ENTRY.unpack(page_cache.read(fd, size, middle * size))[field] <= target:
                        low = middle  # stays in the block, because it may be the result
                    else:
                        high = middle
                block = page_cache.read(fd, (high - low) * size, low * size)
                slot = low + self._search(block, 0, len(block) // size, target, field)
        finally:
            os.close(fd)
        self._found = max(slot, 0)
        index = slot - low
        found = None if slot < 0 else self._unpack(block, index)
        return slot, found, self._unpack(block, index + 1) if (index + 2) * size <= len(block) else None

    def _unpack(self, buffer: bytes | bytearray, slot: int) -> tuple[int, int]:
        first, second = self.ENTRY.unpack_from(buffer, slot * self.ENTRY.size)
        return first, second

    def _read(self, slot: int, count: int) -> bytes | bytearray:
        if not count:
            return b""
        size = self.ENTRY.size
        fd = self._open_file()
        try:
            return page_cache.read(fd, count * size, slot * size)
        finally:
            os.close(fd)
