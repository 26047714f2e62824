"""A store's position in its input (Kafka's `Position`, `PositionBound`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Position:
    """Offsets of the last records processed into a store, by topic and partition. Immutable: methods return new
    objects.

    Args:
        offsets: By topic, then by partition.

    Example:
        >>> Position.empty().with_component("lines", 0, 41)
        Position{position={lines={0=41}}}
    """

    offsets: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    @classmethod
    def empty(cls) -> Position:
        """Return an empty position."""
        return cls({})

    @classmethod
    def from_map(cls, offsets: Mapping[str, Mapping[int, int]]) -> Position:
        """Return the position of a map, which is copied.

        Args:
            offsets: By topic, then by partition.
        """
        return cls({topic: dict(partitions) for topic, partitions in offsets.items()})

    def with_component(self, topic: str, partition: int, offset: int) -> Position:
        """Return a copy with one more offset, unless it has a higher one for the partition.

        Args:
            topic: The topic.
            partition: The number of the partition.
            offset: The offset.
        """
        return self.merge(Position({topic: {partition: offset}}))

    def merge(self, other: Position) -> Position:
        """Return the higher offset of both for each partition.

        Args:
            other: The other position.
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
        """Return whether the position has reached the bound in this partition of each of the bound's topics that have
        it.

        Args:
            bound: The minimum offsets.
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
    """The minimum position of a store for a query.

    Args:
        position: The minimum offsets; empty: no bound.

    Example:
        >>> PositionBound.unbounded().is_unbounded
        True
    """

    position: Position

    @classmethod
    def unbounded(cls) -> PositionBound:
        """Return a bound that every store satisfies."""
        return cls(Position.empty())

    @classmethod
    def at(cls, position: Position) -> PositionBound:
        """Return a bound with this minimum position.

        Args:
            position: For example `StateQueryResult.position` of an earlier query.
        """
        return cls(position)

    @property
    def is_unbounded(self) -> bool:
        """Return whether every store satisfies the bound."""
        return not self.position.offsets

    def __repr__(self) -> str:
        return "PositionBound{unbounded}" if self.is_unbounded else f"PositionBound{{position={self.position}}}"


def position_of(offsets: Mapping[Any, int]) -> Position:
    """Return the position of offsets by (topic, partition)."""
    found: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[partition] = offset
    return Position(found)
