"""How much of its input a store has seen (Kafka's `Position`, `PositionBound`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Position:
    """Offsets of the last records that a store has seen, by topic and partition. Immutable: methods return new objects.

    Args:
        offsets: By topic, then by partition.

    Example:
        >>> Position.empty().with_component("lines", 0, 41)
        Position{position={lines={0=41}}}
    """

    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Position:
        """Nothing is seen."""
        return cls({})

    @classmethod
    def from_map(cls, offsets: Mapping[str, Mapping[int, int]]) -> Position:
        """A copy of a map.

        Args:
            offsets: By topic, then by partition.
        """
        return cls({topic: dict(partitions) for topic, partitions in offsets.items()})

    def with_component(self, topic: str, partition: int, offset: int) -> Position:
        """The same with one more offset, unless a higher one is there.

        Args:
            topic: The topic.
            partition: The number of the partition.
            offset: The offset.
        """
        return self.merge(Position({topic: {partition: offset}}))

    def merge(self, other: Position) -> Position:
        """The higher offset of both, for each partition.

        Args:
            other: The other one.
        """
        merged = {topic: dict(partitions) for topic, partitions in self.offsets.items()}
        for topic, partitions in other.offsets.items():
            of_topic = merged.setdefault(topic, {})
            for partition, offset in partitions.items():
                of_topic[partition] = max(offset, of_topic.get(partition, offset))
        return Position(merged)

    @property
    def topics(self) -> set[str]:
        """The topics."""
        return set(self.offsets)

    def partition_positions(self, topic: str) -> dict[int, int]:
        """The offsets of a topic, by partition.

        Args:
            topic: The topic.
        """
        return dict(self.offsets.get(topic, {}))

    def reaches(self, bound: Position, partition: int) -> bool:
        """Whether this partition of each topic is at least where the bound says; topics of the bound without it don't count.

        Args:
            bound: The least offsets.
            partition: The number of the partition.
        """
        return all(
            self.partition_positions(topic).get(partition, -1) >= partitions[partition]
            for topic, partitions in bound.offsets.items()
            if partition in partitions
        )

    def __repr__(self) -> str:
        topics = ", ".join(
            f"{topic}={{{', '.join(f'{partition}={offset}' for partition, offset in sorted(partitions.items()))}}}"
            for topic, partitions in sorted(self.offsets.items())
        )
        return f"Position{{position={{{topics}}}}}"


@dataclass(frozen=True)
class PositionBound:
    """What a store must have seen at least, to answer.

    Args:
        position: The offsets; empty: nothing.

    Example:
        >>> PositionBound.unbounded().is_unbounded
        True
    """

    position: Position

    @classmethod
    def unbounded(cls) -> PositionBound:
        """Any state of the store is good."""
        return cls(Position.empty())

    @classmethod
    def at(cls, position: Position) -> PositionBound:
        """At least this position.

        Args:
            position: As `StateQueryResult.position` of an earlier question, for example.
        """
        return cls(position)

    @property
    def is_unbounded(self) -> bool:
        """Whether any state is good."""
        return not self.position.offsets

    def __repr__(self) -> str:
        return "PositionBound{unbounded}" if self.is_unbounded else f"PositionBound{{position={self.position}}}"


def position_of(offsets: Mapping[Any, int]) -> Position:
    """A position of offsets by (topic, partition)."""
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[partition] = offset
    return Position(found)
