"""Conversion between message formats for old clients (Kafka's `RecordsUtil`, `LazyDownConversionRecords`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.compression import CompressionType
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    LOG_OVERHEAD,
    MAX_DECOMPRESSED_SIZE,
    NO_PARTITION_LEADER_EPOCH,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
    TimestampType,
)
from kafkapy.record.records_builder import MemoryRecordsBuilder

Buffer = bytes | bytearray | memoryview
Batch = RecordBatch | LegacyRecordBatch


class ConvertedRecords(NamedTuple):
    """What a conversion gave. `temporary_memory_bytes` and `records_converted` feed Kafka's conversion metrics."""

    data: bytes
    temporary_memory_bytes: int
    records_converted: int


def down_convert(
    batches: Iterable[Batch], to_magic: int, first_offset: int, limit: int = MAX_DECOMPRESSED_SIZE
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
    for batch in batches:
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
        records = [r for r in batch.records(limit) if codec or r.offset >= first_offset]
        if not records:
            continue
        append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
        builder = MemoryRecordsBuilder(
            magic=to_magic,
            compression_type=codec,
            timestamp_type=batch.timestamp_type,
            base_offset=records[0].offset,
            log_append_time=batch.max_timestamp if append_time else NO_TIMESTAMP,
        )
        for record in records:
            builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
        out.append(builder.build())
        temporary += batch.size_in_bytes + builder.uncompressed_size
        converted += builder.record_count
    return ConvertedRecords(b"".join(out), temporary, converted)


def down_convert_to_size(
    batches: Iterable[Batch], to_magic: int, first_offset: int, limit: int = MAX_DECOMPRESSED_SIZE
) -> bytes:
    """The batches converted, in an answer that keeps the size of the originals (Kafka's `LazyDownConversionRecords`).

    Kafka converts while it sends: it promises the size of the stored batches (or that of the first converted batch,
    if it is larger) and fills the rest up with an entry that claims to be cut off, which clients drop. Where nothing
    can be converted there is such an entry alone: the client sees that there is something it cannot read. Raises
    `KafkaError` UNSUPPORTED_COMPRESSION_TYPE if the first batch is zstd; a later one ends the answer.
    """
    promised = 0
    size = 0
    parts: list[bytes] = []
    ended = False
    for batch in batches:
        promised += batch.size_in_bytes
        if ended:
            continue
        try:
            data = down_convert((batch,), to_magic, first_offset, limit).data
        except KafkaError as error:
            if error.error != Errors.UNSUPPORTED_COMPRESSION_TYPE or not parts:
                raise
            ended = True
            continue
        if data:
            parts.append(data)
            size += len(data)
    if not parts:
        return overflow_entry(LOG_OVERHEAD) if promised else b""
    promised = max(promised, len(parts[0]))
    if size < promised:
        parts.append(overflow_entry(promised - size))
    return b"".join(parts)[:promised]


def overflow_entry(size: int) -> bytes:
    """`size` bytes of an entry that claims to be longer: offset -1, its length, zeros."""
    entry = b"\xff" * 8 + max(size + 1, RECORD_BATCH_OVERHEAD).to_bytes(4, "big")
    return entry[:size] + bytes(max(0, size - len(entry)))


def up_convert(
    batches: Iterable[Batch], base_offset: int, partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH
) -> bytes:
    """Messages of format v0 or v1 as one uncompressed v2 batch with CreateTime, numbered from `base_offset`."""
    builder = MemoryRecordsBuilder(base_offset=base_offset, partition_leader_epoch=partition_leader_epoch)
    for batch in batches:
        for record in batch.records():
            builder.append(record.timestamp, record.key, record.value, record.headers)
    return builder.build()
