"""Builds record batches (Kafka's `MemoryRecordsBuilder`)."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.common.crc32c import crc32c
from kafkapy.common.limits import MAX_INT
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.record import legacy_format
from kafkapy.record.compression import CompressionType, compress
from kafkapy.record.record_batch import (
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    HEADER,
    LOG_OVERHEAD,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    Buffer,
    Header,
    TimestampType,
)
from kafkapy.record.varint import encode_varint


class MemoryRecordsBuilder:
    """Collects the records of one batch and encodes it.

    Invariant: `_parts` has the encoded records in ascending order of offset; `last_offset` is the offset of the last
    one (or the value of `override_last_offset`), `max_timestamp` and `offset_of_max_timestamp` describe the first
    record with the latest timestamp.
    """

    def __init__(
        self,
        *,
        magic: int = 2,
        compression_type: CompressionType = CompressionType.NONE,
        compression_level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        base_offset: int = 0,
        log_append_time: int = NO_TIMESTAMP,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        delete_horizon_ms: int = NO_TIMESTAMP,
    ) -> None:
        """`log_append_time`: ms, the timestamp of the batch if `timestamp_type` is LOG_APPEND_TIME.

        `ValueError` for properties that message format v0 or v1 lacks.
        """
        if magic < 2:
            if is_transactional or is_control or producer_id != NO_PRODUCER_ID or delete_horizon_ms != NO_TIMESTAMP:
                raise ValueError(f"magic {magic} has no producers, transactions, control records or delete horizons")
            if compression_type == CompressionType.ZSTD:
                raise ValueError(f"ZStandard compression is not supported for magic {magic}")
        self.magic = magic
        self.compression_type = compression_type
        self.compression_level = compression_level
        self.timestamp_type = timestamp_type
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self.partition_leader_epoch = partition_leader_epoch
        self.delete_horizon_ms = delete_horizon_ms
        self.base_timestamp: int | None = delete_horizon_ms if delete_horizon_ms >= 0 else None
        self.last_offset: int | None = None
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = -1
        self.record_count = 0
        self.uncompressed_size = 0
        """Bytes of the encoded records, before compression and without the batch header."""
        self._parts: list[bytes] = []

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()) -> int:
        """Add a record at the next offset; return the offset."""
        offset = self.base_offset if self.last_offset is None else self.last_offset + 1
        self.append_with_offset(offset, timestamp, key, value, headers)
        return offset

    def append_with_offset(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
    ) -> None:
        """Add a record at `offset` (above all earlier ones); `timestamp` in ms, -1 for none.

        `ValueError` for an offset out of order or range, a negative timestamp, or headers before v2.
        """
        if self.last_offset is not None and offset <= self.last_offset:
            raise ValueError(f"Illegal offset {offset} following previous offset {self.last_offset}")
        if offset - self.base_offset > MAX_INT:
            raise ValueError(f"Maximum offset delta exceeded, base offset: {self.base_offset}, last offset: {offset}")
        if timestamp < 0 and timestamp != NO_TIMESTAMP:
            raise ValueError(f"Invalid negative timestamp {timestamp}")
        if self.base_timestamp is None:
            self.base_timestamp = timestamp
        if self.magic >= 2:
            part = encode_record(offset - self.base_offset, timestamp - self.base_timestamp, key, value, headers)
        else:
            if headers:
                raise ValueError(f"Magic v{self.magic} does not support record headers")
            if self.timestamp_type == TimestampType.LOG_APPEND_TIME:
                timestamp = self.log_append_time
            relative = self.magic == 1 and self.compression_type != CompressionType.NONE
            part = legacy_format.encode_entry(
                offset - self.base_offset if relative else offset,
                self.magic,
                timestamp,
                key,
                value,
                legacy_format.attributes(self.magic, CompressionType.NONE, self.timestamp_type),
            )
        self._parts.append(part)
        self.record_count += 1
        self.uncompressed_size += len(part)
        self.last_offset = offset
        if self.magic > 0 and timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
            self.offset_of_max_timestamp = offset

    def override_last_offset(self, last_offset: int) -> None:
        """Set a later last offset than the last record's (a cleaned batch keeps its range)."""
        self.last_offset = last_offset

    def build(self) -> bytes:
        """Return the bytes of the batch (v0 and v1: of the message set); empty if nothing was added.

        `ValueError` if the producer's fields are inconsistent.
        """
        if not self._parts:
            return b""
        self._check_producer_state()
        body = b"".join(self._parts)
        if self.magic < 2:
            return self._build_legacy(body)
        if self.compression_type != CompressionType.NONE:
            body = compress(self.compression_type, body, self.compression_level)
        assert self.last_offset is not None
        assert self.base_timestamp is not None
        append_time = self.timestamp_type == TimestampType.LOG_APPEND_TIME
        return encode_batch(
            body,
            base_offset=self.base_offset,
            last_offset_delta=self.last_offset - self.base_offset,
            record_count=self.record_count,
            attributes=self._attributes(),
            base_timestamp=self.base_timestamp,
            max_timestamp=self.log_append_time if append_time else self.max_timestamp,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            partition_leader_epoch=self.partition_leader_epoch,
        )

    def _attributes(self) -> int:
        attributes = int(self.compression_type)
        if self.timestamp_type == TimestampType.LOG_APPEND_TIME:
            attributes |= TIMESTAMP_TYPE_MASK
        if self.is_transactional:
            attributes |= TRANSACTIONAL_MASK
        if self.is_control:
            attributes |= CONTROL_MASK
        if self.delete_horizon_ms >= 0:
            attributes |= DELETE_HORIZON_MASK
        return attributes

    def _check_producer_state(self) -> None:
        if self.producer_id == NO_PRODUCER_ID:
            if self.is_transactional:
                raise ValueError("Cannot write transactional messages without a valid producer ID")
        elif self.producer_epoch == NO_PRODUCER_EPOCH:
            raise ValueError("Invalid negative producer epoch")
        elif self.base_sequence < 0 and not self.is_control:
            raise ValueError("Invalid negative sequence number used")

    def _build_legacy(self, body: bytes) -> bytes:
        if self.compression_type == CompressionType.NONE:
            return body
        assert self.last_offset is not None
        return legacy_format.encode_entry(
            self.last_offset,
            self.magic,
            self.log_append_time if self.timestamp_type == TimestampType.LOG_APPEND_TIME else self.max_timestamp,
            None,
            compress(self.compression_type, body, self.compression_level, self.magic),
            legacy_format.attributes(self.magic, self.compression_type, self.timestamp_type),
        )


def batch_of_one(
    record: bytes,
    timestamp: int,
    attributes: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    *,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """Return a v2 batch of one encoded record without a sequence, whose deltas are 0: a shortcut for a builder."""
    return encode_batch(
        record,
        base_offset=base_offset,
        last_offset_delta=0,
        record_count=1,
        attributes=attributes,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        partition_leader_epoch=partition_leader_epoch,
    )


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> bytes:
    """Encode one record of a v2 batch, including its length."""
    parts = [b"\0", encode_varint(timestamp_delta), encode_varint(offset_delta)]
    _add_bytes(parts, key)
    _add_bytes(parts, value)
    parts.append(encode_varint(len(headers)))
    for name, content in headers:
        _add_bytes(parts, name)
        _add_bytes(parts, content)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def encode_batch(
    body: Buffer,
    *,
    base_offset: int,
    last_offset_delta: int,
    record_count: int,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """Return a v2 batch of records that are encoded (and compressed) already."""
    batch = bytearray(RECORD_BATCH_OVERHEAD)
    batch += body
    put_header(
        batch,
        base_offset=base_offset,
        last_offset_delta=last_offset_delta,
        record_count=record_count,
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        partition_leader_epoch=partition_leader_epoch,
    )
    return bytes(batch)


def put_header(
    batch: bytearray | memoryview,
    *,
    base_offset: int,
    last_offset_delta: int,
    record_count: int,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    partition_leader_epoch: int,
) -> None:
    """Write the header of a v2 batch to its first `RECORD_BATCH_OVERHEAD` bytes."""
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LOG_OVERHEAD,
        partition_leader_epoch,
        2,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    batch[17:21] = crc32c(memoryview(batch)[21:]).to_bytes(4, "big")


def _add_bytes(parts: list[bytes], content: bytes | None) -> None:
    if content is None:
        parts.append(b"\x01")
    else:
        parts.append(encode_varint(len(content)))
        parts.append(content)
