"""A consumer's subscription, assigned partitions, and the position in each (Kafka's `SubscriptionState`).

Three users share this state: the group coordinator assigns partitions, the fetcher reads and advances positions, and
the facade seeks, pauses and queries. No I/O, no clock.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from kafkapy.common.leader_and_isr import NO_EPOCH
from kafkapy.common.patterns import PatternError, TranslatedPattern, python_or_java
from kafkapy.common.topic_names import INTERNAL_TOPICS, reason_invalid
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.listener import AsyncConsumerRebalanceListener, ConsumerRebalanceListener
from kafkapy.errors import IllegalStateError, NoOffsetForPartitionError
from kafkapy.structs import OffsetResetStrategy

__all__ = [
    "AsyncConsumerRebalanceListener",  # kafka-python has the listeners and the strategy in its module of this name
    "ConsumerRebalanceListener",
    "FetchPosition",
    "FetchState",
    "OffsetResetStrategy",
    "SubscriptionState",
    "SubscriptionType",
    "TopicPartitionState",
]


class SubscriptionType(Enum):
    NONE = "none"
    AUTO_TOPICS = "topics"
    AUTO_PATTERN = "pattern"
    USER_ASSIGNED = "assigned"


class FetchState(Enum):
    """INITIALIZING: no position yet. AWAIT_RESET: ListOffsets will provide it. AWAIT_VALIDATION: see KIP-320."""

    INITIALIZING = "initializing"
    AWAIT_RESET = "await reset"
    AWAIT_VALIDATION = "await validation"
    FETCHING = "fetching"


class FetchPosition(NamedTuple):
    """The next offset, the leader epoch of the record before it, and the leader epoch it was last checked against."""

    offset: int
    offset_epoch: int = NO_EPOCH
    leader_epoch: int = NO_EPOCH


class Changes:
    """Counts the changes of partition states, except positions that advance."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class TopicPartitionState:
    """One assigned partition.

    Invariant: `position` is None exactly in INITIALIZING and AWAIT_RESET; `reset_strategy` is set exactly in
    AWAIT_RESET. `version` grows whenever the position jumps (seek, reset, validation): records that were fetched under
    another version are stale and are dropped. `position` is the fetcher's: the user's is before the partition's
    records in `PendingRecords`.
    """

    __slots__ = (
        "_changes",
        "answered_ms",
        "fetch_state",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "next_retry_ms",
        "paused",
        "pending_revocation",
        "position",
        "preferred_read_replica",
        "preferred_read_replica_expires_ms",
        "reset_strategy",
        "version",
    )

    def __init__(self, changes: Changes | None = None) -> None:
        self._changes = changes or Changes()
        self.fetch_state = FetchState.INITIALIZING
        self.position: FetchPosition | None = None
        self.reset_strategy: OffsetResetStrategy | None = None
        self.version = 0
        self.paused = False
        self.pending_revocation = False
        self.answered_ms: int | None = None
        """Time of the last fetch response (ms since the epoch)."""
        self.high_watermark: int | None = None
        self.last_stable_offset: int | None = None
        self.log_start_offset: int | None = None
        self.next_retry_ms: float | None = None
        self.preferred_read_replica: int | None = None
        self.preferred_read_replica_expires_ms: float = 0

    @property
    def is_fetchable(self) -> bool:
        return self.fetch_state is FetchState.FETCHING and not self.paused and not self.pending_revocation

    @property
    def has_valid_position(self) -> bool:
        return self.fetch_state is FetchState.FETCHING

    def lag(self, read_committed: bool = False) -> int | None:
        """Return the number of records between the position and the end; None while either is unknown."""
        end = self.last_stable_offset if read_committed else self.high_watermark
        if end is None or self.position is None:
            return None
        return max(0, end - self.position.offset)

    def advance(self, position: FetchPosition) -> None:
        """Move the position behind records that have left the fetcher. This is no jump: buffered records stay
        valid."""
        self.position = position

    def seek(self, position: FetchPosition) -> None:
        """Jump to a position; the caller decides whether it needs validation (`await_validation`)."""
        self._jump(FetchState.FETCHING)
        self.position = position

    def await_reset(self, strategy: OffsetResetStrategy) -> None:
        self._jump(FetchState.AWAIT_RESET)
        self.position = None
        self.reset_strategy = strategy

    def await_validation(self, leader_epoch: int) -> bool:
        """Require validation at a newer leader; return False if the position can't be validated or already was."""
        position = self.position
        if position is None or leader_epoch <= position.leader_epoch:
            return False
        self._changes.count += 1
        self.position = position._replace(leader_epoch=leader_epoch)
        if position.offset_epoch == NO_EPOCH or position.offset_epoch >= leader_epoch:
            return False
        self.fetch_state = FetchState.AWAIT_VALIDATION
        self.next_retry_ms = None
        return True

    def complete_validation(self) -> None:
        if self.fetch_state is FetchState.AWAIT_VALIDATION:
            self._changes.count += 1
            self.fetch_state = FetchState.FETCHING
            self.next_retry_ms = None

    def retry_allowed(self, now_ms: float) -> bool:
        return self.next_retry_ms is None or now_ms >= self.next_retry_ms

    def read_replica(self, leader_id: int, now_ms: float) -> int:
        """Return the broker to fetch from: the preferred replica (KIP-392) until it expires, else the leader."""
        if self.preferred_read_replica is None:
            return leader_id
        if now_ms >= self.preferred_read_replica_expires_ms:
            self.preferred_read_replica = None
            return leader_id
        return self.preferred_read_replica

    def prefer_read_replica(self, node_id: int, expires_ms: float) -> None:
        """Set the preferred replica until `expires_ms`; a `node_id` below 0 clears it."""
        self.preferred_read_replica = node_id if node_id >= 0 else None
        self.preferred_read_replica_expires_ms = expires_ms

    def _jump(self, state: FetchState) -> None:
        self._changes.count += 1
        self.fetch_state = state
        self.version += 1
        self.reset_strategy = None
        self.next_retry_ms = None
        self.preferred_read_replica = None


_CHOOSE_ONE = (
    "You must choose only one way to configure your consumer: (1) subscribe to specific topics by name,"
    " (2) subscribe to topics matching a regex pattern, (3) assign itself specific topic-partitions."
)


class SubscriptionState:
    """The subscription and the assigned partitions.

    Invariant: `subscription` holds topics only under `AUTO_TOPICS` and `AUTO_PATTERN`; a group assigns only partitions
    of those. `assignment` is in fetch order: the partition fetched last is at its end. Only the driver's thread
    changes the state; other threads that read `assignment` see a recent one.
    """

    def __init__(self, default_reset: OffsetResetStrategy = OffsetResetStrategy.EARLIEST) -> None:
        self.default_reset = default_reset
        self.type = SubscriptionType.NONE
        self.subscription: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | TranslatedPattern | None = None
        self.group_subscription: frozenset[str] = frozenset()
        """Topics that any member of the group wants: what the leader watches for changes."""
        self.listener: Any = None
        self.assignment: dict[TopicPartition, TopicPartitionState] = {}
        self.assignment_id = 0
        """Incremented by each change of the assigned partitions."""
        self.changes = Changes()
        self._settled_at = -1

    # -- subscription

    @property
    def auto_assigned(self) -> bool:
        return self.type in (SubscriptionType.AUTO_TOPICS, SubscriptionType.AUTO_PATTERN)

    def subscribe(
        self, topics: Sequence[str] = (), pattern: str | TranslatedPattern | None = None, listener: Any = None
    ) -> bool:
        """Subscribe to topics or to all topics that match; True if the topics changed.

        A pattern is in Python's `re` syntax, or, if `re` rejects it, in Java's; it must match at a name's beginning.

        Raises ValueError (neither, a bad topic name, no regular expression), `IllegalStateError` (both, or another
        kind of subscription is active), TypeError (not a list).
        """
        if not topics and not pattern:
            raise ValueError("Must provide topics or pattern")
        if topics and pattern:
            raise IllegalStateError(_CHOOSE_ONE)
        if pattern:
            compiled = _compiled(pattern)
            self._set_type(SubscriptionType.AUTO_PATTERN)
            self.pattern = compiled
            self.listener = listener
            return True
        if isinstance(topics, str) or not isinstance(topics, Collection):
            raise TypeError("Topics must be a list (or non-str sequence)")
        for topic in topics:
            if not isinstance(topic, str):
                raise TypeError("All topics must be strings")
            _ensure_valid(topic)
        self._set_type(SubscriptionType.AUTO_TOPICS)
        self.listener = listener
        return self.change_subscription(topics)

    def change_subscription(self, topics: Iterable[str]) -> bool:
        """Set the topics: those of a list, or those that a pattern matches now; return whether they changed."""
        wanted = frozenset(topics)
        if wanted == self.subscription:
            return False
        self.subscription = wanted
        self.group_subscription |= wanted
        return True

    def group_subscribe(self, topics: Iterable[str]) -> None:
        """Set the topics of all members' subscriptions; only the leader knows those of others."""
        self.group_subscription = self.subscription | frozenset(topics)

    def matches(self, topic: str) -> bool:
        return self.pattern is not None and bool(self.pattern.match(topic))

    def match(self, topics: Iterable[str], exclude_internal: bool) -> bool:
        """Subscribe to the topics that the pattern matches now; return whether they changed."""
        found = {topic for topic in topics if self.matches(topic)}
        return self.change_subscription(found - INTERNAL_TOPICS if exclude_internal else found)

    def assign_from_user(self, partitions: Iterable[TopicPartition]) -> bool:
        """Assign exactly these partitions; return whether they changed. Raises `IllegalStateError` if subscribed."""
        self._set_type(SubscriptionType.USER_ASSIGNED)
        return self._assign(list(partitions))

    def assign_from_subscribed(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign the group's partitions; those assigned before keep their state. New ones are in random order, so that
        short-lived consumers do not always start with the same partition."""
        if not self.auto_assigned:
            raise IllegalStateError(_CHOOSE_ONE)
        assigned = list(partitions)
        for partition in assigned:
            if partition.topic not in self.subscription:
                raise ValueError(f"Assigned partition {partition} for non-subscribed topic.")
        random.shuffle(assigned)
        self._assign(assigned)

    def unsubscribe(self) -> None:
        self.type = SubscriptionType.NONE
        self.subscription = self.group_subscription = frozenset()
        self.pattern = None
        self._assign([])

    # -- the assigned partitions

    def state(self, partition: TopicPartition) -> TopicPartitionState:
        """Return a partition's state. Raises `IllegalStateError` if it is not assigned."""
        found = self.assignment.get(partition)
        if found is None:
            raise IllegalStateError(f"No current assignment for partition {partition}")
        return found

    def assigned_partitions(self) -> set[TopicPartition]:
        return set(self.assignment)

    def paused_partitions(self) -> set[TopicPartition]:
        return {partition for partition, state in list(self.assignment.items()) if state.paused}

    def fetchable_partitions(self, wanted: Callable[[TopicPartition], bool] | None = None) -> list[TopicPartition]:
        return [p for p, state in self.assignment.items() if state.is_fetchable and (wanted is None or wanted(p))]

    def move_to_end(self, partition: TopicPartition) -> None:
        """Move a partition to the end of the fetch order. The dict is replaced, so that other threads never miss a
        partition."""
        if partition in self.assignment:
            assignment = dict(self.assignment)
            assignment[partition] = assignment.pop(partition)
            self.assignment = assignment

    def mark_pending_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching partitions that are being revoked (KIP-429)."""
        for partition in partitions:
            if partition in self.assignment:
                self.assignment[partition].pending_revocation = True

    # -- positions

    def position(self, partition: TopicPartition) -> FetchPosition | None:
        return self.state(partition).position

    def seek(self, partition: TopicPartition, offset: int, offset_epoch: int = NO_EPOCH) -> None:
        self.state(partition).seek(FetchPosition(offset, offset_epoch))

    def request_offset_reset(self, partition: TopicPartition, strategy: OffsetResetStrategy | None = None) -> None:
        """Reset by `strategy`, or by the consumer's default; the fetcher looks the offset up."""
        self.state(partition).await_reset(self.default_reset if strategy is None else strategy)

    def complete_reset(self, partition: TopicPartition, strategy: OffsetResetStrategy, position: FetchPosition) -> bool:
        """Set the offset that a reset found. False if meanwhile the position jumped or the partition was revoked."""
        state = self.assignment.get(partition)
        if state is None or state.fetch_state is not FetchState.AWAIT_RESET or state.reset_strategy is not strategy:
            return False
        state.seek(position)
        return True

    def has_all_fetch_positions(self) -> bool:
        """Return whether every partition has a valid position; the result is cached until a state changes."""
        if self._settled_at != self.changes.count:
            if not all(state.has_valid_position for state in self.assignment.values()):
                return False
            self._settled_at = self.changes.count
        return True

    def initializing_partitions(self) -> set[TopicPartition]:
        """Return the partitions without a position or a reset in progress: their committed offsets must be fetched."""
        if self.has_all_fetch_positions():
            return set()
        return {p for p, state in self.assignment.items() if state.fetch_state is FetchState.INITIALIZING}

    def reset_initializing_positions(self, partitions: Collection[TopicPartition]) -> None:
        """Reset those of `partitions` that have no committed offset. Raises `NoOffsetForPartitionError` without a policy."""
        missing = self.initializing_partitions().intersection(partitions)
        if missing and self.default_reset is OffsetResetStrategy.NONE:
            raise NoOffsetForPartitionError(missing)
        for partition in missing:
            self.assignment[partition].await_reset(self.default_reset)

    def partitions_needing_reset(self, now_ms: float) -> dict[TopicPartition, OffsetResetStrategy]:
        if self.has_all_fetch_positions():
            return {}
        return {
            p: state.reset_strategy
            for p, state in self.assignment.items()
            if state.reset_strategy is not None and state.retry_allowed(now_ms)
        }

    def partitions_needing_validation(self, now_ms: float) -> list[TopicPartition]:
        if self.has_all_fetch_positions():
            return []
        return [
            p
            for p, state in self.assignment.items()
            if state.fetch_state is FetchState.AWAIT_VALIDATION and state.retry_allowed(now_ms)
        ]

    def retry_later(self, partitions: Iterable[TopicPartition], next_retry_ms: float) -> None:
        """Allow no look-up for these partitions before `next_retry_ms` (monotonic): one is in flight, or failed."""
        for partition in partitions:
            if partition in self.assignment:
                self.assignment[partition].next_retry_ms = next_retry_ms

    def all_positions(self) -> dict[TopicPartition, FetchPosition]:
        """Return the position of every partition that has a valid one."""
        return {
            p: state.position
            for p, state in self.assignment.items()
            if state.position is not None and state.has_valid_position
        }

    # -- inside

    def _set_type(self, wanted: SubscriptionType) -> None:
        if self.type is not SubscriptionType.NONE and self.type is not wanted:
            raise IllegalStateError(_CHOOSE_ONE)
        self.type = wanted

    def _assign(self, partitions: list[TopicPartition]) -> bool:
        wanted = dict.fromkeys(partitions)
        for state in self.assignment.values():
            state.pending_revocation = False
        if wanted.keys() == self.assignment.keys():
            return False
        kept = {p: state for p, state in self.assignment.items() if p in wanted}
        self.assignment = kept | {p: TopicPartitionState(self.changes) for p in wanted if p not in kept}
        self.assignment_id += 1
        self.changes.count += 1
        return True


def _compiled(pattern: str | TranslatedPattern) -> re.Pattern[str] | TranslatedPattern:
    if not isinstance(pattern, str):
        return pattern
    try:
        return python_or_java(pattern)
    except PatternError as error:
        raise ValueError(f"The pattern {pattern!r} is no regular expression: {error}") from None


def _ensure_valid(topic: str) -> None:
    reason = reason_invalid(topic)
    if reason is not None:
        raise ValueError(reason)
