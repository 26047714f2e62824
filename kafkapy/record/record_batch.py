"""Record batches of message format v2 as views over bytes (Kafka's `DefaultRecordBatch`).

 0 int64  base offset              set by the leader, outside the CRC
 8 int32  batch length             bytes after this field
12 int32  partition leader epoch   set by the leader, outside the CRC
16 int8   magic                    2
17 uint32 CRC-32C                  of everything from byte 21 on
21 int16  attributes               bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon
23 int32  last offset delta
27 int64  base timestamp           the delete horizon if bit 6 is set
35 int64  max timestamp
43 int64  producer id | 51 int16 producer epoch | 53 int32 base sequence
57 int32  record count
61        records, compressed as one block if there is a codec

record: varint length | int8 attributes | varlong timestamp delta | varint offset delta
        | varint key length, key | varint value length, value | varint header count, headers
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from kafkapy.common.crc32c import crc32c
from kafkapy.common.limits import MAX_INT
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.compression import CompressionType, decompress
from kafkapy.record.varint import read_varint, read_varlong

Buffer = bytes | bytearray | memoryview

RECORD_BATCH_OVERHEAD: Final = 61
LOG_OVERHEAD: Final = 12
"""Bytes before what the length field counts, in every message format."""
HEADER_SIZE_UP_TO_MAGIC: Final = 17
MIN_RECORD_SIZE: Final = 14
"""The smallest value of the length field in any message format (a v0 message without key and value)."""

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_PARTITION_LEADER_EPOCH: Final = -1

CODEC_MASK: Final = 0x07
TIMESTAMP_TYPE_MASK: Final = 0x08
TRANSACTIONAL_MASK: Final = 0x10
CONTROL_MASK: Final = 0x20
DELETE_HORIZON_MASK: Final = 0x40

MAX_DECOMPRESSED_SIZE: Final = 1 << 27
"""Limit of a batch's decompressed bytes, where its records have to be in memory together (Kafka has no such limit)."""

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
assert HEADER.size == RECORD_BATCH_OVERHEAD
HEADER_TO_MAX_TIMESTAMP: Final = struct.Struct(">qiiBIhiqq")
HEADER_TO_MAGIC: Final = struct.Struct(">qi4xb")
"""The first fields of the header: base offset, length and magic, which are the same in every message format."""
LAST_OFFSET_DELTA: Final = struct.Struct(">i")
LAST_OFFSET_DELTA_POSITION: Final = 23
_unpack_header: Final = HEADER.unpack_from
_OFFSET_TO_EPOCH: Final = struct.Struct(">qii")
_OFFSET: Final = struct.Struct(">q")
_CRC_AND_ATTRIBUTES: Final = struct.Struct(">Ih")


class TimestampType(IntEnum):
    """The source of a record's timestamp. `text` is the name in configurations."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

    @property
    def text(self) -> str:
        return _TIMESTAMP_TYPE_NAMES[self]


_TIMESTAMP_TYPE_NAMES: Final = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


Header = tuple[bytes, bytes | None]


class DefaultRecord(NamedTuple):
    """One record; `offset` and `timestamp` absolute, headers as (key in UTF-8, value), `sequence` -1 without producer
    id."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    sequence: int = NO_SEQUENCE


class RecordBatch:
    """A batch at a position of a buffer: the header's fields as attributes; the records are decoded on access.

    Invariant: the fields are those of the bytes when the view was created, or were written through the `set_…` methods;
    the buffer contains the whole header. Creating a view checks nothing: `ensure_valid` does.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "batch_length",
        "crc",
        "data",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
    )

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, data: Buffer, position: int = 0) -> None:
        """Create a view of the batch at `position`; `struct.error` if the header is incomplete."""
        self.data = data
        self.position = position
        (
            self.base_offset,
            self.batch_length,
            self.partition_leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            self.last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = _unpack_header(data, position)

    @property
    def size_in_bytes(self) -> int:
        return self.batch_length + LOG_OVERHEAD

    @property
    def buffer(self) -> memoryview:
        """The bytes of the whole batch."""
        return self._view()[self.position : self.position + self.batch_length + LOG_OVERHEAD]

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record (0 follows 2^31 - 1); -1 if the batch has none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression_type(self) -> CompressionType:
        """The codec. `KafkaError` UNKNOWN_SERVER_ERROR for one that does not exist."""
        return CompressionType.for_id(self.attributes & CODEC_MASK)

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_MASK else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_MASK != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_MASK != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the tombstones or the marker of this batch may be removed (KIP-534); None before the first cleaning."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_MASK else None

    def _view(self) -> memoryview:
        data = self.data
        return data if isinstance(data, memoryview) else memoryview(data)

    def compute_crc(self) -> int:
        start = self.position
        return crc32c(self._view()[start + 21 : start + self.batch_length + LOG_OVERHEAD])

    def is_valid(self) -> bool:
        return self.batch_length >= RECORD_BATCH_OVERHEAD - LOG_OVERHEAD and self.crc == self.compute_crc()

    def ensure_valid(self) -> None:
        """Raise `KafkaError` CORRUPT_MESSAGE unless size and CRC are right."""
        if self.batch_length < RECORD_BATCH_OVERHEAD - LOG_OVERHEAD:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Record batch is corrupt (the size {self.size_in_bytes} is smaller than the minimum allowed overhead "
                f"{RECORD_BATCH_OVERHEAD})",
            )
        computed = self.compute_crc()
        if self.crc != computed:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Record is corrupt (stored crc = {self.crc}, computed crc = {computed})",
            )

    def record_bytes(self, limit: int = MAX_DECOMPRESSED_SIZE) -> bytes:
        """Return the bytes after the header, decompressed; errors as of `compression.decompress`."""
        start = self.position
        body = self._view()[start + RECORD_BATCH_OVERHEAD : start + self.batch_length + LOG_OVERHEAD]
        if not self.attributes & CODEC_MASK:
            return bytes(body)
        return decompress(self.compression_type, body, limit)

    def records(self, limit: int = MAX_DECOMPRESSED_SIZE) -> Iterator[DefaultRecord]:
        """The records in order.

        Args:
            limit: Limit of the records' decompressed bytes; default `MAX_DECOMPRESSED_SIZE`.

        Raises:
            KafkaError: MESSAGE_TOO_LARGE above the limit; INVALID_RECORD for a malformed record, UNKNOWN_SERVER_ERROR
                for damaged compressed data, when it is reached.
        """
        count = self.record_count
        if count == 0:
            return
        if count < 0:
            raise _invalid(f"Found invalid record count {count} in magic v{self.magic} batch")
        data = self.record_bytes(limit)
        position = 0
        for _ in range(count):
            record, position = self._read_record(data, position)
            yield record
        if position != len(data):
            raise _invalid("Incorrect declared batch size, records still remaining in file")

    def _read_record(self, data: bytes, position: int) -> tuple[DefaultRecord, int]:
        try:
            size, start = read_varint(data, position)
            end = start + size
            if size < 0 or end > len(data):
                raise _invalid(
                    f"Invalid record size: expected {size} bytes in record payload, but instead the buffer has only "
                    f"{len(data) - start} remaining bytes."
                )
            timestamp_delta, position = read_varlong(data, start + 1)
            offset_delta, position = read_varint(data, position)
            key, position = _read_bytes(data, position)
            value, position = _read_bytes(data, position)
            header_count, position = read_varint(data, position)
            headers: tuple[Header, ...] = ()
            if header_count:
                headers, position = _read_headers(data, position, header_count)
        except IndexError:
            raise _invalid("Found invalid record structure") from None
        if position != end:
            raise _invalid(
                f"Invalid record size: expected to read {size} bytes in record payload, "
                f"but instead read {position - start}"
            )
        append_time = self.attributes & TIMESTAMP_TYPE_MASK
        return DefaultRecord(
            self.base_offset + offset_delta,
            self.max_timestamp if append_time else self.base_timestamp + timestamp_delta,
            key,
            value,
            headers,
            increment_sequence(self.base_sequence, offset_delta) if self.base_sequence >= 0 else NO_SEQUENCE,
        ), position

    def set_offset_and_epoch(self, base_offset: int, partition_leader_epoch: int) -> None:
        """Write the fields that the leader assigns, in place; the CRC does not cover them."""
        _OFFSET_TO_EPOCH.pack_into(self.data, self.position, base_offset, self.batch_length, partition_leader_epoch)
        self.base_offset = base_offset
        self.partition_leader_epoch = partition_leader_epoch

    def set_max_timestamp(self, timestamp_type: TimestampType, max_timestamp: int) -> None:
        """Write timestamp type and max timestamp in place, and the CRC if anything changed."""
        if self.timestamp_type == timestamp_type and self.max_timestamp == max_timestamp:
            return
        self.attributes &= CODEC_MASK | TRANSACTIONAL_MASK | CONTROL_MASK | DELETE_HORIZON_MASK
        if timestamp_type == TimestampType.LOG_APPEND_TIME:
            self.attributes |= TIMESTAMP_TYPE_MASK
        self.max_timestamp = max_timestamp
        _OFFSET.pack_into(self.data, self.position + 35, max_timestamp)
        _CRC_AND_ATTRIBUTES.pack_into(self.data, self.position + 17, 0, self.attributes)
        self.crc = self.compute_crc()
        _CRC_AND_ATTRIBUTES.pack_into(self.data, self.position + 17, self.crc, self.attributes)

    def __repr__(self) -> str:
        return (
            f"RecordBatch(magic={self.magic}, offsets=[{self.base_offset}, {self.last_offset}], "
            f"sequence=[{self.base_sequence}, {self.last_sequence}], isTransactional={self.is_transactional}, "
            f"isControlBatch={self.is_control}, attributes={self.attributes}, crc={self.crc})"
        )


def only_batch(data: Buffer) -> RecordBatch | None:
    """Return the batch, if `data` is exactly one of format v2 by its size field: a cheap check for the usual case."""
    size = len(data)
    if size >= RECORD_BATCH_OVERHEAD and data[16] == 2:
        batch = RecordBatch(data)
        if batch.batch_length == size - LOG_OVERHEAD:
            return batch
    return None


def increment_sequence(sequence: int, increment: int) -> int:
    """Return `sequence + increment`, where 0 follows 2^31 - 1."""
    if sequence > MAX_INT - increment:
        return increment - (MAX_INT - sequence) - 1
    return sequence + increment


def decrement_sequence(sequence: int, decrement: int) -> int:
    """Return `sequence - decrement`, where 2^31 - 1 precedes 0."""
    if sequence < decrement:
        return MAX_INT - (decrement - sequence) + 1
    return sequence - decrement


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position)
    if size < 0:
        return None, position
    end = position + size
    if end > len(data):
        raise IndexError
    return data[position:end], end


def _read_headers(data: bytes, position: int, count: int) -> tuple[tuple[Header, ...], int]:
    if count < 0:
        raise _invalid(f"Found invalid number of record headers {count}")
    if count > len(data) - position:
        raise _invalid(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer"
        )
    headers = []
    for _ in range(count):
        key, position = _read_bytes(data, position)
        if key is None:
            raise _invalid("Invalid negative header key size")
        value, position = _read_bytes(data, position)
        headers.append((key, value))
    return tuple(headers), position


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
