"""Base classes of assignors (Kafka's `ConsumerPartitionAssignor`, with kafka-python's method names).

The leader of a group runs the assignor that all members support. Users' assignors derive from
`AbstractPartitionAssignor`; Kafka's derive from `BuiltinAssignor`, which first converts the messages into plain data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol

from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

DEFAULT_GENERATION = -1


class RebalanceProtocol(IntEnum):
    """EAGER: a member revokes all its partitions before it joins. COOPERATIVE: it revokes only those that move
    (KIP-429)."""

    EAGER = 0
    COOPERATIVE = 1


class ClusterPartitions(Protocol):
    """The cluster metadata that an assignor can query."""

    def partitions_for_topic(self, topic: str) -> Collection[int] | None:
        """Return the topic's partition numbers; None if the topic is not known."""
        ...

    def replica_racks(self, partition: TopicPartition) -> frozenset[str]:
        """Return the racks that hold a replica; empty if brokers have no racks."""
        ...


class SubscribedMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: ConsumerProtocolSubscription


GroupMember = SubscribedMember
"""The name that users' assignors import."""


class AbstractPartitionAssignor(ABC):
    """Assigns partitions. One instance for each consumer; members of a group agree on it by `name`."""

    name: ClassVar[str]
    in_user_thread: ClassVar[bool] = False
    """True: `assign` may block, so it is called inside the user's `poll`, while heartbeats continue."""

    def supported_protocols(self) -> Sequence[RebalanceProtocol]:
        """Return the supported protocols, the preferred one first. A consumer uses the best that all its assignors
        support."""
        return [RebalanceProtocol.EAGER]

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return this member's subscription message for the leader. The consumer adds owned partitions, generation and
        rack."""
        return ConsumerProtocolSubscription(topics=sorted(topics), user_data=self.user_data(topics))

    def user_data(self, topics: Iterable[str]) -> bytes | None:
        """Return the assignor's own bytes within `metadata`."""
        return None

    @abstractmethod
    def assign(self, cluster: ClusterPartitions, members: Sequence[SubscribedMember]) -> Mapping[str, Any]:
        """Return member id -> its partitions: a `ConsumerProtocolAssignment`, or a list of `TopicPartition`s."""

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:  # noqa: B027
        """Called with this member's assignment in `generation`."""


class Member(NamedTuple):
    """A member as the built-in assignors see it. `generation` None: its subscription has none."""

    id: str
    instance_id: str | None
    topics: frozenset[str]
    owned: list[TopicPartition]
    generation: int | None
    rack: str | None

    @property
    def order(self) -> tuple[int, str]:
        """Return the sort key: static members first, by instance id, so that a restart does not change their order."""
        return (1, self.id) if self.instance_id is None else (0, self.instance_id)


class PartitionTable(NamedTuple):
    """The subscribed topics that exist, and the racks of their partitions."""

    topics: dict[str, list[TopicPartition]]
    racks: dict[TopicPartition, frozenset[str]]

    @property
    def partitions(self) -> list[TopicPartition]:
        return [partition for topic in self.topics.values() for partition in topic]


class BuiltinAssignor(AbstractPartitionAssignor):
    """An assignor that works on plain data instead of messages."""

    def assign(
        self, cluster: ClusterPartitions, members: Sequence[SubscribedMember]
    ) -> dict[str, ConsumerProtocolAssignment]:
        known = [self.member(member) for member in members]
        assigned = self.assign_partitions(_table(cluster, known), known)
        return {member: assignment_of(partitions) for member, partitions in assigned.items()}

    def member(self, member: SubscribedMember) -> Member:
        data = member.metadata
        generation = data.generation_id if data.generation_id >= 0 else None
        owned = [TopicPartition(t.topic, p) for t in data.owned_partitions for p in t.partitions]
        rack = data.rack_id or None
        return Member(member.member_id, member.group_instance_id, frozenset(data.topics), owned, generation, rack)

    @abstractmethod
    def assign_partitions(self, table: PartitionTable, members: list[Member]) -> dict[str, list[TopicPartition]]:
        """Return member id -> partitions, with an entry for every member."""


def assignment_of(partitions: Iterable[TopicPartition]) -> ConsumerProtocolAssignment:
    """Return a member's assignment message; partitions keep their order, topics are in the order of their first
    partition."""
    entry = ConsumerProtocolAssignment.TopicPartition
    assigned = [entry(topic=topic, partitions=numbers) for topic, numbers in indexes_by_topic(partitions).items()]
    return ConsumerProtocolAssignment(assigned_partitions=assigned)


def use_racks(consumer_racks: Collection[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Return whether to assign by rack: consumers and replicas share racks, and not every partition is in all of them
    (KIP-881)."""
    each = list(partition_racks)
    all_racks = frozenset().union(*each)
    return not all_racks.isdisjoint(consumer_racks) and any(racks != all_racks for racks in each)


def _table(cluster: ClusterPartitions, members: list[Member]) -> PartitionTable:
    with_racks = any(member.rack for member in members)
    topics: dict[str, list[TopicPartition]] = {}
    racks: dict[TopicPartition, frozenset[str]] = {}
    for topic in sorted(frozenset().union(*(member.topics for member in members))):
        partitions = [TopicPartition(topic, number) for number in sorted(cluster.partitions_for_topic(topic) or ())]
        if partitions:
            topics[topic] = partitions
            if with_racks:
                racks |= {partition: cluster.replica_racks(partition) for partition in partitions}
    return PartitionTable(topics, racks)
