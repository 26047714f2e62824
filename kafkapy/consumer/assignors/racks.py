"""Which consumers share a rack with which partitions, for the sticky assignors (KIP-881)."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import Member, PartitionTable, use_racks


class RackInfo:
    """Invariant: if the assignment is not rack-aware, `consumer_racks` and `partition_racks` are empty and nothing
    mismatches."""

    def __init__(self, table: PartitionTable, members: list[Member]) -> None:
        consumer_racks = {member.id: member.rack for member in members if member.rack}
        racks = list(consumer_racks.values())
        partition_racks = table.racks if consumer_racks else {}
        self._consumers_near = {p: sum(map(racks.count, near)) for p, near in partition_racks.items()}
        matter = bool(racks) and use_racks(racks, partition_racks.values())
        self.consumer_racks: dict[str, str] = consumer_racks if matter else {}
        self.partition_racks = partition_racks if matter else {}

    def mismatch(self, consumer: str, partition: TopicPartition) -> bool:
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack not in self.partition_racks.get(partition, ())

    def rarest_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Sort partitions by their number of consumers in a replica's rack, fewest first; ties keep the given
        order."""
        return sorted(partitions, key=lambda partition: self._consumers_near.get(partition, 0))

    def next_near(self, partition: TopicPartition, consumers: list[str], first: int) -> int | None:
        """Return the index of the next consumer in a rack of the partition, circularly from `first`."""
        racks = self.partition_racks.get(partition)
        if not racks:
            return None
        for step in range(len(consumers)):
            index = (first + step) % len(consumers)
            if self.consumer_racks.get(consumers[index]) in racks:
                return index
        return None
