"""What events bring to a group, the names of its timers, and what its writes stand for."""

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
"""The group's, exactly while it is PreparingRebalance: the join phase ends with it at the latest."""
SYNC_TIMER = "sync"
"""The group's, while members that joined the current generation have not sent SyncGroup."""
PENDING_TIMER = "pending member"
"""That of an assigned id: its client must join within its session timeout."""


@dataclass(slots=True)
class Join:
    """A JoinGroup request as the group sees it."""

    member_id: str
    group_instance_id: str | None
    new_member_id: str
    """The id that it gets, should it be a new member."""
    require_known_member_id: bool
    """v4+ of a dynamic member: it gets its id first and joins with it (KIP-394)."""
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
    """An OffsetCommit request as the group sees it, or a TxnOffsetCommit: that has a producer. Also what its write stands
    for."""

    member_id: str
    group_instance_id: str | None
    generation_id: int
    offsets: Offsets
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    too_large: Collection[TopicPartition] = ()
    """Those of `offsets` whose metadata are too large to be stored."""
    batch: bytes = b""
    """The records of those that are stored; empty if there are none."""
    is_refused: bool = False
    """The batch is too large for the log."""
    errors: Completion[PartitionErrors] = field(default_factory=Completion)
    """Done when the offsets are in the log, or refused."""

    @property
    def is_transactional(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def stored(self) -> Offsets:
        """Without those that are too large."""
        if not self.too_large:
            return self.offsets
        return {partition: offset for partition, offset in self.offsets.items() if partition not in self.too_large}

    def answer(self, error: Errors, too_large: Collection[TopicPartition] = ()) -> Reply:
        """One error for all, but for those whose metadata were refused."""
        errors: PartitionErrors = dict.fromkeys(self.offsets, error)
        errors.update(dict.fromkeys(too_large, Errors.OFFSET_METADATA_TOO_LARGE))
        return Reply(self.errors.set_result, errors)


# ---------------------------------------------------------------------------------------------------- writes


@dataclass(slots=True)
class NewAssignment:
    """The leader's SyncGroup is in the log."""

    generation_id: int
    leader_id: str
    assignment: Mapping[str, bytes]


@dataclass(slots=True)
class StaticMember:
    """What a static member was before it came back under a new id."""

    member_id: str
    leader_id: str | None
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int


@dataclass(slots=True)
class ReplacedMember:
    """A static member has come back in a Stable group."""

    generation_id: int
    join: Join
    before: StaticMember


@dataclass(slots=True)
class EmptyGeneration:
    """The last member is gone."""

    generation_id: int


@dataclass(slots=True)
class Tombstones:
    """Should they be lost, what they take back is loaded again some day and expires again."""

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
"""What members may hear of an append of their group that failed."""

STORE_OFFSETS_ERRORS = {
    **_APPEND_ERRORS,
    **dict.fromkeys(_TOO_LARGE, Errors.INVALID_COMMIT_OFFSET_SIZE),
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
}
"""The same of commits."""
