"""The names of partitions."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """The name of a partition; a tuple, which hashes and compares fast.

    Attributes:
        topic: Name of the topic.
        partition: Partition number, from 0.

    Example:
        >>> partition = TopicPartition("clicks", 3)
        >>> partition.topic, str(partition)
        ('clicks', 'clicks-3')
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
