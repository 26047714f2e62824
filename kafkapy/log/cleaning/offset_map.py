"""The map from keys to last offsets that the cleaner uses (Kafka's `SkimpyOffsetMap`)."""

from __future__ import annotations

from hashlib import md5
from importlib import import_module
from typing import Final

from librt.strings import read_i64_le
from librt.vecs import vec
from mypy_extensions import i64, u8

_ENTRY_SIZE: Final = 24
_TABLE_ENTRIES: Final = 4096
"""Average number of keys of a table: growing a table copies all of it, some 100 KB."""
_FIRST_ENTRIES: Final = 16
_MAX_ENTRIES: Final = 4224
"""Upper limit for a table, unless more keys than usual hash to it."""
_BITS: Final = 31
_HASH_MASK: Final = (1 << _BITS) - 1
"""The bits of a hash that choose a slot. Multiplication and shift are faster than division."""

_short_md5: Final = import_module("_md5").md5
"""The implementation that hashlib falls back to without OpenSSL, whose MD5 takes twice as long for a short key."""
_LONG_KEY: Final = 2048
"""For keys from this length on hashlib's MD5 is used, which releases the interpreter lock."""


class OffsetMap:
    """A map from keys to offsets in 24 bytes per entry: the key's MD5 hash and its last offset.

    It also has a bit for each offset that is the last one of its key, so the records that made the map need no look-up.
    The bits use at most a 24th of `memory`; offsets beyond that have none.

    Entries are in tables with open addressing, each an array of numbers that grows as it fills. So the map uses memory
    only for existing entries, and never more than a tenth above `memory`.

    Invariants: the hash determines an entry's table, and the slot at or after which the entry is, without a free slot
    between. An entry is three numbers: the halves of the hash, and the offset + 1, which is 0 in a free slot. `size` is
    the number of entries; `latest_offset` is the last offset put, or a later one set by `update_latest_offset`. The bit
    of an offset is set if and only if an entry has it. As in Kafka, two keys with the same hash are one key.
    """

    def __init__(self, memory: int) -> None:
        """`memory`: bytes, a thread's share of Kafka's log.cleaner.dedupe.buffer.size."""
        self.slots = memory // _ENTRY_SIZE
        """The number of entries that fit in memory."""
        self.clear(0, 0)

    def clear(self, start: int, end: int) -> None:
        """Remove all entries. Later offsets will be in [start, end)."""
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
        """Set the offset of a key, replacing an earlier one. `ValueError` if the map is full."""
        digest = _digest(key)
        first = read_i64_le(digest, 0)
        second = read_i64_le(digest, 8)
        number = (first & _HASH_MASK) * len(self._tables) >> _BITS
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
                table = _enlarged(table)
                self._tables[number] = table
                at = _place(table, first, second)
            table[at] = first
            table[at + 1] = second
        table[at + 2] = offset + 1
        self._mark(offset, True)

    def get(self, key: bytes) -> i64:
        """Return the last offset put for a key, -1 if there is none."""
        digest = _digest(key)
        first = read_i64_le(digest, 0)
        table = self._tables[(first & _HASH_MASK) * len(self._tables) >> _BITS]
        return table[_place(table, first, read_i64_le(digest, 8)) + 2] - 1

    def knows_offset(self, offset: i64) -> bool:
        """Return whether there is a bit for this offset."""
        return self._start <= offset < self._end

    def is_last(self, offset: i64) -> bool:
        """Return whether the key that was put with this offset has no later one."""
        offset -= self._start
        return self._last[offset >> 3] >> u8(offset & 7) & 1 != 0

    def update_latest_offset(self, offset: int) -> None:
        """Record that the log was read up to `offset`, even if there was no key."""
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
    """Return the slot of the entry with this hash, or the free slot where it would be."""
    end: i64 = len(table)
    at: i64 = 3 * ((second & _HASH_MASK) * (end // 3) >> _BITS)
    while table[at + 2] and (table[at] != first or table[at + 1] != second):
        at += 3
        if at == end:
            at = 0
    return at


def _enlarged(table: vec[i64]) -> vec[i64]:
    """Return the same entries in a larger table."""
    entries = len(table) // 3
    if entries < _FIRST_ENTRIES:
        room = _FIRST_ENTRIES
    elif entries < _MAX_ENTRIES:
        room = min(2 * entries, _MAX_ENTRIES)
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
