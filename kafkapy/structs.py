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
    """A member in a `GroupInformation`.

    Attributes:
        member_id: Id that the coordinator has given to it.
        client_id: The member's `client_id`.
        client_host: Address that it connects from, with a slash before: "/10.0.0.1".
        member_metadata: Decoded metadata; a consumer's has `topics`.
        member_assignment: Decoded assignment; a consumer's has `partitions()`.

    Example:
        >>> MemberInformation("app-1", "app", "/10.0.0.1", None, None).client_host
        '/10.0.0.1'
    """

    member_id: str
    client_id: str
    client_host: str
    member_metadata: Any
    member_assignment: Any


class GroupInformation(NamedTuple):
    """The description of a group by `describe_consumer_groups`, as in kafka-python 2.

    Attributes:
        error_code: Kafka's error code; 0: none.
        group: The group's id.
        state: "Stable", "Empty", "PreparingRebalance", "CompletingRebalance" or "Dead".
        protocol_type: "consumer" for consumers.
        protocol: The assignor, for example "range".
        members: The group's members.
        authorized_operations: Names of operations that this client may do with the group; None: not asked for.

    Example:
        >>> GroupInformation(0, "app", "Empty", "consumer", "", [], None).state
        'Empty'
    """

    error_code: int
    group: str
    state: str
    protocol_type: str
    protocol: str
    members: list[MemberInformation]
    authorized_operations: list[str] | None


class TopicPartitionReplica(NamedTuple):
    """One replica of a partition.

    Attributes:
        topic: Name of the topic.
        partition: Partition number.
        broker_id: Id of the broker that has the replica.

    Example:
        >>> TopicPartitionReplica("clicks", 0, 1).broker_id
        1
    """

    topic: str
    partition: int
    broker_id: int


class OffsetAndMetadata(NamedTuple):
    """A group's committed offset of a partition.

    Attributes:
        offset: Offset of the next record to read.
        metadata: Any text that is stored with it. Default "".
        leader_epoch: Leader epoch of the last record that was read. Default -1: unknown.

    Example:
        >>> OffsetAndMetadata(42)
        OffsetAndMetadata(offset=42, metadata='', leader_epoch=-1)
    """

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """A record found by timestamp.

    Attributes:
        offset: Offset of the record.
        timestamp: Its timestamp, in ms since the epoch.
        leader_epoch: Leader epoch of its batch. Default -1; None or -1: unknown.

    Example:
        >>> OffsetAndTimestamp(42, 1_700_000_000_000).offset
        42
    """

    offset: int
    timestamp: int
    leader_epoch: int | None = -1


class MemberState:
    """The state of a consumer in its group.

    Example:
        >>> ConsumerGroupMetadata("app").state == MemberState.UNJOINED
        True
    """

    UNJOINED = "<unjoined>"
    REBALANCING = "<rebalancing>"
    STABLE = "<stable>"


class ConsumerGroupMetadata(NamedTuple):
    """A consumer's membership at one moment, with which a transactional producer fences others (KIP-447).

    Attributes:
        group_id: The group's id. None (default): the consumer has no group.
        generation_id: Generation of the group. Default -1: not a member.
        member_id: Id that the coordinator has given to the member. Default "".
        group_instance_id: Id of a static member (KIP-345). None (default): the member is dynamic.
        state: One of `MemberState`. Default UNJOINED.

    Example:
        >>> ConsumerGroupMetadata("app").generation_id
        -1
    """

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED


class IsolationLevel(IntEnum):
    """Whether a reader sees records of uncommitted transactions.

    Example:
        >>> IsolationLevel(1).name
        'READ_COMMITTED'
    """

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class OffsetSpec(IntEnum):
    """The kind of an offset look-up; a number from 0 on is a timestamp (see `OffsetTimestamp`).

    Example:
        >>> int(OffsetSpec.LATEST), int(OffsetSpec.EARLIEST)
        (-1, -2)
    """

    LATEST = LATEST_TIMESTAMP
    EARLIEST = EARLIEST_TIMESTAMP
    MAX_TIMESTAMP = MAX_TIMESTAMP
    EARLIEST_LOCAL = EARLIEST_LOCAL_TIMESTAMP
    LATEST_TIERED = LATEST_TIERED_TIMESTAMP


class OffsetTimestamp(int):
    """ms since the epoch, where a plain number would mean an offset: the first record from then on.

    Example:
        >>> OffsetTimestamp(1_700_000_000_000)
        OffsetTimestamp(1700000000000)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"OffsetTimestamp({int(self)})"


class OffsetResetStrategy(IntEnum):
    """Where a consumer starts without a valid offset; the values are ListOffsets' timestamps (`NONE`: it fails instead).

    Example:
        >>> OffsetResetStrategy.of("earliest").name
        'EARLIEST'
    """

    LATEST = LATEST_TIMESTAMP
    EARLIEST = EARLIEST_TIMESTAMP
    NONE = 0

    @classmethod
    def of(cls, name: str) -> OffsetResetStrategy:
        """Return the strategy of `auto_offset_reset`; an unknown word means `NONE`, as in kafka-python.

        Args:
            name: "latest", "earliest" or "none", in any case.
        """
        return cls.__members__.get(name.upper(), cls.NONE)
