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

CONVERSION_CHUNK: Final = 1 << 17
"""Bytes of the log per conversion (Kafka's MAX_READ_SIZE)."""

Buffer = bytes | bytearray | memoryview
Batch = RecordBatch | LegacyRecordBatch


class ConvertedRecords(NamedTuple):
    """The result of a conversion. `temporary_memory_bytes` and `records_converted` feed Kafka's conversion metrics."""

    data: bytes
    temporary_memory_bytes: int
    records_converted: int


def down_convert(
    stored: Iterable[Batch], to_magic: int, first_offset: int, limit: int = MAX_DECOMPRESSED_SIZE
) -> ConvertedRecords:
    """Convert batches to message format v0 or v1 for an old fetcher.

    These formats have no control batches and no record headers, so both are dropped. Of an uncompressed batch the
    records before `first_offset` are dropped, because its messages become independent (librdkafka relies on it); a
    compressed one remains whole.

    Args:
        stored: The batches.
        to_magic: The target format, 0 or 1.
        first_offset: The requested offset.
        limit: Limit of decompressed bytes of one batch; default `MAX_DECOMPRESSED_SIZE`.

    Raises:
        KafkaError: UNSUPPORTED_COMPRESSION_TYPE for zstd.
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
    """A slice of a log, converted a few batches at a time for an old fetcher, in a response of predetermined size.

    As in Kafka, the size is that of the slice (or that of the first converted batches, if it is larger), and the end is
    padded with an incomplete entry, which clients drop. If nothing can be converted there is only such an entry, which
    shows the client that there are records it cannot read.

    Invariant: everything before `_position` of the file has been converted; at most `CONVERSION_CHUNK` bytes of the
    log, or one batch, are in memory at a time.
    """

    def __init__(self, records: FileRecords, to_magic: int, first_offset: int) -> None:
        self.has_batches = False
        """Whether any batch has been converted."""
        self._records = records
        self._to_magic = to_magic
        self._first_offset = first_offset
        self._has_converted = False
        self._position = records.position
        self._end = records.position + records.size

    def convert_next(self, size: int = CONVERSION_CHUNK) -> bytes | None:
        """Convert the next batches: those within `size` bytes of the log, at least one. The result may be empty. Return
        None at the end, or at a zstd batch that is not the first.

        Blocks.

        Raises:
            KafkaError: UNSUPPORTED_COMPRESSION_TYPE if the first batch is zstd; errors of `batches` and
                `RecordBatch.records`.
            OSError: reading failed, or the log was truncated meanwhile.
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
        """Return an empty list if there is at most an incomplete batch."""
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
    """Return `size` bytes of an entry that claims to be longer: offset -1, its length, zeros."""
    entry = b"\xff" * 8 + max(size + 1, RECORD_BATCH_OVERHEAD).to_bytes(4, "big")
    return entry[:size] + bytes(max(0, size - len(entry)))
