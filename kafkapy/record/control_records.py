"""Control records: what the broker itself writes between the records of clients (Kafka's `ControlRecordType`,
`EndTransactionMarker`)."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import NO_PARTITION_LEADER_EPOCH, NO_SEQUENCE, RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    """Types of control records that a ZooKeeper-mode log can hold; `UNKNOWN` is every other one."""

    ABORT = 0
    COMMIT = 1
    UNKNOWN = -1

    @classmethod
    def parse(cls, key: bytes | None) -> ControlRecordType:
        """The type that a control record's key names; `KafkaError` INVALID_RECORD if the key is too short."""
        if key is None or len(key) < _KEY.size:
            raise KafkaError(Errors.INVALID_RECORD, "Invalid value size found for end control record key")
        version, kind = _KEY.unpack_from(key)
        if version < 0:
            raise KafkaError(Errors.INVALID_RECORD, f"Invalid version found for control record: {version}")
        return cls(kind) if kind in (cls.ABORT, cls.COMMIT) else cls.UNKNOWN


class EndTransactionMarker(NamedTuple):
    """The end of a producer's transaction in one partition."""

    control_type: ControlRecordType
    coordinator_epoch: int

    @classmethod
    def parse(cls, key: bytes | None, value: bytes | None) -> EndTransactionMarker:
        """The marker of a control record; `KafkaError` INVALID_RECORD if it is none."""
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
    """The marker that a control batch holds, None if it holds another control record (or none any more)."""
    for record in batch.records():
        if ControlRecordType.parse(record.key) == ControlRecordType.UNKNOWN:
            return None
        return EndTransactionMarker.parse(record.key, record.value)
    return None


def build_end_transaction_marker(
    *,
    timestamp: int,
    producer_id: int,
    producer_epoch: int,
    marker: EndTransactionMarker,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """A control batch of one marker (`MemoryRecords.withEndTransactionMarker`); `timestamp` in ms."""
    builder = MemoryRecordsBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
        is_transactional=True,
        is_control=True,
        partition_leader_epoch=partition_leader_epoch,
    )
    builder.append(timestamp, _KEY.pack(0, marker.control_type), _VALUE.pack(0, marker.coordinator_epoch))
    return builder.build()
