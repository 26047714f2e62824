"""Options of a foreign-key join of two tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.options.produced import StreamPartitioner

K = TypeVar("K")
KO = TypeVar("KO")


@dataclass(frozen=True, slots=True)
class TableJoined(Generic[K, KO]):
    """Options of a foreign-key join of two tables. Immutable: each `with_…` returns a new object.

    Attributes:
        partitioner: The partitioner of the left table's topic; None: by the key.
        other_partitioner: The partitioner of the right table's topic; None: by the key.
        name: Name of the nodes and the two internal topics; None: generated.

    Example:
        >>> TableJoined.as_("order-customer").name
        'order-customer'
    """

    partitioner: StreamPartitioner | None = None
    other_partitioner: StreamPartitioner | None = None
    name: str | None = None

    @staticmethod
    def with_(
        partitioner: StreamPartitioner | None = None, other_partitioner: StreamPartitioner | None = None
    ) -> TableJoined[Any, Any]:
        """See the attributes. Partitioners are called with None for the value.

        Args:
            partitioner: Function that returns a partition. None: by the key.
            other_partitioner: The other side's partitioner. None: by the key.
        """
        return TableJoined(partitioner, other_partitioner)

    @staticmethod
    def as_(name: str) -> TableJoined[Any, Any]:
        """A join with a name of its own.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return TableJoined(name=name)

    def with_partitioner(self, partitioner: StreamPartitioner) -> TableJoined[K, KO]:
        """Return a copy with another partitioning of the left table.

        Args:
            partitioner: Function that returns a partition. None: by the key.
        """
        return replace(self, partitioner=partitioner)

    def with_other_partitioner(self, partitioner: StreamPartitioner) -> TableJoined[K, KO]:
        """Return a copy with another partitioning of the right table.

        Args:
            partitioner: Function that returns a partition. None: by the key.
        """
        return replace(self, other_partitioner=partitioner)

    def with_name(self, name: str | None) -> TableJoined[K, KO]:
        """Return a copy with a name for the join.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)
