"""Options of a join of two streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")
VO = TypeVar("VO")


@dataclass(frozen=True, slots=True)
class StreamJoined(Generic[K, V, VO]):
    """Options of a join of two streams. Immutable: each `with_…` returns a new object.

    Attributes:
        key_serde: None: `default.key.serde`.
        value_serde: Serde of this stream's values; None: `default.value.serde`.
        other_value_serde: Serde of the other stream's values; None: `default.value.serde`.
        store_type: Type of the join's stores; None: the application's.
        this_store_supplier: Supplier of the window store for this stream's records; None: one of `store_type`.
        other_store_supplier: Supplier of the window store for the other's; None: one of `store_type`.
        name: Name of the join's nodes, and of repartition topics if any are needed; None: generated.
        store_name: Prefix of the names of the stores; None: generated.
        logging_enabled: Whether the stores have changelog topics.
        log_config: Configs of the changelog topics.

    Example:
        >>> StreamJoined.as_("clicks-views").with_logging_disabled().logging_enabled
        False
    """

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    other_value_serde: Serde[Any] | None = None
    store_type: StoreType | None = None
    this_store_supplier: Any = None
    other_store_supplier: Any = None
    name: str | None = None
    store_name: str | None = None
    logging_enabled: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def with_(
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        other_value_serde: Serde[Any] | None = None,
    ) -> StreamJoined[Any, Any, Any]:
        """See the attributes.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
            other_value_serde: Serde of the other side's values. None: the default serde.
        """
        return StreamJoined(key_serde, value_serde, other_value_serde)

    @staticmethod
    def as_(store_name: str) -> StreamJoined[Any, Any, Any]:
        """A join with names for its stores, and thereby for their changelog topics.

        Args:
            store_name: Name of the stores. None: generated ones.
        """
        return StreamJoined(store_name=store_name)

    def with_key_serde(self, serde: Serde[Any] | None) -> StreamJoined[K, V, VO]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> StreamJoined[K, V, VO]:
        """Return a copy with another serde of this stream's values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_other_value_serde(self, serde: Serde[Any] | None) -> StreamJoined[K, V, VO]:
        """Return a copy with another serde of the other stream's values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, other_value_serde=serde)

    def with_name(self, name: str | None) -> StreamJoined[K, V, VO]:
        """Return a copy with a name for the join's nodes.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)

    def with_store_name(self, store_name: str | None) -> StreamJoined[K, V, VO]:
        """Return a copy with a name for the join's stores.

        Args:
            store_name: Name of the stores. None: generated ones.
        """
        return replace(self, store_name=store_name)

    def with_dsl_store_suppliers(self, store_type: StoreType) -> StreamJoined[K, V, VO]:
        """Return a copy with another type of stores.

        Args:
            store_type: In memory or persistent.
        """
        return replace(self, store_type=store_type)

    def with_this_store_supplier(self, supplier: Any) -> StreamJoined[K, V, VO]:
        """Return a copy with a window store for this stream's records.

        Args:
            supplier: It must retain duplicates, and have the join's window size, and size plus grace period as
                retention.
        """
        return replace(self, this_store_supplier=supplier)

    def with_other_store_supplier(self, supplier: Any) -> StreamJoined[K, V, VO]:
        """Return a copy with a window store for the other stream's records; see `with_this_store_supplier`.

        Args:
            supplier: A supplier of `Stores`.
        """
        return replace(self, other_store_supplier=supplier)

    def with_logging_enabled(self, config: Mapping[str, str]) -> StreamJoined[K, V, VO]:
        """Return a copy with changelog topics.

        Args:
            config: Configs of the topic, in addition to Kafka's for changelogs.
        """
        return replace(self, logging_enabled=True, log_config=dict(config))

    def with_logging_disabled(self) -> StreamJoined[K, V, VO]:
        """Return a copy without changelog topics: stored records are lost when a task moves."""
        return replace(self, logging_enabled=False, log_config={})
