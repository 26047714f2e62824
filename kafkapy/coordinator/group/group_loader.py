"""Reading a partition of `__consumer_offsets` from start to end: what its groups and offsets are now.

Pure: it knows no clock, no thread and no coordinator. It runs in the background pool.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.coordinator.group.group_offsets import CommittedOffset
from kafkapy.coordinator.group.offset_records import (
    GroupKey,
    OffsetKey,
    UnknownKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafkapy.protocol.wire import SchemaError
from kafkapy.record.control_records import ControlRecordType
from kafkapy.record.record_batch import Record, RecordBatch, batches

if TYPE_CHECKING:
    from kafkapy.record.legacy import LegacyRecordBatch

log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")

LoadedOffsets = dict[OffsetKey, CommittedOffset]


@dataclass
class LoadedPartition:
    """What a partition's records come to."""

    groups: dict[str, GroupMetadata] = field(default_factory=dict)
    """Groups with a record of their own, without their offsets."""
    offsets: LoadedOffsets = field(default_factory=dict)
    pending: dict[int, LoadedOffsets] = field(default_factory=dict)
    """By producer id: offsets of transactions without an end so far."""
    records: int = 0

    def offsets_by_group(self) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        result: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        for (group_id, partition), offset in self.offsets.items():
            result.setdefault(group_id, {})[partition] = offset
        return result

    def pending_by_group(self) -> dict[str, dict[int, dict[TopicPartition, CommittedOffset]]]:
        result: dict[str, dict[int, dict[TopicPartition, CommittedOffset]]] = {}
        for producer_id, offsets in self.pending.items():
            for (group_id, partition), offset in offsets.items():
                result.setdefault(group_id, {}).setdefault(producer_id, {})[partition] = offset
        return result


def load_partition(buffers: Iterable[memoryview]) -> LoadedPartition:
    """Apply all batches in order.

    `KafkaError` if a batch is broken; a record that cannot be read is left out, with a warning.
    """
    loaded = LoadedPartition()
    for buffer in buffers:
        for batch in batches(buffer):
            if isinstance(batch, RecordBatch) and batch.is_control:
                _apply_marker(loaded, batch)
            else:
                _apply_batch(loaded, batch)
    return loaded


def _apply_marker(loaded: LoadedPartition, batch: RecordBatch) -> None:
    """The end of a producer's transaction: its offsets hold where no younger commit does, or are gone."""
    for record in batch.records():
        offsets = loaded.pending.pop(batch.producer_id, {})
        if ControlRecordType.parse(record.key) is ControlRecordType.COMMIT:
            for key, offset in offsets.items():
                current = loaded.offsets.get(key)
                if current is None or current.base_offset < offset.base_offset:
                    loaded.offsets[key] = offset
        return


def _apply_batch(loaded: LoadedPartition, batch: RecordBatch | LegacyRecordBatch) -> None:
    if isinstance(batch, RecordBatch) and batch.is_transactional:
        offsets = loaded.pending.setdefault(batch.producer_id, {})
    else:
        offsets = loaded.offsets
    base_offset = -1
    for record in batch.records():
        if base_offset < 0:
            base_offset = record.offset
        loaded.records += 1
        try:
            _apply_record(loaded, offsets, record, base_offset)
        except SchemaError as error:
            log.warning("Leaving out the record at offset %d, which cannot be read: %s", record.offset, error)


def _apply_record(loaded: LoadedPartition, offsets: LoadedOffsets, record: Record, base_offset: int) -> None:
    if record.key is None:
        raise SchemaError("Group metadata/offset entry key should not be null")
    key = read_key(record.key)
    match key:
        case OffsetKey():
            if record.value is None:
                offsets.pop(key, None)
            else:
                offsets[key] = CommittedOffset(base_offset, read_offset_value(record.value))
        case GroupKey(group_id):
            if record.value is None:
                loaded.groups.pop(group_id, None)
            else:
                loaded.groups[group_id] = read_group_value(group_id, record.value)
        case UnknownKey(version):
            log.warning("Unknown message key with version %d. Ignoring it.", version)
