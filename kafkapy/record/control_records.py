"""Control records, which the broker writes between clients' records (Kafka's `ControlRecordType`,
`EndTransactionMarker`).
"""

from __future__ import annotations

import struct
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import (
    CONTROL_MASK,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_MASK,
    RecordBatch,
)
from kafkapy.record.records_builder import batch_of_one, encode_record

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    """Types of control records in ZooKeeper mode; `UNKNOWN` is any other type."""

    ABORT = 0
    COMMIT = 1
    UNKNOWN = -1

    @classmethod
    def parse(cls, key: bytes | None) -> ControlRecordType:
        """Return the type in a control record's key; `KafkaError` INVALID_RECORD if the key is too short."""
        if key is None or len(key) < _KEY.size:
            raise KafkaError(Errors.INVALID_RECORD, "Invalid value size found for end control record key")
        version, kind = _KEY.unpack_from(key)
        if version < 0:
            raise KafkaError(Errors.INVALID_RECORD, f"Invalid version found for control record: {version}")
        return cls(kind) if kind in (cls.ABORT, cls.COMMIT) else cls.UNKNOWN


_KINDS = {kind.value: kind for kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT)}
_RECORD = struct.Struct(">5shhbhib")
"""A whole record of 17 bytes, with a key of 4 and a value of 6 bytes."""
_MARKER_FRAMING = (b"\x20\0\0\0\x08", 12, 0)
"""Its lengths, deltas and headers: before the key, before the value, after it."""


class EndTransactionMarker(NamedTuple):
    """The end of a producer's transaction in one partition."""

    control_type: ControlRecordType
    coordinator_epoch: int

    @classmethod
    def parse(cls, key: bytes | None, value: bytes | None) -> EndTransactionMarker:
        """Return the marker in a control record; `KafkaError` INVALID_RECORD if it is not a marker."""
        control_type = ControlRecordType.parse(key)
        if control_type == ControlRecordType.UNKNOWN:
            raise KafkaError(Errors.INVALID_RECORD, "Invalid end transaction marker type")
        if value is None or len(value) < _VALUE.size:
            raise KafkaError(Errors.INVALID_RECORD, "Invalid value size found for end transaction marker")
        version, coordinator_epoch = _VALUE.unpack_from(value)
        if version < 0:
            raise KafkaError(Errors.INVALID_RECORD, f"Invalid version found for end transaction marker: {version}")
        return cls(control_type, coordinator_epoch)


def end_transaction_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """Return the marker in a control batch; None if it contains another control record (or is empty after compaction)."""
    marker = _plain_marker(batch.record_bytes()) if batch.record_count == 1 else None
    if marker is not None:
        return marker
    for record in batch.records():
        if ControlRecordType.parse(record.key) == ControlRecordType.UNKNOWN:
            return None
        return EndTransactionMarker.parse(record.key, record.value)
    return None


def _plain_marker(record: bytes) -> EndTransactionMarker | None:
    """Return the marker of a record in the form of `_record`."""
    if len(record) != _RECORD.size:
        return None
    before_key, key_version, kind, before_value, version, coordinator_epoch, after = _RECORD.unpack(record)
    if (before_key, before_value, after) != _MARKER_FRAMING or key_version < 0 or version < 0 or kind not in _KINDS:
        return None
    return EndTransactionMarker(_KINDS[kind], coordinator_epoch)


@lru_cache(maxsize=256)
def _record(marker: EndTransactionMarker) -> bytes:
    """Encode the record, which is the same in every batch with this marker."""
    return encode_record(0, 0, _KEY.pack(0, marker.control_type), _VALUE.pack(0, marker.coordinator_epoch))


def build_end_transaction_marker(
    *,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    marker: EndTransactionMarker,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """Return a control batch of one marker (`MemoryRecords.withEndTransactionMarker`).

    `timestamp`: ms. `ValueError` for an invalid producer id or epoch.
    """
    if producer_id == NO_PRODUCER_ID or producer_epoch == NO_PRODUCER_EPOCH:
        raise ValueError(f"Invalid producer of a marker: {producer_id}, epoch {producer_epoch}")
    return batch_of_one(
        _record(marker),
        timestamp,
        TRANSACTIONAL_MASK | CONTROL_MASK,
        producer_id,
        producer_epoch,
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
    )
