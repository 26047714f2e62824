"""Which partition a record goes to (kafka-python's `kafka.partitioner`)."""

from kafkapy.partitioner.abc import Partitioner
from kafkapy.partitioner.default import DefaultPartitioner
from kafkapy.partitioner.murmur2 import murmur2
from kafkapy.partitioner.sticky import StickyPartitioner

__all__ = ["DefaultPartitioner", "Partitioner", "StickyPartitioner", "murmur2"]
