"""Rebuilds records with another codec, or in another message format (part of Kafka's `LogValidator`)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.validation_result import Batch, Buffer, ValidationResult, invalid
from kafkapy.log.validation_rules import RECORDS_PER_YIELD, ValidationRules, raise_record_errors
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType, compress_chunks, decompress_chunks
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    CODEC_MASK,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    DefaultRecord,
    RecordBatch,
    TimestampType,
)
from kafkapy.record.records_builder import MemoryRecordsBuilder, put_header
from kafkapy.record.records_walk import RecordsWalk
from kafkapy.runtime.large_memory import LargeBytes
from kafkapy.runtime.yield_gil import yield_gil

MAX_CONVERTED: Final = 1_000_000
"""Limit of records per batch that are decoded to objects."""
MIN_LONG: Final = -(1 << 63)
_LARGE: Final = 1 << 20
"""Bytes of records from which on separate memory is used."""
_OVERHEAD_BYTES: Final = 1 << 18
"""Bytes for a header, and for the overhead of codecs on incompressible data."""


def rebuild(
    rules: ValidationRules,
    batch: RecordBatch,
    walk: RecordsWalk,
    size: int,
    target: int,
    lowest: int,
    highest: int,
    next_offset: int,
    now_ms: int,
    leader_epoch: int,
) -> ValidationResult:
    """Return the batch with another codec, or with renumbered records. `size`: bytes of the records, decompressed."""
    # If only the codec changes, the encoded records are kept.
    canonical = walk.sequential and batch.base_offset == 0 and not batch.attributes & TIMESTAMP_TYPE_MASK
    has_producer = batch.producer_id > -1 and batch.producer_epoch > -1 and batch.base_sequence > -1
    producer_fits = has_producer or (batch.producer_id == -1 and not batch.is_transactional)
    if not canonical or lowest < 0 or not producer_fits or not walk.count:
        if walk.count > MAX_CONVERTED:
            raise too_many()
        return _build(rules, batch.records(), batch, target, next_offset, now_ms, leader_epoch)
    max_timestamp = now_ms if rules.append_time else highest
    data = _with_codec(rules, batch, size, target)
    put_header(
        data,
        base_offset=next_offset,
        last_offset_delta=batch.last_offset_delta,
        record_count=walk.count,
        attributes=target | (TIMESTAMP_TYPE_MASK if rules.append_time else 0) | batch.attributes & TRANSACTIONAL_MASK,
        base_timestamp=batch.base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        partition_leader_epoch=leader_epoch,
    )
    return _result_of(rules, data, (RecordBatch(data),), walk.count, next_offset, max_timestamp, now_ms)


def _with_codec(rules: ValidationRules, batch: RecordBatch, size: int, target: int) -> bytearray | memoryview:
    """Return the records in another codec, after space for a header."""
    expected = min(size + size // 5, rules.max_message_bytes) + _OVERHEAD_BYTES
    data: bytearray | LargeBytes = bytearray() if size <= _LARGE else LargeBytes(expected)
    data.extend(bytes(RECORD_BATCH_OVERHEAD))
    body = decompress_chunks(batch.attributes & CODEC_MASK, batch.buffer[RECORD_BATCH_OVERHEAD:])
    for piece in compress_chunks(target, body, rules.levels.get(target)):
        data.extend(piece)
        if len(data) > rules.max_message_bytes:
            raise rules.too_large(len(data))
    return data.view() if isinstance(data, LargeBytes) else data


def _build(
    rules: ValidationRules,
    records: Iterable[DefaultRecord],
    first: Batch,
    target: int,
    next_offset: int,
    now_ms: int,
    leader_epoch: int,
) -> ValidationResult:
    try:
        builder = MemoryRecordsBuilder(
            magic=rules.to_magic,
            compression_type=CompressionType(target),
            compression_level=rules.levels.get(target),
            timestamp_type=rules.timestamp_type,
            base_offset=next_offset,
            log_append_time=now_ms if rules.append_time else NO_TIMESTAMP,
            producer_id=first.producer_id,
            producer_epoch=first.producer_epoch,
            base_sequence=first.base_sequence,
            is_transactional=first.is_transactional,
            partition_leader_epoch=leader_epoch,
        )
        for record in records:
            if builder.record_count % RECORDS_PER_YIELD == RECORDS_PER_YIELD - 1:
                yield_gil()
            builder.append(record.timestamp, record.key, record.value, record.headers)
        data = bytearray(builder.build())
    except ValueError as error:
        # A negative timestamp, a producer id without epoch, headers or zstd in an old format.
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, str(error)) from None
    max_timestamp = now_ms if rules.append_time else builder.max_timestamp
    found = tuple(batches(data))
    result = _result_of(rules, data, found, builder.record_count, next_offset, max_timestamp, now_ms)
    if len(found) > 1:  # separate messages of an old format
        result.shallow_offset_of_max_timestamp = next_offset if rules.append_time else builder.offset_of_max_timestamp
    return result


def _result_of(
    rules: ValidationRules,
    data: bytearray | memoryview,
    found: tuple[Batch, ...],
    count: int,
    next_offset: int,
    max_timestamp: int,
    now_ms: int,
) -> ValidationResult:
    for batch in found:
        if batch.size_in_bytes > rules.max_message_bytes:
            raise rules.too_large(batch.size_in_bytes)
    result = ValidationResult(data, found, next_offset, count)
    result.max_timestamp = max_timestamp
    if max_timestamp != NO_TIMESTAMP:
        result.shallow_offset_of_max_timestamp = result.last_offset
    if rules.append_time:
        result.log_append_time = now_ms
    result.records_converted = count
    return result


def convert(
    rules: ValidationRules,
    data: Buffer,
    found: list[Batch],
    source: CompressionType,
    next_offset: int,
    now_ms: int,
    leader_epoch: int,
    client: bool,
) -> ValidationResult:
    """Convert records that come, or are to be stored, in format v0 or v1; `found` are the batches in `data`."""
    magic = found[0].magic
    target = source if rules.target is None else rules.target
    records: list[DefaultRecord] = []
    for batch in found:
        if batch.magic != magic:
            raise invalid(
                f"Batch magic {batch.magic} is not the same as the first batch's magic byte {magic} "
                f"in topic partition {rules.topic_partition}"
            )
        if isinstance(batch, RecordBatch):
            records += _records_of_new_format(rules, batch, now_ms, client)
        else:
            records += _records_of_old_format(rules, batch, now_ms)
    in_place = magic == rules.to_magic and source == target
    if in_place and source != CompressionType.NONE:
        # The offsets in a v0 wrapper are absolute, and early clients numbered those of v1 incorrectly.
        in_place = magic > 0 and all(record.offset == index for index, record in enumerate(records))
    if in_place:
        return _number(rules, data, found, records, next_offset, now_ms)
    return _build(rules, records, found[0], target, next_offset, now_ms, leader_epoch)


def _records_of_old_format(rules: ValidationRules, batch: LegacyRecordBatch, now_ms: int) -> list[DefaultRecord]:
    records = _objects(batch.records())
    append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    raise_record_errors(_inner_errors(rules, batch))
    rules.check_records(records, append_time, now_ms, "LegacyRecord")
    return records


def _records_of_new_format(
    rules: ValidationRules, batch: RecordBatch, now_ms: int, client: bool
) -> list[DefaultRecord]:
    """For a topic whose format is older."""
    if client:
        rules.check_header(batch)
    if batch.is_transactional or batch.has_producer_id:
        raise KafkaError(
            Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"Records of idempotent or transactional producers can't be stored in message format v{rules.to_magic} "
            f"in topic partition {rules.topic_partition}",
        )
    records = _objects(batch.records())
    if any(not MIN_LONG <= record.timestamp <= MAX_LONG for record in records):
        raise KafkaError(Errors.INVALID_TIMESTAMP, "Timestamps of the batch do not fit 64 bits")
    append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    rules.check_records(records, append_time, now_ms, "DefaultRecord")
    return records


def _number(
    rules: ValidationRules,
    data: Buffer,
    found: list[Batch],
    records: list[DefaultRecord],
    next_offset: int,
    now_ms: int,
) -> ValidationResult:
    """Renumber messages that otherwise stay unchanged, except perhaps the timestamp: single ones, or one wrapper."""
    result = ValidationResult(data, tuple(found), next_offset, len(records))
    step = len(records) // len(found)
    offset = next_offset - 1
    for batch in found:
        assert isinstance(batch, LegacyRecordBatch)
        offset += step
        batch.set_last_offset(offset)
        if batch.magic > 0:
            highest = max(record.timestamp for record in records) if batch.is_compressed else batch.timestamp
            batch.set_max_timestamp(rules.timestamp_type, now_ms if rules.append_time else highest)
            if batch.timestamp > result.max_timestamp:
                result.max_timestamp, result.shallow_offset_of_max_timestamp = batch.timestamp, offset
    if rules.append_time:
        result.log_append_time = now_ms
    return result


def _inner_errors(rules: ValidationRules, batch: LegacyRecordBatch) -> list[tuple[Errors, int, str]]:
    """Return errors of the messages in a wrapper; `KafkaError` CORRUPT_MESSAGE for a wrong CRC."""
    errors = []
    for index, entry in enumerate(batch.inner_entries() if batch.is_compressed else ()):
        if entry.magic != batch.magic:
            why = f"Record's magic does not match outer magic {batch.magic} in topic partition {rules.topic_partition}"
            errors.append((Errors.INVALID_RECORD, index, why))
        else:
            entry.ensure_valid()
    return errors


def _objects(records: Iterable[DefaultRecord]) -> list[DefaultRecord]:
    found = list(islice(records, MAX_CONVERTED + 1))
    if len(found) > MAX_CONVERTED:
        raise too_many()
    return found


def too_many() -> KafkaError:
    return KafkaError(Errors.MESSAGE_TOO_LARGE, f"More than {MAX_CONVERTED} records would have to be converted")
