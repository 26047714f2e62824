"""The cleaner's memory of the last offset of each key (Kafka's `SkimpyOffsetMap`)."""

from __future__ import annotations

from hashlib import md5
from importlib import import_module
from typing import Final

from librt.strings import read_i64_le
from librt.vecs import vec
from mypy_extensions import i64, u8

_ENTRY_SIZE: Final = 24
_TABLE_ENTRIES: Final = 4096
"""Keys of a table on average: one that grows is copied as a whole, some 100 KB."""
_FIRST_ENTRIES: Final = 16
_MOST_ENTRIES: Final = 4224
"""Of a table, unless by chance more keys than usual come to it."""
_BITS: Final = 31
_PART: Final = (1 << _BITS) - 1
"""Of a hash: enough of it to choose a place. A division takes longer than a product."""

_short_md5: Final = import_module("_md5").md5
"""What hashlib gives where there is no OpenSSL, whose MD5 takes twice as long for a short key."""
_LONG_KEY: Final = 2048
"""From here on hashlib's lets other threads run."""


class OffsetMap:
    """A map from keys to offsets in 24 bytes an entry: the key's MD5 hash and its last offset.

    It also knows which offsets are the last of their keys, in a bit for each: for the records that made the map there is nothing
    to look up. That goes as far as a 24th of `memory` suffices.

    Entries lie in tables with open addressing, each an array of numbers that grows as it fills; so the map takes the memory of
    the entries it holds, and never more than a tenth above `memory`.

    Invariants: the hash gives an entry's table, and the place there at or behind which it lies, without a free one between. An
    entry is three numbers: the halves of the hash, and the offset + 1, which is 0 in a free one. `size` counts the entries;
    `latest_offset` is the last offset put, or further on if `update_latest_offset` said so. The bit of an offset is set if and
    only if an entry has it. As in Kafka, two keys with one hash are one key.
    """

    def __init__(self, memory: int) -> None:
        """`memory`: bytes, Kafka's log.cleaner.dedupe.buffer.size of one thread."""
        self.slots = memory // _ENTRY_SIZE
        """How many entries fit the memory."""
        self.clear(0, 0)

    def clear(self, start: int, end: int) -> None:
        """Forget everything. No offset to come is outside of [start, end)."""
        tables = min(self.slots, end - start) // _TABLE_ENTRIES + 1
        self._tables: vec[vec[i64]] = vec[vec[i64]]([vec[i64]([0, 0, 0]) for _ in range(tables)])
        self._counts: vec[i64] = vec[i64]([0] * tables)
        self._start: i64 = start
        self._end: i64 = min(end, start + 8 * self.slots)
        self._last: vec[u8] = vec[u8]([0] * ((self._end - self._start + 7) // 8))
        self.size: i64 = 0
        self.latest_offset: i64 = -1

    @property
    def utilization(self) -> float:
        return self.size / self.slots

    def put(self, key: bytes, offset: i64) -> None:
        """Note the offset of a key, in place of an earlier one. `ValueError` if the map is full."""
        digest = _digest(key)
        first = read_i64_le(digest, 0)
        second = read_i64_le(digest, 8)
        number = (first & _PART) * len(self._tables) >> _BITS
        table = self._tables[number]
        at = _place(table, first, second)
        self.latest_offset = offset
        if table[at + 2]:
            self._mark(table[at + 2] - 1, False)
        else:
            if self.size >= self.slots:
                raise ValueError(f"Attempted to add a new entry to a full offset map of {self.slots} slots")
            self.size += 1
            self._counts[number] += 1
            if 16 * self._counts[number] > 5 * len(table):
                table = _grown(table)
                self._tables[number] = table
                at = _place(table, first, second)
            table[at] = first
            table[at + 1] = second
        table[at + 2] = offset + 1
        self._mark(offset, True)

    def get(self, key: bytes) -> i64:
        """The last offset put for a key, -1 if there is none."""
        digest = _digest(key)
        first = read_i64_le(digest, 0)
        table = self._tables[(first & _PART) * len(self._tables) >> _BITS]
        return table[_place(table, first, read_i64_le(digest, 8)) + 2] - 1

    def knows_offset(self, offset: i64) -> bool:
        """Is there a bit for this offset?"""
        return self._start <= offset < self._end

    def is_last(self, offset: i64) -> bool:
        """Has the key that was put with this offset no later one?"""
        offset -= self._start
        return self._last[offset >> 3] >> u8(offset & 7) & 1 != 0

    def update_latest_offset(self, offset: int) -> None:
        """The log was read up to `offset`, though no key may have been there."""
        self.latest_offset = offset

    def _mark(self, offset: i64, is_last: bool) -> None:
        if self._start <= offset < self._end:
            offset -= self._start
            bit = u8(1 << (offset & 7))
            if is_last:
                self._last[offset >> 3] |= bit
            else:
                self._last[offset >> 3] &= ~bit


def _digest(key: bytes) -> bytes:
    hashed: bytes = (_short_md5(key) if len(key) < _LONG_KEY else md5(key, usedforsecurity=False)).digest()
    return hashed


def _place(table: vec[i64], first: i64, second: i64) -> i64:
    """Where the entry of a hash is in its table, or where it would be."""
    end: i64 = len(table)
    at: i64 = 3 * ((second & _PART) * (end // 3) >> _BITS)
    while table[at + 2] and (table[at] != first or table[at + 1] != second):
        at += 3
        if at == end:
            at = 0
    return at


def _grown(table: vec[i64]) -> vec[i64]:
    """The same entries with more room."""
    entries = len(table) // 3
    if entries < _FIRST_ENTRIES:
        room = _FIRST_ENTRIES
    elif entries < _MOST_ENTRIES:
        room = min(2 * entries, _MOST_ENTRIES)
    else:
        room = entries + entries // 16
    grown = vec[i64]([0] * (3 * room))
    for at in range(0, len(table), 3):
        if table[at + 2]:
            place = _place(grown, table[at], table[at + 1])
            grown[place] = table[at]
            grown[place + 1] = table[at + 1]
            grown[place + 2] = table[at + 2]
    return grown
