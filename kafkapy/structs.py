"""Parameter and result types of the clients (kafka-python's `structs`)."""

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
    """The description of a group by `describe_consumer_groups`, as in kafka-python 2."""

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
    """A group's committed offset of a partition. `leader_epoch` -1: unknown."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """A record found by timestamp; ms since the epoch. `leader_epoch` None or -1: unknown."""

    offset: int
    timestamp: int
    leader_epoch: int | None = -1


class MemberState:
    """The state of a consumer in its group."""

    UNJOINED = "<unjoined>"
    REBALANCING = "<rebalancing>"
    STABLE = "<stable>"


class ConsumerGroupMetadata(NamedTuple):
    """A consumer's membership at one moment, with which a transactional producer fences others (KIP-447)."""

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED


class IsolationLevel(IntEnum):
    """Whether a reader sees records of uncommitted transactions."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(IntEnum):
    """The kind of an offset look-up; a number from 0 on is a timestamp (see `OffsetTimestamp`)."""

    LATEST = LATEST_TIMESTAMP
    EARLIEST = EARLIEST_TIMESTAMP
    MAX_TIMESTAMP = MAX_TIMESTAMP
    EARLIEST_LOCAL = EARLIEST_LOCAL_TIMESTAMP
    LATEST_TIERED = LATEST_TIERED_TIMESTAMP


class OffsetTimestamp(int):
    """ms since the epoch, where a plain number would mean an offset: the first record from then on."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


class OffsetResetStrategy(IntEnum):
    """Where a consumer starts without a valid offset; the values are ListOffsets' timestamps (`NONE`: it fails
    instead).
    """

    LATEST = LATEST_TIMESTAMP
    EARLIEST = EARLIEST_TIMESTAMP
    NONE = 0

    @classmethod
    def of(cls, name: str) -> OffsetResetStrategy:
        """Return the strategy of `auto_offset_reset`; an unknown word means `NONE`, as in kafka-python."""
        return cls.__members__.get(name.upper(), cls.NONE)
