"""Partitioners choose the partition of a record (kafka-python's `kafka.partitioner`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.partitioner.abc import Partitioner as Partitioner
    from kafkapy.partitioner.default import DefaultPartitioner as DefaultPartitioner
    from kafkapy.partitioner.hashing import murmur2 as murmur2
    from kafkapy.partitioner.sticky import StickyPartitioner as StickyPartitioner
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "abc": "Partitioner",
            "default": "DefaultPartitioner",
            "hashing": "murmur2",
            "sticky": "StickyPartitioner",
        },
    )
