"""Data of a group's events, names of its timers, and contexts of its writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.members import Protocols
from kafkapy.coordinator.group.offsets import Offsets
from kafkapy.coordinator.runtime.effects import Recipient, Reply
from kafkapy.protocol.errors import Errors
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkapy.runtime.completion import Completion

NO_MEMBER_ID = ""

PartitionErrors = dict[TopicPartition, Errors]

JOIN_TIMER = "rebalance"
"""Runs exactly while the group is PreparingRebalance; limits the join phase."""
SYNC_TIMER = "sync"
"""Runs while some members of the current generation have not sent SyncGroup."""
PENDING_TIMER = "pending member"
"""Runs for each assigned member id until its client joins, for at most its session timeout."""


@dataclass(slots=True)
class Join:
    """A JoinGroup request."""

    member_id: str
    group_instance_id: str | None
    new_member_id: str
    """The id for a new member."""
    require_known_member_id: bool
    """Set for dynamic members from v4 on: they get an id first, and join with it (KIP-394)."""
    supports_skipping_assignment: bool
    """v9+ (KIP-814)"""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    reason: str
    to: Recipient


@dataclass(slots=True)
class Commit:
    """An OffsetCommit request, or a TxnOffsetCommit with its producer. Also the context of the write."""

    member_id: str
    group_instance_id: str | None
    generation_id: int
    offsets: Offsets
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    too_large: Collection[TopicPartition] = ()
    """Partitions of `offsets` whose metadata are too large to be stored."""
    batch: bytes = b""
    """The records of the stored offsets; empty if there are none."""
    is_refused: bool = False
    """The batch is too large for the log."""
    errors: Completion[PartitionErrors] = field(default_factory=Completion)
    """Completes when the offsets are in the log, or refused."""

    @property
    def is_transactional(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def stored(self) -> Offsets:
        """Return the offsets without those with too large metadata."""
        if not self.too_large:
            return self.offsets
        return {partition: offset for partition, offset in self.offsets.items() if partition not in self.too_large}

    def answer(self, error: Errors, too_large: Collection[TopicPartition] = ()) -> Reply:
        """Return the response: one error for all partitions except those with too large metadata."""
        errors: PartitionErrors = dict.fromkeys(self.offsets, error)
        errors.update(dict.fromkeys(too_large, Errors.OFFSET_METADATA_TOO_LARGE))
        return Reply(self.errors.set_result, errors)


# ---------------------------------------------------------------------------------------------------- writes


@dataclass(slots=True)
class NewAssignment:
    """Context of the write of the leader's SyncGroup."""

    generation_id: int
    leader_id: str
    assignment: Mapping[str, bytes]


@dataclass(slots=True)
class StaticMember:
    """A static member's data before it rejoined with a new id."""

    member_id: str
    leader_id: str | None
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int


@dataclass(slots=True)
class ReplacedMember:
    """Context of the write after a static member has rejoined a Stable group."""

    generation_id: int
    join: Join
    before: StaticMember


@dataclass(slots=True)
class EmptyGeneration:
    """Context of the write after the last member has left."""

    generation_id: int


@dataclass(slots=True)
class Tombstones:
    """Context of a write of tombstones. If it fails, the removed offsets may be loaded again later, and expire again."""

    number: int


_APPEND_ERRORS = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
}
_TOO_LARGE = (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE)

STORE_GROUP_ERRORS = {
    **_APPEND_ERRORS,
    **dict.fromkeys(_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
}
"""Errors for members after a failed append of their group's record."""

STORE_OFFSETS_ERRORS = {
    **_APPEND_ERRORS,
    **dict.fromkeys(_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
}
"""Errors for commits after a failed append."""
