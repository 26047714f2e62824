"""The sticky assignors: balanced first, as few moves as possible second (Kafka's `AbstractStickyAssignor` and
subclasses)."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import (
    DEFAULT_GENERATION,
    BuiltinAssignor,
    Member,
    PartitionTable,
    RebalanceProtocol,
    SubscribedMember,
)
from kafkapy.consumer.assignors.racks import RackInfo
from kafkapy.consumer.assignors.sticky_constrained import ConstrainedAssignment
from kafkapy.consumer.assignors.sticky_general import GeneralAssignment
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment

_log = logging.getLogger("kafkapy.consumer")
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")


class StickyPartitionAssignor(BuiltinAssignor):
    """The eager sticky assignor: each member sends its previous partitions in its user data."""

    name = "sticky"

    def __init__(self) -> None:
        self._assigned: list[TopicPartition] | None = None
        self._generation = DEFAULT_GENERATION

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        self._assigned = [TopicPartition(t.topic, p) for t in assignment.assigned_partitions for p in t.partitions]
        self._generation = generation

    def user_data(self, topics: Iterable[str]) -> bytes | None:
        return None if self._assigned is None else encode_owned(self._assigned, self._generation)

    def member(self, member: SubscribedMember) -> Member:
        data = member.metadata.user_data
        owned, generation = decode_owned(bytes(data)) if data else ([], None)
        return super().member(member)._replace(owned=owned, generation=generation)

    def assign_partitions(self, table: PartitionTable, members: list[Member]) -> dict[str, list[TopicPartition]]:
        return self._assign(table, members)[0]

    def _assign(
        self, table: PartitionTable, members: list[Member]
    ) -> tuple[dict[str, list[TopicPartition]], dict[TopicPartition, str] | None]:
        """Return the assignment, and the partitions that another member must revoke first (None: not known)."""
        owned = owned_partitions(table, members)
        racks = RackInfo(table, members)
        if len({member.topics for member in members}) == 1:
            constrained = ConstrainedAssignment(table, racks, owned.by_member, owned.contested)
            return constrained.build(), constrained.transferred
        return GeneralAssignment(table, racks, owned.by_member, members, owned.generation).build(), None


class CooperativeStickyAssignor(StickyPartitionAssignor):
    """The cooperative sticky assignor (KIP-429): partitions that move are revoked first, and assigned in the next
    rebalance."""

    name = "cooperative-sticky"

    def supported_protocols(self) -> Sequence[RebalanceProtocol]:
        return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]

    def user_data(self, topics: Iterable[str]) -> bytes | None:
        return _INT32.pack(self._generation)

    def member(self, member: SubscribedMember) -> Member:
        found = BuiltinAssignor.member(self, member)
        if found.generation is not None:
            return found
        data = member.metadata.user_data
        if data is None:
            return found
        generation = _INT32.unpack_from(data)[0] if len(data) >= _INT32.size else DEFAULT_GENERATION
        return found._replace(generation=generation)

    def assign_partitions(self, table: PartitionTable, members: list[Member]) -> dict[str, list[TopicPartition]]:
        assignment, transferred = self._assign(table, members)
        if transferred is None:
            transferred = _transferred(members, assignment)
        for partition, consumer in transferred.items():
            assignment[consumer].remove(partition)
        return assignment


class OwnedPartitions(NamedTuple):
    """Partitions that members may keep. `contested`: claimed by two members of one generation. `generation`: the
    highest seen."""

    by_member: dict[str, list[TopicPartition]]
    contested: set[TopicPartition]
    generation: int


def owned_partitions(table: PartitionTable, members: list[Member]) -> OwnedPartitions:
    """Return the owned partitions; of several claims to one, that of the newest generation counts."""
    by_member: dict[str, list[TopicPartition]] = {}
    contested: set[TopicPartition] = set()
    owners: dict[TopicPartition, Member] = {}
    highest = DEFAULT_GENERATION
    for member in members:
        generation = DEFAULT_GENERATION if member.generation is None else member.generation
        highest = max(highest, generation)
        kept = by_member[member.id] = []
        for partition in member.owned:
            if partition.topic not in table.topics:
                continue
            other = owners.get(partition)
            if other is None:
                owners[partition] = member
                kept.append(partition)
                continue
            others = DEFAULT_GENERATION if other.generation is None else other.generation
            _log.warning("Members %s and %s both claim %s", member.id, other.id, partition)
            if generation < others:
                continue
            if partition in by_member[other.id]:
                by_member[other.id].remove(partition)
            owners[partition] = member
            if generation == others:
                contested.add(partition)
            else:
                kept.append(partition)
    return OwnedPartitions(by_member, contested, highest)


def _transferred(members: list[Member], assignment: dict[str, list[TopicPartition]]) -> dict[TopicPartition, str]:
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member in members:
        before, after = set(member.owned), assignment[member.id]
        added |= {partition: member.id for partition in after if partition not in before}
        revoked |= before.difference(after)
    return {partition: member for partition, member in added.items() if partition in revoked}


def encode_owned(partitions: list[TopicPartition], generation: int) -> bytes:
    """User data of `sticky`, version 1: topics with their partitions, and the generation."""
    topics = indexes_by_topic(partitions)
    parts = [_INT32.pack(len(topics))]
    for topic, numbers in topics.items():
        name = topic.encode()
        parts += [_INT16.pack(len(name)), name, _INT32.pack(len(numbers)), *map(_INT32.pack, numbers)]
    parts.append(_INT32.pack(generation))
    return b"".join(parts)


def decode_owned(data: bytes) -> tuple[list[TopicPartition], int | None]:
    """Return the partitions and the generation (None in version 0, which has no such field); no partitions for
    malformed bytes."""
    try:
        return _decode_owned(data)
    except (struct.error, UnicodeDecodeError):
        return [], DEFAULT_GENERATION


def _decode_owned(data: bytes) -> tuple[list[TopicPartition], int | None]:
    partitions: list[TopicPartition] = []
    (topics,), at = _INT32.unpack_from(data), 4
    for _ in range(topics):
        (length,), at = _INT16.unpack_from(data, at), at + 2
        topic, at = data[at : at + length].decode(), at + length
        (count,), at = _INT32.unpack_from(data, at), at + 4
        if not 0 <= count <= (len(data) - at) // 4:
            return [], DEFAULT_GENERATION
        partitions += [TopicPartition(topic, number) for number in struct.unpack_from(f">{count}i", data, at)]
        at += 4 * count
    return partitions, _INT32.unpack_from(data, at)[0] if len(data) - at >= 4 else None
