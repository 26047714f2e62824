"""The rules of a topic's config for records (part of Kafka's `LogValidator`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_config import LogConfig
from kafkapy.log.validation_result import RecordValidationError, invalid
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import DefaultRecord, RecordBatch, TimestampType
from kafkapy.runtime.yield_gil import yield_gil

_HIGHEST_CODEC: Final = max(CompressionType)
_MAX_RECORD_ERRORS: Final = 10_000
"""Limit of reported records."""
RECORDS_PER_YIELD: Final = 1 << 10
"""Records that are decoded to objects between two yields of the interpreter lock."""


class ValidationRules:
    """The rules for one partition with one config."""

    def __init__(self, topic_partition: TopicPartition, config: LogConfig) -> None:
        self.topic_partition = topic_partition
        self.compact = config.compact
        self.max_message_bytes = config.max_message_bytes
        self.append_time = config.message_timestamp_type == "LogAppendTime"
        self.timestamp_type = TimestampType.LOG_APPEND_TIME if self.append_time else TimestampType.CREATE_TIME
        # The deprecated common bound is used where the two that replace it are not set (KIP-937).
        both = config.message_timestamp_difference_max_ms
        before, after = config.message_timestamp_before_max_ms, config.message_timestamp_after_max_ms
        self.before_max_ms = both if before == MAX_LONG else before
        self.after_max_ms = both if after == MAX_LONG else after
        self.target: CompressionType | None = None  # None: the producer's codec
        if config.compression_type == "uncompressed":
            self.target = CompressionType.NONE
        elif config.compression_type != "producer":
            self.target = CompressionType.for_name(config.compression_type)
        self.to_magic = config.record_version
        self.highest_codec: int = _HIGHEST_CODEC
        if not config.zstd_supported:
            if self.target is None:
                self.highest_codec = CompressionType.ZSTD - 1
            elif self.target == CompressionType.ZSTD:
                self.highest_codec = -1  # all codecs are converted to zstd
        self.levels: dict[int, int] = {
            CompressionType.GZIP: config.compression_gzip_level,
            CompressionType.LZ4: config.compression_lz4_level,
            CompressionType.ZSTD: config.compression_zstd_level,
        }

    def check_header(self, batch: RecordBatch) -> None:
        """Check the header of a client's batch (`LogValidator.validateBatch`)."""
        count = batch.record_count
        if batch.last_offset_delta < 0:
            raise invalid(
                f"Batch has an invalid offset range: [{batch.base_offset}, {batch.last_offset}] "
                f"in topic partition {self.topic_partition}"
            )
        if count <= 0:
            raise invalid(f"Invalid reported count for record batch: {count} in topic partition {self.topic_partition}")
        if batch.last_offset_delta + 1 != count:
            raise invalid(
                f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and count of "
                f"records {count} in topic partition {self.topic_partition}"
            )
        if batch.is_control:
            raise invalid(f"Clients are not allowed to write control records in topic partition {self.topic_partition}")
        if batch.producer_id > -1 and batch.base_sequence < 0:
            raise invalid(
                f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id} "
                f"in topic partition {self.topic_partition}"
            )

    def check_records(self, records: Iterable[DefaultRecord], batch_append_time: bool, now_ms: int, name: str) -> None:
        """`RecordValidationError` if some are refused; `name`: Kafka's class of the records, for the text."""
        raise_record_errors(self._record_errors(records, batch_append_time, now_ms, name))

    def _record_errors(
        self, records: Iterable[DefaultRecord], batch_append_time: bool, now_ms: int, name: str
    ) -> list[tuple[Errors, int, str]]:
        """Return (error, index, reason) of each refused record."""
        errors: list[tuple[Errors, int, str]] = []
        for index, record in enumerate(records):
            if index % RECORDS_PER_YIELD == RECORDS_PER_YIELD - 1:
                yield_gil()
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

    def too_large(self, size: int) -> KafkaError:
        return KafkaError(
            Errors.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {self.topic_partition} is {size} bytes which exceeds the maximum "
            f"configured value of {self.max_message_bytes}.",
        )


def raise_record_errors(errors: list[tuple[Errors, int, str]]) -> None:
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


def _describe(record: DefaultRecord, name: str) -> str:
    null = -1 if name == "PartialDefaultRecord" else 0
    key = null if record.key is None else len(record.key)
    value = null if record.value is None else len(record.value)
    return f"{name}(offset={record.offset}, timestamp={record.timestamp}, key={key} bytes, value={value} bytes)"


def _as_long(value: int) -> int:
    """Return `value` as Java's long."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
