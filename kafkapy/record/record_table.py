"""Positions of the records of v2 batches as rows of numbers, the source of consumers' columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import BytesWriter, write_i64_le

from kafkapy import compiled
from kafkapy.protocol.errors import KafkaError
from kafkapy.record.record_batch import TIMESTAMP_TYPE_MASK, RecordBatch
from kafkapy.record.record_fields import INVALID_STRUCTURE, RecordFields, invalid

if TYPE_CHECKING:
    from mypy_extensions import i64

ROW_SIZE: Final = 40
HEADER_ROW_SIZE: Final = 16  # 1 << 4

_OVERFLOWS: Final = compiled.is_used()
"""Whether sums of i64 numbers overflow as in Java."""
_MIN_RECORD_SIZE: Final = 7
"""A record with only empty fields: seven varints and bytes."""


class RecordTable:
    """Records of batches in one buffer.

    Invariant: `rows` has for each record, little-endian: int64 offset, int64 timestamp in ms, and int32 pairs: start
    and length of the key, start and length of the value, first row in `headers` and number of headers. `headers` has an
    int32 pair for the key and one for the value of each. A length of -1 means null.
    """

    __slots__ = ("_index", "headers", "rows")

    def __init__(self) -> None:
        self.rows = BytesWriter()
        self.headers = BytesWriter()
        self._index: i64 = 0

    def __len__(self) -> int:
        return len(self.rows) // ROW_SIZE

    def add(self, batch: RecordBatch, data: bytes, shift: int, first_offset: int, end_offset: int) -> None:
        """Add the records of `batch` with first_offset <= offset < end_offset.

        `data`: the bytes of all its records, and nothing else; `shift`: their position in the buffer. `KafkaError`
        INVALID_RECORD for malformed records: then nothing is added.
        """
        size: i64 = len(self.rows)
        header_size: i64 = len(self.headers)
        count = batch.record_count
        if not 0 <= count <= len(data) // _MIN_RECORD_SIZE:
            raise invalid(f"Found invalid record count {count} in magic v2 batch")
        append_time = batch.attributes & TIMESTAMP_TYPE_MASK != 0
        base_timestamp = batch.max_timestamp if append_time else batch.base_timestamp
        fields = RecordFields(self.headers, shift)
        try:
            end = self._add(
                fields, data, 0, count, batch.base_offset, base_timestamp, append_time, first_offset, end_offset
            )
            if end != len(data):
                raise invalid("Incorrect declared batch size, records still remaining in file")
        except (IndexError, KafkaError) as error:
            self.rows.truncate(size)
            self.headers.truncate(header_size)
            why = error.message if isinstance(error, KafkaError) else INVALID_STRUCTURE
            raise invalid(
                f"{why} (record {self._index} of {count} in the batch at offset {batch.base_offset})"
            ) from None

    def add_within(
        self,
        fields: RecordFields,
        data: bytes,
        start: i64,
        end: i64,
        count: i64,
        base_offset: i64,
        base_timestamp: i64,
        append_time: bool,
        first_offset: i64,
        end_offset: i64,
    ) -> bool:
        """Add the records of a batch between `start` and `end` of `data`; `fields` has `headers` and no shift. Return
        False, and add nothing, if they are malformed.
        """
        size: i64 = len(self.rows)
        header_size: i64 = len(self.headers)
        if count < 0 or count > (end - start) // _MIN_RECORD_SIZE:
            return False
        try:
            if end == self._add(
                fields, data, start, count, base_offset, base_timestamp, append_time, first_offset, end_offset
            ):
                return True
        except (IndexError, KafkaError):
            pass
        self.rows.truncate(size)
        self.headers.truncate(header_size)
        return False

    def _add(
        self,
        fields: RecordFields,
        data: bytes,
        position: i64,
        count: i64,
        base_offset: i64,
        base_timestamp: i64,
        append_time: bool,
        first_offset: i64,
        end_offset: i64,
    ) -> i64:
        """Add records; return their end."""
        rows = self.rows
        headers = self.headers
        shift = fields.shift
        for index in range(count):
            self._index = index
            header_size: i64 = len(headers)
            end = fields.read(data, position)
            if end < 0:
                raise invalid("Invalid record size: the buffer has fewer bytes")
            position = end
            offset = base_offset + fields.offset_delta
            timestamp = base_timestamp if append_time else base_timestamp + fields.timestamp_delta
            if not _OVERFLOWS:
                offset, timestamp = _as_long(offset), _as_long(timestamp)
            if offset < first_offset or offset >= end_offset:
                headers.truncate(header_size)
                continue
            write_i64_le(rows, offset)
            write_i64_le(rows, timestamp)
            length = fields.key_length
            if length < 0:
                length = -1
            write_i64_le(rows, length << 32 | fields.key_start + shift)
            length = fields.value_length
            if length < 0:
                length = -1
            write_i64_le(rows, length << 32 | fields.value_start + shift)
            write_i64_le(rows, fields.header_count << 32 | header_size >> 4)
        self._index = count
        return position


def _as_long(value: int) -> int:
    """Return `value` with overflow as in Java."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
