"""Groups and offsets as the result of the records in one partition of `__consumer_offsets`.

Independent of clock and coordinator: it is used on the thread that reads the partition.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.offsets import GroupOffsets
from kafkapy.coordinator.group.records import (
    GroupKey,
    OffsetKey,
    UnknownKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafkapy.protocol.wire import SchemaError
from kafkapy.record.record_batch import NO_PRODUCER_ID

log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")


class ReplayedGroups:
    """Implements `Replayed`. `groups` are those with a group record, without their offsets.

    Invariant: `_open[producer id]` are the groups in which that producer's open transaction has, or had, offsets.
    """

    def __init__(self, config: GroupConfig) -> None:
        self._config = config
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets: dict[str, GroupOffsets] = {}
        self._open: dict[int, set[str]] = {}

    def put(self, key: bytes | None, value: bytes | None, base_offset: int, producer_id: int) -> None:
        if key is None:
            raise SchemaError("Group metadata/offset entry key should not be null")
        match read_key(key):
            case OffsetKey(group_id, partition):
                offset = None if value is None else read_offset_value(value)
                offsets = self.offsets.get(group_id)
                if offsets is None:
                    offsets = self.offsets[group_id] = GroupOffsets()
                offsets.replay(partition, offset, base_offset, producer_id)
                if producer_id != NO_PRODUCER_ID:
                    self._open.setdefault(producer_id, set()).add(group_id)
            case GroupKey(group_id):
                if value is None:
                    self.groups.pop(group_id, None)
                else:
                    record = read_group_value(group_id, value)
                    self.groups[group_id] = ClassicGroup.loaded(group_id, record, self._config)
            case UnknownKey(version):
                log.warning("Unknown message key with version %d. Ignoring it.", version)

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        for group_id in self._open.pop(producer_id, ()):
            self.offsets[group_id].complete_transaction(producer_id, commit)

    def all_groups(self, now_ms: int) -> Iterator[ClassicGroup]:
        """Yield the groups with their offsets. Offsets without a group record belong to a group that never had members."""
        for group_id in {**self.groups, **self.offsets}:
            group, offsets = self.groups.get(group_id), self.offsets.get(group_id)
            if group is not None or offsets:
                group = group or ClassicGroup(group_id, self._config, now_ms)
                group.offsets = offsets or group.offsets
                yield group
