"""Who of a group gets which partitions: Kafka's assignors, with the same results, and the base for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.consumer.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
    from kafkapy.consumer.assignors.range import RangePartitionAssignor
    from kafkapy.consumer.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafkapy.consumer.assignors.sticky import CooperativeStickyAssignor, StickyPartitionAssignor

_HOMES = {
    "AbstractPartitionAssignor": "abstract",
    "RebalanceProtocol": "abstract",
    "RangePartitionAssignor": "range",
    "RoundRobinPartitionAssignor": "roundrobin",
    "CooperativeStickyAssignor": "sticky",
    "StickyPartitionAssignor": "sticky",
}

__all__ = [
    "AbstractPartitionAssignor",
    "CooperativeStickyAssignor",
    "RangePartitionAssignor",
    "RebalanceProtocol",
    "RoundRobinPartitionAssignor",
    "StickyPartitionAssignor",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
