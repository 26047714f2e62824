"""Parses one v2 record: the loop body that validation, consumers and the cleaner share.

It reads a record, checks its structure, and returns the positions of its fields. As machine code (mypyc) that takes
some 15 ns. `RecordBatch.records` is the plain, field-by-field reader, and tests compare the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from librt.strings import BytesWriter, write_i64_le

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.varint import VARINT_TOO_LONG, read_varlong

if TYPE_CHECKING:
    from mypy_extensions import i64

NOT_ALL_THERE: Final = -1
INVALID_STRUCTURE: Final = "Found invalid record structure"


class RecordFields:
    """The record that was read last: its deltas, and the positions of its key, value and headers.

    Invariant: a negative length means null. `headers`, if set, has a row for each header of the records that were read:
    start and length of the key, then of the value, as int32. `shift` is added to the starts.
    """

    __slots__ = (
        "header_count",
        "headers",
        "key_length",
        "key_start",
        "offset_delta",
        "shift",
        "timestamp_delta",
        "value_length",
        "value_start",
    )

    def __init__(self, headers: BytesWriter | None = None, shift: i64 = 0) -> None:
        self.headers = headers
        self.shift: i64 = shift
        self.timestamp_delta: i64 = 0
        self.offset_delta: i64 = 0
        self.key_start: i64 = 0
        self.key_length: i64 = 0
        self.value_start: i64 = 0
        self.value_length: i64 = 0
        self.header_count: i64 = 0

    def read(self, data: bytes, position: i64) -> i64:
        """Read the record at `position`; return its end, or `NOT_ALL_THERE` if it is incomplete.

        `KafkaError` INVALID_RECORD, or `IndexError` where a field exceeds `data`: the record violates the format.
        """
        end: i64 = len(data)
        if position + 5 > end and not _has_varint(data, position):
            return NOT_ALL_THERE
        size: i64 = data[position]
        position += 1
        if size > 0x7F:
            size, position = _rest_of_varint(data, position, size)
        size = (size >> 1) ^ -(size & 1)
        body = position
        if position + size > end:
            return NOT_ALL_THERE
        end = position + size

        field: i64 = data[position + 1]  # after the attributes, which may be anything
        position += 2
        if field > 0x7F:
            self.timestamp_delta, position = _rest_of_varlong(data, position, field)
        else:
            self.timestamp_delta = (field >> 1) ^ -(field & 1)
        field = data[position]
        position += 1
        if field > 0x7F:
            byte: i64 = data[position]  # most batches have hundreds of records, whose offsets take two bytes
            if byte > 0x7F:
                field, position = _rest_of_varint(data, position, field)
            else:
                position += 1
                field = field & 0x7F | byte << 7
        self.offset_delta = (field >> 1) ^ -(field & 1)

        field = data[position]
        position += 1
        if field > 0x7F:
            field, position = _rest_of_varint(data, position, field)
        self.key_start = position
        self.key_length = field = (field >> 1) ^ -(field & 1)
        if field > 0:
            position += field
        field = data[position]
        position += 1
        if field > 0x7F:
            byte = data[position]
            if byte > 0x7F:
                field, position = _rest_of_varint(data, position, field)
            else:
                position += 1
                field = field & 0x7F | byte << 7
        self.value_start = position
        self.value_length = field = (field >> 1) ^ -(field & 1)
        if field > 0:
            position += field

        self.header_count = 0
        field = data[position]
        position += 1
        if field:
            position = self._read_headers(data, position, field)
        if position != end:
            raise invalid(
                f"Invalid record size: expected to read {size} bytes in record payload, "
                f"but instead read {position - body}"
            )
        return position

    def _read_headers(self, data: bytes, position: i64, count: i64) -> i64:
        """Return the end of the headers. `count`: the first byte of their number; `position` is after it."""
        if count > 0x7F:
            count, position = _rest_of_varint(data, position, count)
        count = (count >> 1) ^ -(count & 1)
        if count < 0 or count > len(data) - position:
            raise invalid(f"Found invalid number of record headers {count}")
        self.header_count = count
        headers = self.headers
        field: i64
        length: i64
        for _ in range(count):
            field = data[position]
            position += 1
            if field > 0x7F:
                field, position = _rest_of_varint(data, position, field)
            if field & 1:
                raise invalid(f"Invalid negative header key size {-(field + 1 >> 1)}")
            if headers is not None:
                write_i64_le(headers, field >> 1 << 32 | position + self.shift)
            position += field >> 1
            field = data[position]
            position += 1
            if field > 0x7F:
                field, position = _rest_of_varint(data, position, field)
            length = -(field & 1)  # null
            if not length:
                length = field >> 1
            if headers is not None:
                write_i64_le(headers, length << 32 | position + self.shift)
            if length > 0:
                position += length
        return position


def _has_varint(data: bytes, position: i64) -> bool:
    """Return whether `data` contains a whole varint from `position` on."""
    length: i64 = len(data)
    while position < length:
        if data[position] < 0x80:
            return True
        position += 1
    return False


def _rest_of_varint(data: bytes, position: i64, raw: i64) -> tuple[i64, i64]:
    """Read the rest of a varint whose first byte is `raw`, above 127; return it still zigzag-encoded, and its end.

    As `read_varint`: `IndexError` past the end, `KafkaError` INVALID_RECORD beyond five bytes.
    """
    byte: i64 = data[position]
    raw = raw & 0x7F | (byte & 0x7F) << 7
    if byte < 0x80:
        return raw, position + 1
    shift: i64 = 14
    while shift <= 28:
        position += 1
        byte = data[position]
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            return raw & 0xFFFFFFFF, position + 1
        shift += 7
    raise invalid(VARINT_TOO_LONG)


def _rest_of_varlong(data: bytes, position: i64, first: i64) -> tuple[i64, i64]:
    """Read the rest of a varlong whose first byte is `first`, above 127; return the number, and its end."""
    byte: i64 = data[position]
    if byte < 0x80:
        first = first & 0x7F | byte << 7
        return (first >> 1) ^ -(first & 1), position + 1
    value, end = read_varlong(data, position - 1)
    return value, end


def invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
