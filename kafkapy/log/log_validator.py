"""What a leader checks and writes into records before it appends them (Kafka's `LogValidator`, the analysis in
`UnifiedLog.append` and `ProduceRequest.validateRecords`).

The usual case is one v2 batch that keeps its codec: its records are checked as columns (`RecordsWalk`), and then only
base offset and leader epoch are written over it, where it lies in the receive buffer. A batch is made anew when the
topic wants another codec, or when it comes in another message format than the topic has (`message.format.version`).

Kafka has no limit to what a batch may unfold to. Here it is `MAX_DECOMPRESSED_SIZE`, so that whoever reads the log
can rely on it, and beyond that the batch is MESSAGE_TOO_LARGE. It is never in memory as a whole: what keeps its codec is
walked in pieces, and what gets another one is made anew in pieces. And the length of a record is checked in compressed
batches too, where Kafka passes over it and leaves the failure to the consumers.

What takes long is not for the thread that serves everybody: with `at_once` the validator gives up (`TakesLong`) where it finds
that it would. Whoever calls it then does so in another thread, where it hands the interpreter over now and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import AppendOrigin, TakesLong
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.blocks import hand_over
from kafkapy.record.compression import CompressionType, compress_chunks, decompress_chunks, decompress_small
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    CODEC_MASK,
    MAX_DECOMPRESSED_SIZE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    Record,
    RecordBatch,
    TimestampType,
    only_batch,
)
from kafkapy.record.records_builder import MemoryRecordsBuilder, put_header
from kafkapy.record.records_walk import RecordsWalk

Buffer = bytes | bytearray | memoryview
Batch = RecordBatch | LegacyRecordBatch

_MIN_LONG: Final = -(1 << 63)
_HIGHEST_CODEC: Final = max(CompressionType)

AT_ONCE: Final = 1 << 21
"""Bytes of records that are checked and written at once, compressed or not."""
_REBUILT_AT_ONCE: Final = 1 << 16
_CONVERTED_AT_ONCE: Final = 1 << 14
"""Fewer of those that have to be compressed anew, or made objects of."""
_RECORDS_AT_ONCE: Final = 500
"""Records that are made objects of at once."""
_MAX_CONVERTED: Final = 1_000_000
"""Records of a batch that are made objects of at all."""
_MAX_RECORD_ERRORS: Final = 10_000
"""More are not told."""
_HAND_OVER: Final = 1 << 10
"""Records that are made objects of between hand-overs."""


class RecordValidationError(KafkaError):
    """Records of a batch were refused one by one: `record_errors` holds (index in the batch, why) of each (KIP-467)."""

    def __init__(self, error: Errors, message: str, record_errors: Sequence[tuple[int, str]]) -> None:
        super().__init__(error, message)
        self.record_errors = list(record_errors)


class InvalidProduceRequest(KafkaError):
    """The records are not what a request of that version may hold; the log was not even asked
    (`ProduceRequest.validateRecords`)."""


class ValidationResult:
    """Records that may be appended, and what is known of them."""

    __slots__ = (
        "batches",
        "first_offset",
        "last_offset",
        "log_append_time",
        "max_timestamp",
        "record_count",
        "records",
        "records_converted",
        "shallow_offset_of_max_timestamp",
    )

    def __init__(self, records: Buffer, batches: tuple[Batch, ...], first_offset: int, record_count: int) -> None:
        self.records = records
        """The bytes to write: the given ones, changed in place, or new ones. Empty if nothing was given."""
        self.batches = batches
        """Views over `records`; offsets, epoch, timestamps and CRC are set."""
        self.first_offset = first_offset
        self.last_offset = first_offset + record_count - 1
        self.record_count = record_count
        self.max_timestamp = NO_TIMESTAMP
        self.shallow_offset_of_max_timestamp = -1
        """The last offset of the batch that holds the max timestamp, -1 if there is none."""
        self.log_append_time = NO_TIMESTAMP
        """ms; set for topics with LogAppendTime only."""
        self.records_converted = 0
        """The records that had to be written anew."""


class LogValidator:
    """Validates for one partition with one config; a log makes a new one when its config changes."""

    def __init__(self, topic_partition: TopicPartition, config: LogConfig) -> None:
        self.topic_partition = topic_partition
        self.compact = config.compact
        self.max_message_bytes = config.max_message_bytes
        self.append_time = config.message_timestamp_type == "LogAppendTime"
        self.timestamp_type = TimestampType.LOG_APPEND_TIME if self.append_time else TimestampType.CREATE_TIME
        # The deprecated common bound holds where the two that replace it are not set (KIP-937).
        both = config.message_timestamp_difference_max_ms
        before, after = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
        self.before_max_ms = both if before == MAX_LONG else before
        self.after_max_ms = both if after == MAX_LONG else after
        self.target: CompressionType | None = None  # None: as the producer compressed
        if config.compression_type == "uncompressed":
            self.target = CompressionType.NONE
        elif config.compression_type != "producer":
            self.target = CompressionType.for_name(config.compression_type)
        self.to_magic = config.record_version
        self._highest_codec: int = _HIGHEST_CODEC
        if not config.zstd_supported:
            if self.target is None:
                self._highest_codec = CompressionType.ZSTD - 1
            elif self.target == CompressionType.ZSTD:
                self._highest_codec = -1  # whatever comes would become zstd
        self._levels: dict[int, int] = {
            CompressionType.GZIP: config.compression_gzip_level,
            CompressionType.LZ4: config.compression_lz4_level,
            CompressionType.ZSTD: config.compression_zstd_level,
        }

    def validate(
        self,
        records: Buffer,
        next_offset: int,
        now_ms: int,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = 11,
        at_once: bool = False,
    ) -> ValidationResult:
        """Check the records of one partition, number them from `next_offset` on, and put time and epoch into them.

        `records`: changed in place if writable. `request_version`: of the Produce request, if `origin` is CLIENT.
        `at_once`: raise `TakesLong`, with nothing changed, instead of taking long.
        `KafkaError` as a 3.9 broker answers: CORRUPT_MESSAGE, INVALID_RECORD, MESSAGE_TOO_LARGE,
        UNSUPPORTED_COMPRESSION_TYPE, UNSUPPORTED_FOR_MESSAGE_FORMAT (a producer id, but the topic's format is not v2),
        UNKNOWN_SERVER_ERROR (unknown codec, damaged compressed data, headers or zstd that the topic's format can't say), or
        `RecordValidationError` with INVALID_RECORD (no key in a compacted topic) or INVALID_TIMESTAMP. Nothing has
        been changed then.
        """
        if at_once and len(records) > AT_ONCE:
            raise TakesLong
        if isinstance(records, bytes) or (isinstance(records, memoryview) and records.readonly):
            records = bytearray(records)
        client = origin is AppendOrigin.CLIENT
        only = only_batch(records) if self.to_magic >= 2 else None
        if only is not None:
            if client and 3 <= request_version < 7:
                _check_produce_request([only], request_version)
            self._check_batch(only, client)
            return self._validate_batch(records, only, next_offset, now_ms, leader_epoch, client, at_once)
        if client and request_version >= 3:
            _check_produce_request(list(islice(batches(records), 2)), request_version)
        if at_once and len(records) > _CONVERTED_AT_ONCE:
            raise TakesLong
        found = list(islice(batches(records), _MAX_CONVERTED + 1))
        if len(found) > _MAX_CONVERTED:
            raise _too_many()
        if not found:
            return ValidationResult(b"", (), next_offset, 0)
        size, source = self._analyze(found, client)
        if size != len(records):
            records = memoryview(records)[:size]  # a batch that is cut off at the end is dropped
        first = found[0]
        if len(found) > 1 and (first.magic >= 2 or source != CompressionType.NONE):
            raise _invalid("Compressed outer record has more than one batch")
        if self.to_magic >= 2 and isinstance(first, RecordBatch):
            return self._validate_batch(records, first, next_offset, now_ms, leader_epoch, client, at_once)
        if at_once and source != CompressionType.NONE:
            raise TakesLong
        return self._convert(records, found, source, next_offset, now_ms, leader_epoch, client)

    def renumber(self, result: ValidationResult, next_offset: int, now_ms: int, leader_epoch: int) -> ValidationResult:
        """What was validated from offset 0 on before it was known where it goes, as it goes there."""
        first = result.batches[0]
        if isinstance(first, RecordBatch):
            first.set_offset_and_epoch(next_offset, leader_epoch)
            if self.append_time:
                first.set_max_timestamp(self.timestamp_type, now_ms)
                result.max_timestamp = result.log_append_time = now_ms
        elif first.magic == 0 and first.is_compressed:  # the offsets within are absolute
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
        """(bytes of all batches, the codec used); `UnifiedLog.analyzeAndValidateRecords`."""
        size = 0
        source = 0
        for batch in found:
            self._check_batch(batch, client)
            size += batch.size_in_bytes
            source = batch.attributes & CODEC_MASK or source
        return size, CompressionType.for_id(source)

    def _check_batch(self, batch: Batch, client: bool) -> None:
        """Base offset, size, CRC and codec."""
        if client and batch.base_offset != 0 and batch.magic >= 2:
            raise _invalid(
                f"The baseOffset of the record batch in the append to {self.topic_partition} should be 0, "
                f"but it is {batch.base_offset}"
            )
        if batch.size_in_bytes > self.max_message_bytes:
            raise self._too_large(batch.size_in_bytes)
        if not batch.is_valid():
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Record is corrupt (stored crc = {batch.crc}) in topic partition {self.topic_partition}.",
            )
        if batch.attributes & CODEC_MASK > self._highest_codec:
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
        at_once: bool,
    ) -> ValidationResult:
        if client:
            self._check_header(batch)
        count = batch.record_count
        if count < 0:
            raise _invalid(f"Found invalid record count {count} in magic v2 batch")
        source = batch.attributes & CODEC_MASK
        target = source if self.target is None else self.target
        in_place = source == target or (source == CompressionType.NONE and batch.is_control)

        walk = RecordsWalk(count)
        size = _walk(walk, batch, source, at_once) if count else 0
        lowest, highest = self._timestamps(batch, walk)
        self._check_records(batch, walk, lowest, highest, now_ms, at_once)

        compressed_path = source != CompressionType.NONE or target != CompressionType.NONE
        if compressed_path and in_place and count and (batch.base_offset != 0 or not walk.sequential):
            # Kafka fails to number such records anew, which it did for clients of format v1 (KAFKA-5490).
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The offsets of the compressed records are not 0, 1, 2, ...")
        if not in_place:
            if at_once and size > _REBUILT_AT_ONCE:
                raise TakesLong
            return self._rebuild(batch, walk, target, lowest, highest, next_offset, now_ms, leader_epoch)
        result = ValidationResult(records, (batch,), next_offset, count)
        batch.set_offset_and_epoch(result.last_offset - batch.last_offset_delta, leader_epoch)
        result.max_timestamp = now_ms if self.append_time else max(highest, NO_TIMESTAMP)
        batch.set_max_timestamp(self.timestamp_type, result.max_timestamp)
        if compressed_path or result.max_timestamp != NO_TIMESTAMP:
            result.shallow_offset_of_max_timestamp = result.last_offset
        if self.append_time:
            result.log_append_time = now_ms
        return result

    def _check_header(self, batch: RecordBatch) -> None:
        """What a client's batch may say of itself (`LogValidator.validateBatch`)."""
        count = batch.record_count
        if batch.last_offset_delta < 0:
            raise _invalid(
                f"Batch has an invalid offset range: [{batch.base_offset}, {batch.last_offset}] "
                f"in topic partition {self.topic_partition}"
            )
        if count <= 0:
            raise _invalid(
                f"Invalid reported count for record batch: {count} in topic partition {self.topic_partition}"
            )
        if batch.last_offset_delta + 1 != count:
            raise _invalid(
                f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and count of "
                f"records {count} in topic partition {self.topic_partition}"
            )
        if batch.is_control:
            raise _invalid(
                f"Clients are not allowed to write control records in topic partition {self.topic_partition}"
            )
        if batch.producer_id > -1 and batch.base_sequence < 0:
            raise _invalid(
                f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id} "
                f"in topic partition {self.topic_partition}"
            )

    def _timestamps(self, batch: RecordBatch, walk: RecordsWalk) -> tuple[int, int]:
        """(a lower bound, the highest) of the records' timestamps."""
        if not walk.count:
            return NO_TIMESTAMP, NO_TIMESTAMP
        if batch.attributes & TIMESTAMP_TYPE_MASK:
            return batch.max_timestamp, batch.max_timestamp
        lowest = batch.base_timestamp + walk.min_timestamp_delta
        highest = batch.base_timestamp + walk.max_timestamp_delta
        if highest > MAX_LONG or lowest < _MIN_LONG:
            raise KafkaError(Errors.INVALID_TIMESTAMP, "Timestamps of the batch do not fit 64 bits")
        return lowest, highest

    def _check_records(
        self, batch: RecordBatch, walk: RecordsWalk, lowest: int, highest: int, now_ms: int, at_once: bool
    ) -> None:
        """Refuse records without keys in a compacted topic, and those from the wrong time."""
        if self.append_time:
            doubtful = batch.attributes & TIMESTAMP_TYPE_MASK != 0
        else:
            doubtful = now_ms - lowest > self.before_max_ms or highest - now_ms > self.after_max_ms
            doubtful = doubtful or (batch.attributes & TIMESTAMP_TYPE_MASK != 0 and highest == NO_TIMESTAMP)
        if doubtful or (self.compact and walk.keyless):
            if at_once and walk.count > _RECORDS_AT_ONCE:
                raise TakesLong
            append_time = batch.attributes & TIMESTAMP_TYPE_MASK != 0
            partial = batch.is_compressed and self.target in (None, batch.compression_type)
            name = "PartialDefaultRecord" if partial else "DefaultRecord"
            _raise_record_errors(self._record_errors(batch.records(), append_time, now_ms, name))

    def _rebuild(
        self,
        batch: RecordBatch,
        walk: RecordsWalk,
        target: int,
        lowest: int,
        highest: int,
        next_offset: int,
        now_ms: int,
        leader_epoch: int,
    ) -> ValidationResult:
        """The batch with another codec, or with its records numbered anew."""
        # If nothing but the codec has to change, the encoded records stay as they are.
        canonical = walk.sequential and batch.base_offset == 0 and not batch.attributes & TIMESTAMP_TYPE_MASK
        has_producer = batch.producer_id > -1 and batch.producer_epoch > -1 and batch.base_sequence > -1
        producer_fits = has_producer or (batch.producer_id == -1 and not batch.is_transactional)
        if not canonical or lowest < 0 or not producer_fits or not walk.count:
            if walk.count > _MAX_CONVERTED:
                raise _too_many()
            return self._build(batch.records(), batch, target, next_offset, now_ms, leader_epoch)
        max_timestamp = now_ms if self.append_time else highest
        data = bytearray(RECORD_BATCH_OVERHEAD)
        body = decompress_chunks(batch.attributes & CODEC_MASK, batch.buffer[RECORD_BATCH_OVERHEAD:])
        for piece in compress_chunks(target, body, self._levels.get(target)):
            data += piece
            if len(data) > self.max_message_bytes:
                raise self._too_large(len(data))
        put_header(
            data,
            base_offset=next_offset,
            last_offset_delta=batch.last_offset_delta,
            record_count=walk.count,
            attributes=target
            | (TIMESTAMP_TYPE_MASK if self.append_time else 0)
            | batch.attributes & TRANSACTIONAL_MASK,
            base_timestamp=batch.base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            partition_leader_epoch=leader_epoch,
        )
        return self._result_of(data, (RecordBatch(data),), walk.count, next_offset, max_timestamp, now_ms)

    # --------------------------------------------------------------------------------------------------- old formats

    def _convert(
        self,
        data: Buffer,
        found: list[Batch],
        source: CompressionType,
        next_offset: int,
        now_ms: int,
        leader_epoch: int,
        client: bool,
    ) -> ValidationResult:
        """What comes in, or is to be stored in, format v0 or v1; `found` are the batches in `data`."""
        magic = found[0].magic
        target = source if self.target is None else self.target
        records: list[Record] = []
        for batch in found:
            if batch.magic != magic:
                raise _invalid(
                    f"Batch magic {batch.magic} is not the same as the first batch's magic byte {magic} "
                    f"in topic partition {self.topic_partition}"
                )
            if isinstance(batch, RecordBatch):
                records += self._records_of_new_format(batch, now_ms, client)
            else:
                records += self._records_of_old_format(batch, now_ms)
        in_place = magic == self.to_magic and source == target
        if in_place and source != CompressionType.NONE:
            # The offsets in a v0 wrapper are absolute, and early clients did not number those of v1 as they should.
            in_place = magic > 0 and all(record.offset == index for index, record in enumerate(records))
        if in_place:
            return self._number(data, found, records, next_offset, now_ms)
        return self._build(records, found[0], target, next_offset, now_ms, leader_epoch)

    def _records_of_old_format(self, batch: LegacyRecordBatch, now_ms: int) -> list[Record]:
        records = _objects(batch.records())
        append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
        _raise_record_errors(
            self._inner_errors(batch) or self._record_errors(records, append_time, now_ms, "LegacyRecord")
        )
        return records

    def _records_of_new_format(self, batch: RecordBatch, now_ms: int, client: bool) -> list[Record]:
        """For a topic whose format is older."""
        if client:
            self._check_header(batch)
        if batch.is_transactional or batch.has_producer_id:
            raise KafkaError(
                Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                f"Records of idempotent or transactional producers can't be stored in message format v{self.to_magic} "
                f"in topic partition {self.topic_partition}",
            )
        records = _objects(batch.records())
        if any(not _MIN_LONG <= record.timestamp <= MAX_LONG for record in records):
            raise KafkaError(Errors.INVALID_TIMESTAMP, "Timestamps of the batch do not fit 64 bits")
        append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
        _raise_record_errors(self._record_errors(records, append_time, now_ms, "DefaultRecord"))
        return records

    def _number(
        self, data: Buffer, found: list[Batch], records: list[Record], next_offset: int, now_ms: int
    ) -> ValidationResult:
        """Messages that stay as they are but for offsets and, perhaps, time: single ones, or one wrapper."""
        result = ValidationResult(data, tuple(found), next_offset, len(records))
        step = len(records) // len(found)
        offset = next_offset - 1
        for batch in found:
            assert isinstance(batch, LegacyRecordBatch)
            offset += step
            batch.set_last_offset(offset)
            if batch.magic > 0:
                highest = max(record.timestamp for record in records) if batch.is_compressed else batch.timestamp
                batch.set_max_timestamp(self.timestamp_type, now_ms if self.append_time else highest)
                if batch.timestamp > result.max_timestamp:
                    result.max_timestamp, result.shallow_offset_of_max_timestamp = batch.timestamp, offset
        if self.append_time:
            result.log_append_time = now_ms
        return result

    def _inner_errors(self, batch: LegacyRecordBatch) -> list[tuple[Errors, int, str]]:
        """What is wrong with the messages in a wrapper as messages; `KafkaError` CORRUPT_MESSAGE for a wrong CRC."""
        errors = []
        for index, entry in enumerate(batch.inner_entries() if batch.is_compressed else ()):
            if entry.magic != batch.magic:
                why = (
                    f"Record's magic does not match outer magic {batch.magic} in topic partition {self.topic_partition}"
                )
                errors.append((Errors.INVALID_RECORD, index, why))
            else:
                entry.ensure_valid()
        return errors

    # ------------------------------------------------------------------------------------------------- record by record

    def _record_errors(
        self, records: Iterable[Record], batch_append_time: bool, now_ms: int, name: str
    ) -> list[tuple[Errors, int, str]]:
        """(error, index, why) of each record that is refused; `name`: Kafka's class of the records, for the text."""
        errors: list[tuple[Errors, int, str]] = []
        for index, record in enumerate(records):
            if index % _HAND_OVER == _HAND_OVER - 1:
                hand_over()
            if len(errors) == _MAX_RECORD_ERRORS:
                break
            timestamp = record.timestamp
            if self.compact and record.key is None:
                message = f"Compacted topic cannot accept message without key in topic partition {self.topic_partition}"
                errors.append((Errors.INVALID_RECORD, index, message))
            elif not self.append_time and timestamp != NO_TIMESTAMP:
                if now_ms - timestamp > self.before_max_ms or timestamp - now_ms > self.after_max_ms:
                    earliest, latest = now_ms - self.before_max_ms, _as_long(now_ms + self.after_max_ms)
                    message = (
                        f"Timestamp {timestamp} of message with offset {record.offset} is out of range. The "
                        f"timestamp should be within [{earliest}, {latest}]"
                    )
                    errors.append((Errors.INVALID_TIMESTAMP, index, message))
            elif batch_append_time:
                message = (
                    f"Invalid timestamp type in message {_describe(record, name)}. "
                    "Producer should not set timestamp type to LogAppendTime."
                )
                errors.append((Errors.INVALID_TIMESTAMP, index, message))
        return errors

    def _build(
        self, records: Iterable[Record], first: Batch, target: int, next_offset: int, now_ms: int, leader_epoch: int
    ) -> ValidationResult:
        try:
            builder = MemoryRecordsBuilder(
                magic=self.to_magic,
                compression_type=CompressionType(target),
                compression_level=self._levels.get(target),
                timestamp_type=self.timestamp_type,
                base_offset=next_offset,
                log_append_time=now_ms if self.append_time else NO_TIMESTAMP,
                producer_id=first.producer_id,
                producer_epoch=first.producer_epoch,
                base_sequence=first.base_sequence,
                is_transactional=first.is_transactional,
                partition_leader_epoch=leader_epoch,
            )
            for record in records:
                if builder.record_count % _HAND_OVER == _HAND_OVER - 1:
                    hand_over()
                builder.append(record.timestamp, record.key, record.value, record.headers)
            data = bytearray(builder.build())
        except ValueError as error:
            # A negative timestamp, a producer id without epoch, headers or zstd in an old format.
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, str(error)) from None
        max_timestamp = now_ms if self.append_time else builder.max_timestamp
        found = tuple(batches(data))
        result = self._result_of(data, found, builder.record_count, next_offset, max_timestamp, now_ms)
        if len(found) > 1:  # messages of an old format, each for itself
            result.shallow_offset_of_max_timestamp = (
                next_offset if self.append_time else builder.offset_of_max_timestamp
            )
        return result

    def _result_of(
        self, data: bytearray, found: tuple[Batch, ...], count: int, next_offset: int, max_timestamp: int, now_ms: int
    ) -> ValidationResult:
        for batch in found:
            if batch.size_in_bytes > self.max_message_bytes:
                raise self._too_large(batch.size_in_bytes)
        result = ValidationResult(data, found, next_offset, count)
        result.max_timestamp = max_timestamp
        if max_timestamp != NO_TIMESTAMP:
            result.shallow_offset_of_max_timestamp = result.last_offset
        if self.append_time:
            result.log_append_time = now_ms
        result.records_converted = count
        return result

    def _too_large(self, size: int) -> KafkaError:
        return KafkaError(
            Errors.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {self.topic_partition} is {size} bytes which exceeds the maximum "
            f"configured value of {self.max_message_bytes}.",
        )


def _walk(walk: RecordsWalk, batch: RecordBatch, source: int, at_once: bool) -> int:
    """Check the records' structure; how many bytes they take decompressed. `KafkaError` as of `RecordsWalk`."""
    if source == CompressionType.NONE and (at_once or batch.size_in_bytes <= AT_ONCE):
        data = batch.record_bytes()
        walk.walk_all(data)
        return len(data)
    body = batch.buffer[RECORD_BATCH_OVERHEAD:]
    small = decompress_small(source, body)
    if small is not None:
        walk.walk_all(small)
        return len(small)
    limit = AT_ONCE if at_once else MAX_DECOMPRESSED_SIZE
    if source == CompressionType.NONE:
        limit = len(body)
    try:
        return walk.walk_chunks(decompress_chunks(source, body, 2, limit), limit)
    except KafkaError as error:
        if at_once and error.error is Errors.MESSAGE_TOO_LARGE:
            raise TakesLong from None
        raise


def _objects(records: Iterable[Record]) -> list[Record]:
    found = list(islice(records, _MAX_CONVERTED + 1))
    if len(found) > _MAX_CONVERTED:
        raise _too_many()
    return found


def _too_many() -> KafkaError:
    return KafkaError(Errors.MESSAGE_TOO_LARGE, f"More than {_MAX_CONVERTED} records would have to be converted")


def _check_produce_request(found: list[Batch], version: int) -> None:
    """What a Produce request of version 3 or later may hold for a partition (`ProduceRequest.validateRecords`)."""
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


def _raise_record_errors(errors: list[tuple[Errors, int, str]]) -> None:
    record_errors = [(index, message) for _, index, message in errors]
    if any(error is Errors.INVALID_TIMESTAMP for error, _, _ in errors):
        raise RecordValidationError(
            Errors.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", record_errors
        )
    if errors:
        shown = ", ".join(f"RecordError(batchIndex={index}, message='{why}')" for index, why in record_errors[:3])
        raise RecordValidationError(
            Errors.INVALID_RECORD,
            f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing the "
            f"first three errors at most: [{shown}]",
            record_errors,
        )


def _describe(record: Record, name: str) -> str:
    null = -1 if name == "PartialDefaultRecord" else 0
    key = null if record.key is None else len(record.key)
    value = null if record.value is None else len(record.value)
    return f"{name}(offset={record.offset}, timestamp={record.timestamp}, key={key} bytes, value={value} bytes)"


def _as_long(value: int) -> int:
    """`value` as Java's long shows it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
