"""The names of partitions."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """The name of a partition; a tuple, which hashes and compares fast."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
