"""Options of a grouping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Grouped(Generic[K, V]):
    """Options of a grouping. Immutable: each `with_…` returns a new object.

    Attributes:
        name: Name of the repartition topic, if one is needed, and of the node that computes the new key; None:
            generated.
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.

    Example:
        >>> from kafkapy.streams.serdes import Serdes
        >>> Grouped.with_(Serdes.string(), Serdes.long()).with_name("by-user").name
        'by-user'
    """

    name: str | None = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None

    @staticmethod
    def with_(key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None) -> Grouped[Any, Any]:
        """See the attributes.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return Grouped(None, key_serde, value_serde)

    @staticmethod
    def as_(name: str) -> Grouped[Any, Any]:
        """A repartition topic with a name of its own.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return Grouped(name)

    def with_key_serde(self, serde: Serde[Any] | None) -> Grouped[K, V]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> Grouped[K, V]:
        """Return a copy with another serde of values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_name(self, name: str | None) -> Grouped[K, V]:
        """Return a copy with a name for the repartition topic.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)
