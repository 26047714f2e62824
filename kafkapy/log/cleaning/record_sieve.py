"""Scans the records of a batch for the cleaner: records their keys in the map, or copies those that remain."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.record.record_fields import INVALID_STRUCTURE, RecordFields, invalid
from kafkapy.record.varint import encode_varint, read_varint, read_varlong

PORTION: Final = 512
"""Records per step: some 0.2 ms of machine code, during which no other thread runs."""
PORTION_BYTES: Final = 1 << 18
"""A step also ends with the record that exceeds this number of bytes, because they are hashed or copied."""


class RecordSieve:
    """One batch of format v2, scanned once, a portion per step.

    Invariant: the first `found` records, up to `_position`, are done; `retained` of them remain. Their bytes are `runs`
    and, within a step, those from `_run` on if that is not negative.
    """

    def __init__(self, data: bytes, count: int, base_offset: int, offset_map: OffsetMap) -> None:
        """`data`: all `count` records, decompressed."""
        self.runs: list[bytes] = []
        """The bytes of remaining records, in order."""
        self.retained: i64 = 0
        self.found: i64 = 0
        self.invalid: i64 = 0
        """The number of records without a key, which are invalid in a compacted log."""
        self.max_timestamp_delta: i64 = 0
        """The maximum over the retained records."""
        self.has_tombstones = False
        """Whether a retained record is a tombstone."""
        self.is_full = False
        """Whether the map has no room for the remaining keys."""
        self._data = data
        self._count: i64 = count
        self._base_offset: i64 = base_offset
        self._map = offset_map
        self._fields = RecordFields()
        self._position: i64 = 0
        self._run: i64 = -1

    def put_keys(self, start: i64, room: i64) -> bool:
        """Put the keys of one portion, at offsets >= `start`, into the map while it has fewer than `room`; else set
        `is_full`.

        Return whether there is more to do. `KafkaError` INVALID_RECORD.
        """
        end = min(self._count, self.found + PORTION)
        limit = self._position + PORTION_BYTES
        offset_map, data, fields = self._map, self._data, self._fields
        while self.found < end and self._position < limit:
            position = self._read()
            offset = self._base_offset + fields.offset_delta
            length = fields.key_length
            if length >= 0 and offset >= start:
                if offset_map.size >= room:
                    self.is_full = True
                    return False
                offset_map.put(data[fields.key_start : fields.key_start + length], offset)
            self._position = position
            self.found += 1
        return self.found < self._count

    def retain_all(self) -> bool:
        """Retain all records of one portion, as for control batches. Return whether there is more to do. `KafkaError`
        INVALID_RECORD.
        """
        end = min(self._count, self.found + PORTION)
        limit = self._position + PORTION_BYTES
        while self.found < end and self._position < limit:
            self._keep(self._read())
        return not self._is_over()

    def retain_latest(self, drops_tombstones: bool) -> bool:
        """Retain the records of one portion that have no later one in the map; `drops_tombstones`: without tombstones.

        Return whether there is more to do. `KafkaError` INVALID_RECORD.
        """
        end = min(self._count, self.found + PORTION)
        limit = self._position + PORTION_BYTES
        offset_map, data, fields = self._map, self._data, self._fields
        latest_offset = offset_map.latest_offset
        while self.found < end and self._position < limit:
            position = self._read()
            offset = self._base_offset + fields.offset_delta
            length = fields.key_length
            if offset > latest_offset:
                stays = True
            elif length < 0:
                self.invalid += 1
                stays = False
            elif fields.value_length < 0 and drops_tombstones:
                stays = False
            elif offset_map.knows_offset(offset):
                stays = offset_map.is_last(offset)
            else:
                stays = offset >= offset_map.get(data[fields.key_start : fields.key_start + length])
            if stays:
                self._keep(position)
            else:
                self._drop(position)
        return not self._is_over()

    def _read(self) -> i64:
        """Parse a record, and return the position of its end."""
        try:
            end = self._fields.read(self._data, self._position)
        except IndexError:
            raise invalid(INVALID_STRUCTURE) from None
        if end < 0:
            raise invalid(INVALID_STRUCTURE)
        return end

    def _keep(self, end: i64) -> None:
        fields = self._fields
        if self._run < 0:
            self._run = self._position
        if not self.retained or fields.timestamp_delta > self.max_timestamp_delta:
            self.max_timestamp_delta = fields.timestamp_delta
        if fields.value_length < 0:
            self.has_tombstones = True
        self.retained += 1
        self.found += 1
        self._position = end

    def _drop(self, end: i64) -> None:
        self._end_run()
        self.found += 1
        self._position = end

    def _is_over(self) -> bool:
        """End a step; return whether it was the last one."""
        self._end_run()
        return self.found >= self._count

    def _end_run(self) -> None:
        if self._run >= 0:
            self.runs.append(self._data[self._run : self._position])
            self._run = -1


def rebase_timestamps(data: bytes, position: i64, shift: i64) -> tuple[bytes, i64]:
    """Add `shift` to the timestamp deltas of one portion of records, for a batch whose base timestamp changes.

    Return the new bytes, and the position of the next record.
    """
    fields = RecordFields()
    records: list[bytes] = []
    end: i64 = min(len(data), position + PORTION_BYTES)
    while position < end and len(records) < 2 * PORTION:
        next_position = fields.read(data, position)
        body = read_varint(data, position)[1]
        rest = read_varlong(data, body + 1)[1]
        record = data[body : body + 1] + encode_varint(fields.timestamp_delta + shift) + data[rest:next_position]
        records.append(encode_varint(len(record)))
        records.append(record)
        position = next_position
    return b"".join(records), position
