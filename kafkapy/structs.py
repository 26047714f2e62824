"""The small values that programs hand to the clients and get from them (kafka-python's `structs`)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

from kafkapy.common.timestamps import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
)
from kafkapy.common.topic_partition import TopicPartition

__all__ = [
    "ConsumerGroupMetadata",
    "GroupInformation",
    "IsolationLevel",
    "MemberInformation",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetResetStrategy",
    "OffsetSpec",
    "OffsetTimestamp",
    "TopicPartition",
    "TopicPartitionReplica",
]


class MemberInformation(NamedTuple):
    """A member in a `GroupInformation`. Of a consumer, `member_metadata` has `topics`, and `member_assignment` has
    `partitions()`."""

    member_id: str
    client_id: str
    client_host: str
    member_metadata: Any
    member_assignment: Any


class GroupInformation(NamedTuple):
    """What `describe_consumer_groups` says of a group, as kafka-python 2's does."""

    error_code: int
    group: str
    state: str
    protocol_type: str
    protocol: str
    members: list[MemberInformation]
    authorized_operations: list[str] | None


class TopicPartitionReplica(NamedTuple):
    """One replica of a partition."""

    topic: str
    partition: int
    broker_id: int


class OffsetAndMetadata(NamedTuple):
    """What a group commits for a partition. `leader_epoch` -1: not known."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """A record found by its time; ms since the epoch. `leader_epoch` None or -1: not known."""

    offset: int
    timestamp: int
    leader_epoch: int | None = -1


class MemberState:
    """Where a consumer stands in its group."""

    UNJOINED = "<unjoined>"
    REBALANCING = "<rebalancing>"
    STABLE = "<stable>"


class ConsumerGroupMetadata(NamedTuple):
    """A consumer's membership at one moment: what a transactional producer needs to fence others (KIP-447)."""

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED


class IsolationLevel(IntEnum):
    """What a reader is shown of transactions that are not committed."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(IntEnum):
    """Which offset is looked up; a number from 0 on is a timestamp (see `OffsetTimestamp`)."""

    LATEST = LATEST_TIMESTAMP
    EARLIEST = EARLIEST_TIMESTAMP
    MAX_TIMESTAMP = MAX_TIMESTAMP
    EARLIEST_LOCAL = EARLIEST_LOCAL_TIMESTAMP
    LATEST_TIERED = LATEST_TIERED_TIMESTAMP


class OffsetTimestamp(int):
    """ms since the epoch, where a plain number would be taken for an offset: the first record from then on."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


class OffsetResetStrategy(IntEnum):
    """Where a consumer begins without a valid offset; the values are ListOffsets' timestamps (`NONE`: it fails instead)."""

    LATEST = LATEST_TIMESTAMP
    EARLIEST = EARLIEST_TIMESTAMP
    NONE = 0

    @classmethod
    def of(cls, name: str) -> OffsetResetStrategy:
        """`auto_offset_reset` -> strategy; an unknown word means `NONE`, as kafka-python has it."""
        return cls.__members__.get(name.upper(), cls.NONE)
