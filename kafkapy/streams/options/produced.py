"""Options of a sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")

StreamPartitioner = Callable[[str, Any, Any, int], int | None]
"""Takes topic, key, value and number of partitions; returns the record's partition. None: the producer chooses."""


@dataclass(frozen=True, slots=True)
class Produced(Generic[K, V]):
    """Options of a sink. Immutable: each `with_…` returns a new object.

    Attributes:
        key_serde: None: the stream's.
        value_serde: None: the stream's.
        stream_partitioner: None: by the key as the producer does; a windowed key by the key without its window.
        name: Name of the sink's node; None: generated.

    Example:
        >>> Produced.as_("out").with_stream_partitioner(lambda topic, key, value, partitions: 0).name
        'out'
    """

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    stream_partitioner: StreamPartitioner | None = None
    name: str | None = None

    @staticmethod
    def with_(
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        stream_partitioner: StreamPartitioner | None = None,
    ) -> Produced[Any, Any]:
        """See the attributes.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
            stream_partitioner: Function of topic, key, value and number of partitions; returns a partition. None: by the key.
        """
        return Produced(key_serde, value_serde, stream_partitioner)

    @staticmethod
    def as_(name: str) -> Produced[Any, Any]:
        """A sink with a name of its own.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return Produced(name=name)

    def with_key_serde(self, serde: Serde[Any] | None) -> Produced[K, V]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> Produced[K, V]:
        """Return a copy with another serde of values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_stream_partitioner(self, partitioner: Callable[[str, K, V, int], int | None] | None) -> Produced[K, V]:
        """Return a copy with another partitioner.

        Args:
            partitioner: Function that returns a partition. None: by the key.
        """
        return replace(self, stream_partitioner=partitioner)

    def with_name(self, name: str | None) -> Produced[K, V]:
        """Return a copy with a name for the sink's node.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)
