"""The module in which kafka-python 2 has `NewTopic`."""

from kafkapy.admin.topics import NewTopic

__all__ = ["NewTopic"]
