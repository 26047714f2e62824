"""Messages before record batches as views over bytes: formats v0 and v1 (Kafka's `AbstractLegacyRecordBatch`).

An uncompressed message is a batch of one record. A compressed one is a wrapper: its value is a whole message set of
inner messages. The inner offsets of v0 are absolute; those of v1 count from 0, and the wrapper's offset is that of
its last message. Wrappers do not nest.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.compression import CompressionType, decompress
from kafkapy.record.record_batch import (
    CODEC_MASK,
    LOG_OVERHEAD,
    MAX_DECOMPRESSED_SIZE,
    MIN_RECORD_SIZE,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_MASK,
    DefaultRecord,
    TimestampType,
)

Buffer = bytes | bytearray | memoryview

_MESSAGE_HEADER = struct.Struct(">qiIbb")
_TIMESTAMP = struct.Struct(">q")
_MESSAGE_SIZE = struct.Struct(">i")


class LegacyRecordBatch:
    """A message of a v0 or v1 message set, with the applicable attributes of a `RecordBatch`.

    Invariant: the fields are those of the bytes when the view was created, or were written through the `set_…` methods.
    Creating a view only checks that the header is complete.
    """

    __slots__ = ("attributes", "crc", "data", "magic", "message_size", "offset", "position", "timestamp")

    offset: int
    message_size: int
    crc: int
    magic: int
    attributes: int
    timestamp: int

    producer_id = NO_PRODUCER_ID
    producer_epoch = NO_PRODUCER_EPOCH
    base_sequence = NO_SEQUENCE
    last_sequence = NO_SEQUENCE
    partition_leader_epoch = NO_PARTITION_LEADER_EPOCH
    has_producer_id = False
    is_transactional = False
    is_control = False
    delete_horizon_ms = None
    record_count = None
    """The header of a wrapper does not contain its number of records."""

    def __init__(self, data: Buffer, position: int = 0) -> None:
        self.data = data
        self.position = position
        self.offset, self.message_size, self.crc, self.magic, self.attributes = _MESSAGE_HEADER.unpack_from(
            data, position
        )
        self.timestamp = NO_TIMESTAMP
        if self.magic > 0:
            (self.timestamp,) = _TIMESTAMP.unpack_from(data, position + _MESSAGE_HEADER.size)

    @property
    def size_in_bytes(self) -> int:
        return self.message_size + LOG_OVERHEAD

    @property
    def buffer(self) -> memoryview:
        """The bytes of the whole entry."""
        return memoryview(self.data)[self.position : self.position + self.message_size + LOG_OVERHEAD]

    @property
    def base_offset(self) -> int:
        """The first record's offset, for which a wrapper is decompressed."""
        return next(self.records()).offset if self.is_compressed else self.offset

    @property
    def last_offset(self) -> int:
        return self.offset

    @property
    def next_offset(self) -> int:
        return self.offset + 1

    @property
    def max_timestamp(self) -> int:
        return self.timestamp

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_MASK else TimestampType.CREATE_TIME

    @property
    def compression_type(self) -> CompressionType:
        return CompressionType.for_id(self.attributes & CODEC_MASK)

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    def compute_crc(self) -> int:
        start = self.position
        return zlib.crc32(memoryview(self.data)[start + 16 : start + self.message_size + LOG_OVERHEAD])

    def is_valid(self) -> bool:
        return self.message_size >= MIN_RECORD_SIZE and self.crc == self.compute_crc()

    def ensure_valid(self) -> None:
        """Raise `KafkaError` CORRUPT_MESSAGE unless size and CRC are right."""
        if self.message_size < MIN_RECORD_SIZE:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                "Record is corrupt (crc could not be retrieved as the record is too small, "
                f"size = {self.message_size})",
            )
        computed = self.compute_crc()
        if self.crc != computed:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {self.crc}, computed crc = {computed})"
            )

    def key_and_value(self) -> tuple[bytes | None, bytes | None]:
        """Return key and value; `KafkaError` INVALID_RECORD if a length exceeds the message."""
        key, position = self._nullable(
            self.position + (_MESSAGE_HEADER.size if self.magic == 0 else _MESSAGE_HEADER.size + 8)
        )
        value, _ = self._nullable(position)
        return key, value

    def _nullable(self, position: int) -> tuple[bytes | None, int]:
        message_end = self.position + self.message_size + LOG_OVERHEAD
        start = position + 4
        if start <= message_end:
            (size,) = _MESSAGE_SIZE.unpack_from(self.data, position)
            if size < 0:
                return None, start
            if start + size <= message_end:
                return bytes(self.data[start : start + size]), start + size
        raise _invalid("Found invalid record structure")

    def records(self, limit: int = MAX_DECOMPRESSED_SIZE) -> Iterator[DefaultRecord]:
        """The records in order: of a wrapper the inner messages, decompressed to at most `limit` bytes in all.

        `KafkaError` as of `inner_entries`.
        """
        if not self.is_compressed:
            yield DefaultRecord(self.offset, self.timestamp, *self.key_and_value())
            return
        for entry in self.inner_entries(limit):
            if entry.is_compressed:
                raise _invalid("Inner messages must not be compressed")
            yield DefaultRecord(entry.offset, entry.timestamp, *entry.key_and_value())

    def inner_entries(self, limit: int = MAX_DECOMPRESSED_SIZE) -> list[LegacyRecordBatch]:
        """Return the messages in a wrapper, with absolute offsets, and with the wrapper's timestamp if that is
        LogAppendTime.

        Raises:
            KafkaError: MESSAGE_TOO_LARGE if they take more than `limit` bytes, UNKNOWN_SERVER_ERROR if the data is
                damaged, CORRUPT_MESSAGE or INVALID_RECORD if they violate the format.
        """
        codec = self.compression_type
        if codec == CompressionType.ZSTD:
            raise _invalid(f"Invalid wrapper compressionType found in legacy deep record iterator {self.magic}")
        _, value = self.key_and_value()
        if value is None:
            raise _invalid(f"Found invalid compressed record set with null value (magic = {self.magic})")
        data = decompress(codec, value, limit, self.magic)
        entries = []
        position = 0
        while len(data) - position >= LOG_OVERHEAD:
            (size,) = _MESSAGE_SIZE.unpack_from(data, position + 8)
            if size < MIN_RECORD_SIZE:
                raise KafkaError(
                    Errors.CORRUPT_MESSAGE, f"Record size is less than the minimum record overhead ({MIN_RECORD_SIZE})"
                )
            if size > len(data) - position - LOG_OVERHEAD:
                break
            if data[position + 16] > 1:
                raise _invalid("Inner messages must be of message format v0 or v1")
            entries.append(LegacyRecordBatch(data, position))
            position += size + LOG_OVERHEAD
        if not entries:
            raise _invalid("Found invalid compressed record set with no inner records")
        if self.magic == 1:
            self._make_absolute(entries)
        return entries

    def _make_absolute(self, entries: list[LegacyRecordBatch]) -> None:
        last = entries[-1].offset
        # Producers send 0: then the inner offsets are used unchanged.
        if self.offset < last and self.offset != 0:
            raise _invalid(
                "Found invalid wrapper offset in compressed v1 message set, "
                f"wrapper offset '{self.offset}' is less than the last inner message offset '{last}' "
                "and it is not zero."
            )
        base = self.offset - last if self.offset else 0
        append_time = self.attributes & TIMESTAMP_TYPE_MASK
        for entry in entries:
            entry.offset += base
            if append_time and entry.magic > 0:
                entry.timestamp = self.timestamp

    def set_last_offset(self, offset: int) -> None:
        """Write the offset in place; the CRC does not cover it."""
        _TIMESTAMP.pack_into(self.data, self.position, offset)
        self.offset = offset

    def set_max_timestamp(self, timestamp_type: TimestampType, timestamp: int) -> None:
        """Write timestamp type and timestamp in place (v1 only), and the CRC if anything changed."""
        if self.timestamp_type == timestamp_type and self.timestamp == timestamp:
            return
        append_time = TIMESTAMP_TYPE_MASK if timestamp_type == TimestampType.LOG_APPEND_TIME else 0
        self.attributes = self.attributes & CODEC_MASK | append_time
        self.timestamp = timestamp
        view = memoryview(self.data)
        view[self.position + 17] = self.attributes
        _TIMESTAMP.pack_into(view, self.position + _MESSAGE_HEADER.size, timestamp)
        self.crc = self.compute_crc()
        view[self.position + 12 : self.position + 16] = self.crc.to_bytes(4, "big")

    def __repr__(self) -> str:
        return (
            f"LegacyRecordBatch(offset={self.offset}, magic={self.magic}, attributes={self.attributes}, crc={self.crc})"
        )


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
