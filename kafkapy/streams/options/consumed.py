"""Options of a source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.offset_reset import AutoOffsetReset
from kafkapy.streams.serdes import Serde
from kafkapy.streams.timestamps import TimestampExtractor

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Consumed(Generic[K, V]):
    """Options of a source. Immutable: each `with_…` returns a new object.

    Attributes:
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.
        timestamp_extractor: None: `default.timestamp.extractor`.
        offset_reset_policy: None: `auto.offset.reset`.
        name: Name of the source's node; None: generated.

    Example:
        >>> from kafkapy.streams.serdes import Serdes
        >>> Consumed.with_(Serdes.string(), Serdes.long()).with_name("clicks").name
        'clicks'
    """

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset_policy: AutoOffsetReset | None = None
    name: str | None = None

    @staticmethod
    def with_(
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset_policy: AutoOffsetReset | None = None,
    ) -> Consumed[Any, Any]:
        """See the attributes.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
            timestamp_extractor: Reads the time of a record. None: the config `default.timestamp.extractor`.
            offset_reset_policy: Where to begin without a committed offset. None: the config `auto.offset.reset`.
        """
        return Consumed(key_serde, value_serde, timestamp_extractor, offset_reset_policy)

    @staticmethod
    def as_(name: str) -> Consumed[Any, Any]:
        """A source with a name of its own.

        Args:
            name: Name of the node, and of what belongs to it.
        """
        return Consumed(name=name)

    def with_key_serde(self, serde: Serde[Any] | None) -> Consumed[K, V]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> Consumed[K, V]:
        """Return a copy with another serde of values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_timestamp_extractor(self, extractor: TimestampExtractor | None) -> Consumed[K, V]:
        """Return a copy with another timestamp extractor.

        Args:
            extractor: Reads the time of a record. None: the config `default.timestamp.extractor`.
        """
        return replace(self, timestamp_extractor=extractor)

    def with_offset_reset_policy(self, policy: AutoOffsetReset | None) -> Consumed[K, V]:
        """Return a copy with another offset reset policy.

        Args:
            policy: Where to begin without a committed offset. None: the config `auto.offset.reset`.
        """
        return replace(self, offset_reset_policy=policy)

    def with_name(self, name: str | None) -> Consumed[K, V]:
        """Return a copy with a name for the source's node.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)
