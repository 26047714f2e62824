"""Which partition a record goes to (kafka-python's `kafka.partitioner`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.partitioner.abc import Partitioner
    from kafkapy.partitioner.default import DefaultPartitioner
    from kafkapy.partitioner.hashing import murmur2
    from kafkapy.partitioner.sticky import StickyPartitioner

_HOMES = {"Partitioner": "abc", "DefaultPartitioner": "default", "murmur2": "hashing", "StickyPartitioner": "sticky"}

__all__ = ["DefaultPartitioner", "Partitioner", "StickyPartitioner", "murmur2"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
