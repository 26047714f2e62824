"""Options of a repartition topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.options.produced import StreamPartitioner
from kafkapy.streams.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Repartitioned(Generic[K, V]):
    """Options of a stream's repartition topic. Immutable: each `with_…` returns a new object.

    Attributes:
        name: Name of the topic, before "-repartition"; None: generated.
        key_serde: None: `default.key.serde`.
        value_serde: None: the stream's.
        number_of_partitions: Number of the topic's partitions; None: that of the stream's source topics.
        stream_partitioner: None: by the key.

    Example:
        >>> Repartitioned.as_("spread").with_number_of_partitions(12).number_of_partitions
        12
    """

    name: str | None = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    number_of_partitions: int | None = None
    stream_partitioner: StreamPartitioner | None = None

    @staticmethod
    def with_(key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None) -> Repartitioned[Any, Any]:
        """See the attributes.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return Repartitioned(None, key_serde, value_serde)

    @staticmethod
    def as_(name: str) -> Repartitioned[Any, Any]:
        """A topic with a name of its own.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return Repartitioned(name)

    def with_key_serde(self, serde: Serde[Any] | None) -> Repartitioned[K, V]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> Repartitioned[K, V]:
        """Return a copy with another serde of values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_number_of_partitions(self, number: int) -> Repartitioned[K, V]:
        """Return a copy with a count of partitions.

        Args:
            number: Number of partitions, from 1.
        """
        return replace(self, number_of_partitions=number)

    def with_stream_partitioner(self, partitioner: Callable[[str, K, V, int], int | None]) -> Repartitioned[K, V]:
        """Return a copy with another partitioner.

        Args:
            partitioner: Function that returns a partition. None: by the key.
        """
        return replace(self, stream_partitioner=partitioner)

    def with_name(self, name: str | None) -> Repartitioned[K, V]:
        """Return a copy with a name for the topic.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)
