"""The module in which kafka-python 2 has `NewPartitions`."""

from kafkapy.admin.topics import NewPartitions

__all__ = ["NewPartitions"]
