"""Assigns all partitions in order to all members, round robin (Kafka's `RoundRobinAssignor`)."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import BuiltinAssignor, Member, PartitionTable


class RoundRobinPartitionAssignor(BuiltinAssignor):
    """Assigns round robin; a member that does not subscribe to a topic is skipped for its partitions."""

    name = "roundrobin"

    def assign_partitions(self, table: PartitionTable, members: list[Member]) -> dict[str, list[TopicPartition]]:
        assignment: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
        turn = sorted(members, key=lambda member: member.order)
        position = 0
        for partition in table.partitions:
            while partition.topic not in turn[position % len(turn)].topics:
                position += 1
            assignment[turn[position % len(turn)].id].append(partition)
            position += 1
        return assignment
