"""Assigns partitions to members of a group: Kafka's assignors, with the same results, and the base class for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.consumer.assignors.abstract import AbstractPartitionAssignor as AbstractPartitionAssignor
    from kafkapy.consumer.assignors.abstract import RebalanceProtocol as RebalanceProtocol
    from kafkapy.consumer.assignors.range import RangePartitionAssignor as RangePartitionAssignor
    from kafkapy.consumer.assignors.roundrobin import RoundRobinPartitionAssignor as RoundRobinPartitionAssignor
    from kafkapy.consumer.assignors.sticky import CooperativeStickyAssignor as CooperativeStickyAssignor
    from kafkapy.consumer.assignors.sticky import StickyPartitionAssignor as StickyPartitionAssignor
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "abstract": "AbstractPartitionAssignor RebalanceProtocol",
            "range": "RangePartitionAssignor",
            "roundrobin": "RoundRobinPartitionAssignor",
            "sticky": "CooperativeStickyAssignor StickyPartitionAssignor",
        },
    )
