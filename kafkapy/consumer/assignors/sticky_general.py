"""The sticky assignors' general path: members subscribe to different topics, so partitions are moved one by one."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import combinations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import DEFAULT_GENERATION, Member, PartitionTable
from kafkapy.consumer.assignors.partition_movements import PartitionMovements
from kafkapy.consumer.assignors.racks import RackInfo

_Assignment = dict[str, list[TopicPartition]]


class GeneralAssignment:
    """Keeps valid ownership, assigns the rest to the least loaded members, then moves partitions until the loads are
    balanced.

    Invariant: `_by_load` holds (number of partitions, id) of the members that can still gain or lose partitions,
    sorted; `_owner` is
    the inverse of `_current`.
    """

    def __init__(
        self, table: PartitionTable, racks: RackInfo, owned: _Assignment, members: list[Member], max_generation: int
    ) -> None:
        self._table = table
        self._racks = racks
        self._members = {member.id: member for member in members}
        self._topics = {m.id: [topic for topic in table.topics if topic in m.topics] for m in members}
        self._consumers = {topic: [m.id for m in members if topic in m.topics] for topic in table.topics}
        self._current: _Assignment = {member.id: list(owned.get(member.id, ())) for member in members}
        self._previous = _previous_owners(members, max_generation)
        self._owner: dict[TopicPartition, str] = {}
        self._by_load: list[tuple[int, str]] = []
        self._movements = PartitionMovements()
        self._revocation_required = False

    def build(self) -> _Assignment:
        kept = self._keep_owned()
        order = sorted(self._table.topics, key=lambda topic: (len(self._consumers[topic]), topic))
        every = [partition for topic in order for partition in self._table.topics[topic]]
        self._by_load = sorted((len(assigned), consumer) for consumer, assigned in self._current.items())
        self._balance(every, [partition for partition in every if partition not in kept])
        return self._current

    def _keep_owned(self) -> set[TopicPartition]:
        for consumer, owned in self._current.items():
            topics = self._members[consumer].topics
            valid = [p for p in owned if p.topic in topics and not self._racks.mismatch(consumer, p)]
            self._revocation_required |= len(valid) < len(owned)
            owned[:] = valid
            self._owner |= dict.fromkeys(valid, consumer)
        return set(self._owner)

    def _balance(self, every: list[TopicPartition], unassigned: list[TopicPartition]) -> None:
        initializing = self._by_load[-1][0] == 0
        rest = unassigned
        if self._racks.consumer_racks:
            rest = [partition for partition in unassigned if not self._assign(partition, near_only=True)]
        for partition in rest:
            self._assign(partition, near_only=False)

        movable = [p for p in every if len(self._consumers[p.topic]) >= 2]
        movable_new = [p for p in unassigned if len(self._consumers[p.topic]) >= 2]
        fixed = {consumer: self._current.pop(consumer) for consumer in self._topics if not self._can_change(consumer)}
        self._by_load = [entry for entry in self._by_load if entry[1] not in fixed]

        before = {consumer: list(assigned) for consumer, assigned in self._current.items()}
        if not self._revocation_required:
            self._reassign(movable_new)
        moved = self._reassign(movable)
        if not initializing and moved and _score(self._current) >= _score(before):
            self._current = before
        self._current |= fixed

    def _assign(self, partition: TopicPartition, near_only: bool) -> bool:
        for _, consumer in self._by_load:
            if partition.topic not in self._members[consumer].topics:
                continue
            if near_only and self._racks.mismatch(consumer, partition):
                continue
            self._unlist(consumer)
            self._current[consumer].append(partition)
            self._owner[partition] = consumer
            self._list(consumer)
            return True
        return False

    def _can_change(self, consumer: str) -> bool:
        assigned = self._current[consumer]
        if len(assigned) < self._most(consumer):
            return True
        return any(len(self._consumers[partition.topic]) >= 2 for partition in assigned)

    def _most(self, consumer: str) -> int:
        return sum(len(self._table.topics[topic]) for topic in self._topics[consumer])

    # -- moving

    def _reassign(self, partitions: Sequence[TopicPartition]) -> bool:
        """Move partitions while that improves the balance; return whether any moved."""
        ever = modified = False
        while True:
            modified = False
            for partition in partitions:
                if self._is_balanced():
                    break
                modified |= self._reassign_one(partition)
            ever |= modified
            if not modified:
                return ever

    def _reassign_one(self, partition: TopicPartition) -> bool:
        consumer = self._owner[partition]
        load = len(self._current[consumer])
        previous = self._previous.get(partition)
        if previous is not None and previous in self._current and load > len(self._current[previous]) + 1:
            self._move(partition, previous)
            return True
        if any(
            load > len(self._current[other]) + 1 for other in self._consumers[partition.topic] if other in self._current
        ):
            target = next(c for _, c in self._by_load if partition.topic in self._members[c].topics)
            self._move(partition, target)
            return True
        return False

    def _move(self, partition: TopicPartition, to: str) -> None:
        partition = self._movements.actual_partition(partition, self._owner[partition], to)
        consumer = self._owner[partition]
        self._unlist(consumer)
        self._unlist(to)
        self._movements.move(partition, consumer, to)
        self._current[consumer].remove(partition)
        self._current[to].append(partition)
        self._owner[partition] = to
        self._list(to)
        self._list(consumer)

    def _is_balanced(self) -> bool:
        """Return whether no member could get a partition of one that has at least two more."""
        if not self._by_load or self._by_load[0][0] >= self._by_load[-1][0] - 1:
            return True
        for load, consumer in self._by_load:
            if load == self._most(consumer):
                continue
            for topic in self._topics[consumer]:
                for partition in self._table.topics[topic]:
                    owner = self._owner[partition]
                    if owner != consumer and owner in self._current and load + 1 < len(self._current[owner]):
                        return False
        return True

    def _unlist(self, consumer: str) -> None:
        entry = (len(self._current[consumer]), consumer)
        del self._by_load[bisect_left(self._by_load, entry)]

    def _list(self, consumer: str) -> None:
        insort(self._by_load, (len(self._current[consumer]), consumer))


def _previous_owners(members: list[Member], max_generation: int) -> dict[TopicPartition, str]:
    """Return each partition's owner in an older generation; the partition may move back to it."""
    newest: dict[TopicPartition, tuple[int, str]] = {}
    for member in members:
        generation = DEFAULT_GENERATION if member.generation is None else member.generation
        if generation >= max_generation:
            continue
        for partition in member.owned:
            if partition not in newest or generation > newest[partition][0]:
                newest[partition] = (generation, member.id)
    return {partition: consumer for partition, (_, consumer) in newest.items()}


def _score(assignment: _Assignment) -> int:
    """Return the sum of the members' load differences; 0 is perfectly balanced."""
    return sum(abs(one - other) for one, other in combinations(map(len, assignment.values()), 2))
