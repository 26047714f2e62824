"""Options of a join of a stream with a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
VO = TypeVar("VO")


@dataclass(frozen=True, slots=True)
class Joined(Generic[K, V, VO]):
    """Options of a join of a stream with a table. Immutable: each `with_…` returns a new object.

    Attributes:
        key_serde: None: the stream's.
        value_serde: Of the stream's values, if it is repartitioned; None: the stream's.
        other_value_serde: Of the table's values.
        name: Name of the join's node, and of the repartition topic if one is needed; None: generated.
        grace_ms: How long the stream's records are buffered for those of the versioned table, ms; None: they are not.

    Example:
        >>> from datetime import timedelta
        >>> Joined.as_("with-user").with_grace_period(timedelta(seconds=5)).grace_ms
        5000
    """

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    other_value_serde: Serde[Any] | None = None
    name: str | None = None
    grace_ms: int | None = None

    @staticmethod
    def with_(
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
    ) -> Joined[Any, Any, Any]:
        """See the attributes.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
            other_value_serde: Serde of the other side's values. None: the default serde.
        """
        return Joined(key_serde, value_serde, other_value_serde)

    @staticmethod
    def as_(name: str) -> Joined[Any, Any, Any]:
        """A join with a name of its own.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return Joined(name=name)

    def with_key_serde(self, serde: Serde[Any] | None) -> Joined[K, V, VO]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> Joined[K, V, VO]:
        """Return a copy with another serde of the stream's values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_other_value_serde(self, serde: Serde[Any] | None) -> Joined[K, V, VO]:
        """Return a copy with another serde of the table's values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, other_value_serde=serde)

    def with_name(self, name: str | None) -> Joined[K, V, VO]:
        """Return a copy with a name for the join's node.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)

    def with_grace_period(self, grace: Duration) -> Joined[K, V, VO]:
        """Return a copy with a buffer, which delays the stream's records by the grace period.

        Args:
            grace: ms or a timedelta; at most the table's history retention.
        """
        return replace(self, grace_ms=milliseconds(grace, "gracePeriod"))
