"""The records of `__consumer_offsets`: keys and values in Kafka's format.

A key or value is its version (int16) and then the fields of that version. The version of a key also determines its kind:
0 and 1 an offset, 2 a group; 3 and above belong to the coordinator of newer clusters and are ignored.
A record without value (a tombstone) deletes its key.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.offsets import GroupOffset, Offsets
from kafkapy.protocol.message import Message
from kafkapy.protocol.records.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafkapy.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafkapy.protocol.wire import SchemaError

OFFSET_RECORD_VERSION = 1
GROUP_RECORD_VERSION = 2

# The newest non-flexible versions; with an older inter.broker.protocol.version, older ones are written.
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_VERSION_WITH_EXPIRATION = 1
GROUP_VALUE_VERSION = 3

_RECORD_VERSION = Struct(">h")


class OffsetKey(NamedTuple):
    group_id: str
    partition: TopicPartition


class GroupKey(NamedTuple):
    group_id: str


class UnknownKey(NamedTuple):
    version: int


# ---------------------------------------------------------------------------------------------------- writing


def offset_key(group_id: str, partition: TopicPartition) -> bytes:
    key = OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
    return _versioned(key, OFFSET_RECORD_VERSION)


def offset_value(offset: GroupOffset, version: int = OFFSET_VALUE_VERSION) -> bytes:
    """Return the value in `version`, or in 1 if an old client has set an expiry time, which later versions don't have."""
    value = OffsetCommitValue(*offset)
    explicit = offset.expire_timestamp != NO_TIMESTAMP
    return _versioned(value, OFFSET_VALUE_VERSION_WITH_EXPIRATION if explicit else version)


def offset_records(
    group_id: str, offsets: Offsets, version: int = OFFSET_VALUE_VERSION
) -> list[tuple[bytes, bytes | None]]:
    """Return the records of a commit."""
    return [(offset_key(group_id, partition), offset_value(value, version)) for partition, value in offsets.items()]


def group_key(group_id: str) -> bytes:
    return _versioned(GroupMetadataKey(group=group_id), GROUP_RECORD_VERSION)


def group_value(value: GroupMetadataValue, version: int = GROUP_VALUE_VERSION) -> bytes:
    return _versioned(value, version)


def _versioned(message: Message, version: int) -> bytes:
    return _RECORD_VERSION.pack(version) + message.encode(version)


# ---------------------------------------------------------------------------------------------------- reading


def read_key(data: bytes) -> OffsetKey | GroupKey | UnknownKey:
    """Decode a key; `SchemaError` if it is invalid for its version."""
    version = _read_version(data)
    if version in (0, OFFSET_RECORD_VERSION):
        offset = OffsetCommitKey.decode(data, version, _RECORD_VERSION.size)
        return OffsetKey(offset.group, TopicPartition(offset.topic, offset.partition))
    if version == GROUP_RECORD_VERSION:
        return GroupKey(GroupMetadataKey.decode(data, version, _RECORD_VERSION.size).group)
    return UnknownKey(version)


def read_offset_value(data: bytes) -> GroupOffset:
    """Decode a value; `SchemaError` if the version is unknown or the value invalid for it."""
    version = _read_version(data)
    if not 0 <= version <= 4:
        raise SchemaError(f"Unknown offset message version: {version}")
    value = OffsetCommitValue.decode(data, version, _RECORD_VERSION.size)
    return GroupOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp)


def read_group_value(group_id: str, data: bytes) -> GroupMetadataValue:
    """Decode a value; `SchemaError` if the version is unknown, the value invalid for it, or a member is listed twice."""
    version = _read_version(data)
    if not 0 <= version <= 4:
        raise SchemaError(f"Unknown group metadata message version: {version}")
    value = GroupMetadataValue.decode(data, version, _RECORD_VERSION.size)
    member_ids = [member.member_id for member in value.members]
    instance_ids = [member.group_instance_id for member in value.members if member.group_instance_id is not None]
    if len(set(member_ids)) < len(member_ids) or len(set(instance_ids)) < len(instance_ids):
        raise SchemaError(f"group {group_id} has the same member twice")
    if version == 0:
        for member in value.members:
            member.rebalance_timeout = member.session_timeout
    return value


def _read_version(data: bytes) -> int:
    if len(data) < _RECORD_VERSION.size:
        raise SchemaError(f"{len(data)} bytes cannot hold a version")
    version: int = _RECORD_VERSION.unpack_from(data)[0]
    return version
