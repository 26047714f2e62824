"""Assigns each topic's partitions in contiguous ranges, one for each member (Kafka's `RangeAssignor`, with racks:
KIP-881)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import BuiltinAssignor, Member, PartitionTable, use_racks

_Assignment = dict[str, list[TopicPartition]]


class RangePartitionAssignor(BuiltinAssignor):
    """Assigns a contiguous range of each topic to each member; the first members get one more if the numbers don't
    divide.

    If the assignment is rack-aware (`use_racks`), a member first gets partitions with a replica in its rack; topics
    with the same members and the
    same number of partitions keep the same ranges, so that joins by partition stay local.
    """

    name = "range"

    def assign_partitions(self, table: PartitionTable, members: list[Member]) -> _Assignment:
        topics = [
            _Topic(topic, partitions, [m for m in members if topic in m.topics], table.racks)
            for topic, partitions in table.topics.items()
        ]
        assignment: _Assignment = {member.id: [] for member in members}
        by_rack = any(topic.needs_racks for topic in topics)
        if by_rack:
            _assign_by_rack(topics, assignment)
        for topic in topics:
            topic.assign_ranges(assignment, lambda member, partition: True)
        if by_rack:
            for assigned in assignment.values():
                assigned.sort()
        return assignment


class _Topic:
    """One topic during the assignment: its unassigned partitions, and how many more each member may get."""

    def __init__(
        self,
        name: str,
        partitions: list[TopicPartition],
        members: list[Member],
        racks: dict[TopicPartition, frozenset[str]],
    ) -> None:
        self.name = name
        self.count = len(partitions)
        self.members = {m.id: m.rack for m in sorted(members, key=lambda member: member.order)}
        self.unassigned = dict.fromkeys(partitions)
        self._assigned = dict.fromkeys(self.members, 0)
        self._share, self._extra = divmod(len(partitions), len(members))
        consumer_racks = {rack for rack in self.members.values() if rack}
        self.racks = {p: racks.get(p, frozenset()) for p in partitions} if consumer_racks else {}
        self.needs_racks = use_racks(consumer_racks, self.racks.values())

    def racks_match(self, member: str, partition: TopicPartition) -> bool:
        rack = self.members[member]
        return rack is None or rack in self.racks.get(partition, ())

    def assignable(self, member: str) -> int:
        return max(0, self._share + (self._extra > 0) - self._assigned[member])

    def assign(self, assignment: _Assignment, member: str, partitions: list[TopicPartition]) -> None:
        assignment[member] += partitions
        self._assigned[member] += len(partitions)
        if self._assigned[member] > self._share:
            self._extra -= 1
        for partition in partitions:
            del self.unassigned[partition]

    def assign_ranges(self, assignment: _Assignment, allowed: Callable[[str, TopicPartition], bool]) -> None:
        for member in self.members:
            wanted = (partition for partition in self.unassigned if allowed(member, partition))
            partitions = list(islice(wanted, self.assignable(member)))
            if partitions:
                self.assign(assignment, member, partitions)


def _assign_by_rack(topics: list[_Topic], assignment: _Assignment) -> None:
    alike: dict[tuple[tuple[tuple[str, str | None], ...], int], list[_Topic]] = {}
    for topic in topics:
        alike.setdefault((tuple(topic.members.items()), len(topic.racks)), []).append(topic)
    for (_, count), group in alike.items():
        if len(group) > 1:
            _assign_together(group, count, assignment)
        elif group[0].needs_racks:
            group[0].assign_ranges(assignment, group[0].racks_match)


def _assign_together(topics: list[_Topic], count: int, assignment: _Assignment) -> None:
    """Assign the same partition number of all topics to one member."""
    remaining = list(topics[0].members)
    for number in range(count):
        for member in remaining:
            if all(t.racks_match(member, TopicPartition(t.name, number)) and t.assignable(member) for t in topics):
                for topic in topics:
                    topic.assign(assignment, member, [TopicPartition(topic.name, number)])
                if not any(topic.assignable(member) for topic in topics):
                    remaining.remove(member)
                break
