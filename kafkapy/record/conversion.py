"""Conversion between message formats for old clients (Kafka's `RecordsUtil`, `LazyDownConversionRecords`)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, NamedTuple

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from kafkapy.record.file_records import FileRecords
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    LOG_OVERHEAD,
    MAX_DECOMPRESSED_SIZE,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
    TimestampType,
)
from kafkapy.record.records_builder import MemoryRecordsBuilder

CONVERTED_AT_ONCE: Final = 1 << 17
"""Bytes of a log (Kafka's MAX_READ_SIZE)."""

Buffer = bytes | bytearray | memoryview
Batch = RecordBatch | LegacyRecordBatch


class ConvertedRecords(NamedTuple):
    """What a conversion gave. `temporary_memory_bytes` and `records_converted` feed Kafka's conversion metrics."""

    data: bytes
    temporary_memory_bytes: int
    records_converted: int


def down_convert(
    stored: Iterable[Batch], to_magic: int, first_offset: int, limit: int = MAX_DECOMPRESSED_SIZE
) -> ConvertedRecords:
    """The batches in message format v0 or v1 for an old fetcher.

    Control batches and the headers of records have no place there and are left out. An uncompressed batch loses the
    records before `first_offset`, because its messages stand alone then (librdkafka relies on it); a compressed one
    stays whole. `limit`: bytes that one batch may take decompressed. Raises `KafkaError` UNSUPPORTED_COMPRESSION_TYPE
    for zstd.
    """
    out: list[Buffer] = []
    temporary = 0
    converted = 0
    for batch in stored:
        if batch.is_control:
            continue
        codec = batch.compression_type
        if codec == CompressionType.ZSTD:
            raise KafkaError(
                Errors.UNSUPPORTED_COMPRESSION_TYPE,
                "Down-conversion of zstandard-compressed batches is not supported",
            )
        if batch.magic <= to_magic:
            out.append(batch.buffer)
            temporary += batch.size_in_bytes
            continue
        append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
        builder: MemoryRecordsBuilder | None = None
        for record in batch.records(limit):
            if not codec and record.offset < first_offset:
                continue
            if builder is None:
                builder = MemoryRecordsBuilder(
                    magic=to_magic,
                    compression_type=codec,
                    timestamp_type=batch.timestamp_type,
                    base_offset=record.offset,
                    log_append_time=batch.max_timestamp if append_time else NO_TIMESTAMP,
                )
            builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
        if builder is None:
            continue
        out.append(builder.build())
        temporary += batch.size_in_bytes + builder.uncompressed_size
        converted += builder.record_count
    return ConvertedRecords(b"".join(out), temporary, converted)


class LazyDownConversionRecords:
    """A slice of a log, converted some batches at a time for an old fetcher, in an answer of a size that is known before.

    As Kafka's: it promises the size of the slice (or that of the first converted batches, if it is larger), and fills up what is
    left at the end with an entry that claims to be cut off, which clients drop. Where nothing can be converted there is such an
    entry alone: the client sees that there is something it cannot read.

    Invariant: what lies before `_position` of the file has been converted; at most `CONVERTED_AT_ONCE` bytes of the log, or one
    batch, are in memory at a time.
    """

    def __init__(self, records: FileRecords, to_magic: int, first_offset: int) -> None:
        self.has_batches = False
        """So far."""
        self._records = records
        self._to_magic = to_magic
        self._first_offset = first_offset
        self._has_converted = False
        self._position = records.position
        self._end = records.position + records.size

    def convert_some(self, size: int = CONVERTED_AT_ONCE) -> bytes | None:
        """The next batches, converted: as many as take `size` bytes in the log, at least one. It may be that nothing is left of
        them. None at the end, which a zstd batch behind others is, too.

        Blocks. `KafkaError` UNSUPPORTED_COMPRESSION_TYPE if the first batch is zstd, and what `batches` and
        `RecordBatch.records` raise; `OSError` also if the log was truncated meanwhile.
        """
        converted: list[bytes] = []
        for batch in self._next_batches(size):
            self.has_batches = True
            self._position += batch.size_in_bytes
            try:
                data = down_convert((batch,), self._to_magic, self._first_offset).data
            except KafkaError as error:
                if error.error != Errors.UNSUPPORTED_COMPRESSION_TYPE or not self._has_converted:
                    raise
                self._position = self._end
                break
            converted.append(data)
            self._has_converted = self._has_converted or data != b""
        return b"".join(converted) if converted else None

    def _next_batches(self, size: int) -> list[Batch]:
        """None where only the beginning of a batch is left, or nothing."""
        data = self._read(max(size, RECORD_BATCH_OVERHEAD))
        first = LOG_OVERHEAD + int.from_bytes(data[LOG_OVERHEAD - 4 : LOG_OVERHEAD], "big", signed=True)
        if len(data) < LOG_OVERHEAD or first > self._end - self._position:
            return []
        if first > len(data):
            data = self._read(first)
        return list(batches(data, 0, min(len(data), max(size, first))))

    def _read(self, size: int) -> bytes:
        wanted = min(size, self._end - self._position)
        data = os.pread(self._records.fileno(), wanted, self._position)
        if len(data) < wanted:
            raise OSError("the log was truncated below a response that was being sent")
        return data


def overflow_entry(size: int) -> bytes:
    """`size` bytes of an entry that claims to be longer: offset -1, its length, zeros."""
    entry = b"\xff" * 8 + max(size + 1, RECORD_BATCH_OVERHEAD).to_bytes(4, "big")
    return entry[:size] + bytes(max(0, size - len(entry)))
