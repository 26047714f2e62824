"""Who of a group gets which partitions: Kafka's assignors, with the same results, and the base for others."""

from kafkapy.consumer.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafkapy.consumer.assignors.range import RangePartitionAssignor
from kafkapy.consumer.assignors.roundrobin import RoundRobinPartitionAssignor
from kafkapy.consumer.assignors.sticky import CooperativeStickyAssignor, StickyPartitionAssignor

__all__ = [
    "AbstractPartitionAssignor",
    "CooperativeStickyAssignor",
    "RangePartitionAssignor",
    "RebalanceProtocol",
    "RoundRobinPartitionAssignor",
    "StickyPartitionAssignor",
]
