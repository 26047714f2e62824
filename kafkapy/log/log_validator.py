"""Validates records and completes them before a leader appends them (Kafka's `LogValidator`, the analysis in
`UnifiedLog.append` and `ProduceRequest.validateRecords`).

Usually there is one v2 batch that keeps its codec: its records are checked as columns (`RecordsWalk`), and only base
offset and leader epoch are overwritten in the receive buffer. A batch is rebuilt if the topic has another codec, or the
batch has another message format than the topic (`message.format.version`).

Kafka does not limit the decompressed size of a batch. Here the limit is `MAX_DECOMPRESSED_SIZE`, which readers of the
log can rely on; larger batches are refused with MESSAGE_TOO_LARGE. A batch is never in memory as a whole: it is
checked, or rebuilt with another codec, in pieces. Record lengths are checked in compressed batches, too, which Kafka
leaves to consumers.

Slow validations must not block the reactor: with `non_blocking` the validator raises `WouldBlock` before it does slow work.
The caller repeats the call in another thread, where the validator yields the interpreter lock regularly.
"""

from __future__ import annotations

from itertools import islice
from typing import Final

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import AppendOrigin, WouldBlock
from kafkapy.log.record_rebuilding import MAX_CONVERTED, MIN_LONG, convert, rebuild, too_many
from kafkapy.log.schema_configs import accepted_schemas
from kafkapy.log.schema_gate import check_schemas
from kafkapy.log.validation_result import Batch, Buffer, InvalidProduceRequest, ValidationResult, invalid
from kafkapy.log.validation_rules import ValidationRules
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType, decompress_chunks, decompress_small
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    CODEC_MASK,
    MAX_DECOMPRESSED_SIZE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    RecordBatch,
    only_batch,
)
from kafkapy.record.records_walk import RecordsWalk

INLINE_BYTES: Final = 1 << 21
"""Limit in bytes of records that are validated inline, compressed or not: 2 ms (docs/benchmarks.md), and twice the
default request size of Java's producers (`max.request.size`).
"""
_INLINE_REBUILT_BYTES: Final = 1 << 16
_INLINE_CONVERTED_BYTES: Final = 1 << 14
"""The same limit for records that are recompressed, or decoded to objects."""
_INLINE_RECORDS: Final = 500
"""Limit of records that are decoded to objects inline."""


class LogValidator:
    """Validates for one partition with one config; a log creates a new validator when its config changes.

    Errors of `validate`: CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE, UNSUPPORTED_COMPRESSION_TYPE,
    UNSUPPORTED_FOR_MESSAGE_FORMAT (a producer id, but the topic's format is not v2), UNKNOWN_SERVER_ERROR (unknown
    codec, damaged compressed data, headers or zstd that the topic's format lacks). `RecordValidationError` has
    INVALID_RECORD (no key in a compacted topic) or INVALID_TIMESTAMP.
    """

    def __init__(self, topic_partition: TopicPartition, config: LogConfig) -> None:
        self.rules = ValidationRules(topic_partition, config)
        subjects = config.value_schema_subjects
        self._accepted = None if subjects is None else accepted_schemas(topic_partition.topic, subjects)

    def validate(
        self,
        records: Buffer,
        next_offset: int,
        now_ms: int,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = 11,
        non_blocking: bool = False,
    ) -> ValidationResult:
        """Check the records of one partition, assign offsets from `next_offset` on, and set timestamp and epoch.

        If it raises, nothing has been changed.

        Args:
            records: The batches; changed in place if writable.
            next_offset: The first offset to assign.
            now_ms: The current time, ms.
            leader_epoch: The epoch to set.
            origin: The source of the records; default CLIENT.
            request_version: The version of the Produce request, if `origin` is CLIENT; default 11.
            non_blocking: Whether to raise `WouldBlock` instead of blocking the thread for long; default False.

        Raises `KafkaError` with the codes of a 3.9 broker, or `RecordValidationError` (see the class).
        """
        if non_blocking and len(records) > INLINE_BYTES:
            raise WouldBlock
        if isinstance(records, bytes) or (isinstance(records, memoryview) and records.readonly):
            records = bytearray(records)
        client = origin is AppendOrigin.CLIENT
        only = only_batch(records) if self.rules.to_magic >= 2 else None
        if only is not None:
            if client and 3 <= request_version < 7:
                _check_produce_request([only], request_version)
            self._check_batch(only, client)
            return self._validate_batch(records, only, next_offset, now_ms, leader_epoch, client, non_blocking)
        if client and request_version >= 3:
            _check_produce_request(list(islice(batches(records), 2)), request_version)
        if non_blocking and len(records) > _INLINE_CONVERTED_BYTES:
            raise WouldBlock
        found = list(islice(batches(records), MAX_CONVERTED + 1))
        if len(found) > MAX_CONVERTED:
            raise too_many()
        if not found:
            return ValidationResult(b"", (), next_offset, 0)
        size, source = self._analyze(found, client)
        if size != len(records):
            records = memoryview(records)[:size]  # without an incomplete batch at the end
        first = found[0]
        if len(found) > 1 and (first.magic >= 2 or source != CompressionType.NONE):
            raise invalid("Compressed outer record has more than one batch")
        if self.rules.to_magic >= 2 and isinstance(first, RecordBatch):
            return self._validate_batch(records, first, next_offset, now_ms, leader_epoch, client, non_blocking)
        if non_blocking and source != CompressionType.NONE:
            raise WouldBlock
        if self._accepted is not None and client:
            for batch in found:
                check_schemas(self._accepted, batch, non_blocking)
        return convert(self.rules, records, found, source, next_offset, now_ms, leader_epoch, client)

    def renumber(self, result: ValidationResult, next_offset: int, now_ms: int, leader_epoch: int) -> ValidationResult:
        """Renumber records that were validated with offset 0 before their offset was known."""
        first = result.batches[0]
        if isinstance(first, RecordBatch):
            first.set_offset_and_epoch(next_offset, leader_epoch)
            if self.rules.append_time:
                first.set_max_timestamp(self.rules.timestamp_type, now_ms)
                result.max_timestamp = result.log_append_time = now_ms
        elif first.magic == 0 and first.is_compressed:  # its inner offsets are absolute
            return self.validate(result.records, next_offset, now_ms, leader_epoch, AppendOrigin.COORDINATOR)
        else:
            for batch in result.batches:
                assert isinstance(batch, LegacyRecordBatch)
                batch.set_last_offset(batch.last_offset + next_offset)
        result.first_offset += next_offset
        result.last_offset += next_offset
        if result.shallow_offset_of_max_timestamp >= 0:
            result.shallow_offset_of_max_timestamp += next_offset
        return result

    def _analyze(self, found: list[Batch], client: bool) -> tuple[int, CompressionType]:
        """Return (bytes of all batches, the codec used); `UnifiedLog.analyzeAndValidateRecords`."""
        size = 0
        source = 0
        for batch in found:
            self._check_batch(batch, client)
            size += batch.size_in_bytes
            source = batch.attributes & CODEC_MASK or source
        return size, CompressionType.for_id(source)

    def _check_batch(self, batch: Batch, client: bool) -> None:
        """Check base offset, size, CRC and codec."""
        if client and batch.base_offset != 0 and batch.magic >= 2:
            raise invalid(
                f"The baseOffset of the record batch in the append to {self.rules.topic_partition} should be 0, "
                f"but it is {batch.base_offset}"
            )
        if batch.size_in_bytes > self.rules.max_message_bytes:
            raise self.rules.too_large(batch.size_in_bytes)
        if not batch.is_valid():
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Record is corrupt (stored crc = {batch.crc}) in topic partition {self.rules.topic_partition}.",
            )
        if batch.attributes & CODEC_MASK > self.rules.highest_codec:
            CompressionType.for_id(batch.attributes & CODEC_MASK)
            raise KafkaError(
                Errors.UNSUPPORTED_COMPRESSION_TYPE, "ZStandard needs inter.broker.protocol.version 2.1 or above"
            )

    # ----------------------------------------------------------------------------------------------------- one v2 batch

    def _validate_batch(
        self,
        records: Buffer,
        batch: RecordBatch,
        next_offset: int,
        now_ms: int,
        leader_epoch: int,
        client: bool,
        non_blocking: bool,
    ) -> ValidationResult:
        if client:
            self.rules.check_header(batch)
        count = batch.record_count
        if count < 0:
            raise invalid(f"Found invalid record count {count} in magic v2 batch")
        source = batch.attributes & CODEC_MASK
        target = source if self.rules.target is None else self.rules.target
        in_place = source == target or (source == CompressionType.NONE and batch.is_control)

        walk = RecordsWalk(count, yields_gil=not non_blocking)
        size = _walk(walk, batch, source, non_blocking) if count else 0
        lowest, highest = self._timestamps(batch, walk)
        self._check_records(batch, walk, lowest, highest, now_ms, non_blocking)
        if self._accepted is not None and client:
            check_schemas(self._accepted, batch, non_blocking)

        compressed_path = source != CompressionType.NONE or target != CompressionType.NONE
        if compressed_path and in_place and count and (batch.base_offset != 0 or not walk.sequential):
            # Kafka fails to renumber such records, which it did for clients of format v1 (KAFKA-5490).
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The offsets of the compressed records are not 0, 1, 2, ...")
        if not in_place:
            if non_blocking and size > _INLINE_REBUILT_BYTES:
                raise WouldBlock
            return rebuild(self.rules, batch, walk, size, target, lowest, highest, next_offset, now_ms, leader_epoch)
        result = ValidationResult(records, (batch,), next_offset, count)
        batch.set_offset_and_epoch(result.last_offset - batch.last_offset_delta, leader_epoch)
        result.max_timestamp = now_ms if self.rules.append_time else max(highest, NO_TIMESTAMP)
        batch.set_max_timestamp(self.rules.timestamp_type, result.max_timestamp)
        if compressed_path or result.max_timestamp != NO_TIMESTAMP:
            result.shallow_offset_of_max_timestamp = result.last_offset
        if self.rules.append_time:
            result.log_append_time = now_ms
        return result

    def _timestamps(self, batch: RecordBatch, walk: RecordsWalk) -> tuple[int, int]:
        """Return (a lower bound, the maximum) of the records' timestamps."""
        if not walk.count:
            return NO_TIMESTAMP, NO_TIMESTAMP
        if batch.attributes & TIMESTAMP_TYPE_MASK:
            return batch.max_timestamp, batch.max_timestamp
        lowest = batch.base_timestamp + walk.min_timestamp_delta
        highest = batch.base_timestamp + walk.max_timestamp_delta
        if highest > MAX_LONG or lowest < MIN_LONG:
            raise KafkaError(Errors.INVALID_TIMESTAMP, "Timestamps of the batch do not fit 64 bits")
        return lowest, highest

    def _check_records(
        self, batch: RecordBatch, walk: RecordsWalk, lowest: int, highest: int, now_ms: int, non_blocking: bool
    ) -> None:
        """Refuse records without keys in a compacted topic, and records outside of the allowed time range."""
        if self.rules.append_time:
            doubtful = batch.attributes & TIMESTAMP_TYPE_MASK != 0
        else:
            doubtful = now_ms - lowest > self.rules.before_max_ms or highest - now_ms > self.rules.after_max_ms
            doubtful = doubtful or (batch.attributes & TIMESTAMP_TYPE_MASK != 0 and highest == NO_TIMESTAMP)
        if doubtful or (self.rules.compact and walk.keyless):
            if non_blocking and walk.count > _INLINE_RECORDS:
                raise WouldBlock
            append_time = batch.attributes & TIMESTAMP_TYPE_MASK != 0
            partial = batch.is_compressed and self.rules.target in (None, batch.compression_type)
            name = "PartialDefaultRecord" if partial else "DefaultRecord"
            self.rules.check_records(batch.records(), append_time, now_ms, name)

    # --------------------------------------------------------------------------------------------------- old formats

    # ------------------------------------------------------------------------------------------------- record by record


def _walk(walk: RecordsWalk, batch: RecordBatch, source: int, non_blocking: bool) -> int:
    """Check the records' structure; return their decompressed size in bytes. `KafkaError` as of `RecordsWalk`."""
    if source == CompressionType.NONE and (non_blocking or batch.size_in_bytes <= INLINE_BYTES):
        data = batch.record_bytes()
        walk.walk_all(data)
        return len(data)
    body = batch.buffer[RECORD_BATCH_OVERHEAD:]
    small = decompress_small(source, body)
    if small is not None:
        walk.walk_all(small)
        return len(small)
    limit = INLINE_BYTES if non_blocking else MAX_DECOMPRESSED_SIZE
    if source == CompressionType.NONE:
        limit = len(body)
    try:
        return walk.walk_chunks(decompress_chunks(source, body, 2, limit), limit)
    except KafkaError as error:
        if non_blocking and error.error is Errors.MESSAGE_TOO_LARGE:
            raise WouldBlock from None
        raise


def _check_produce_request(found: list[Batch], version: int) -> None:
    """Check what a Produce request from version 3 on may contain for a partition (`ProduceRequest.validateRecords`)."""
    if not found:
        raise InvalidProduceRequest(
            Errors.INVALID_RECORD,
            f"Produce requests with version {version} must have at least one record batch per partition",
        )
    first = found[0]
    if first.magic != 2:
        raise InvalidProduceRequest(
            Errors.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain record batches with magic version 2",
        )
    if version < 7 and first.compression_type == CompressionType.ZSTD:
        raise InvalidProduceRequest(
            Errors.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} are not allowed to use ZStandard compression",
        )
    if len(found) > 1:
        raise InvalidProduceRequest(
            Errors.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain exactly one record batch "
            "per partition",
        )
