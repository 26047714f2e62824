"""Options of a table's store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from kafkapy.streams.options.checks import required
from kafkapy.streams.options.named import validate_name
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.serdes import Serde

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Materialized(Generic[K, V]):
    """Options of a table's store. Immutable: each `with_…` returns a new object.

    Attributes:
        store_name: The name for queries, which is part of the changelog topic's name; None: generated.
        store_supplier: Supplier of a custom store; None: one of `store_type`.
        store_type: None: the application's.
        key_serde: None: that of the parent stream or table, or `default.key.serde`.
        value_serde: None: that of the parent if known, or `default.value.serde`.
        logging_enabled: Whether the store has a changelog topic.
        log_config: Configs of the changelog topic.
        caching_enabled: Whether updates of a key are buffered and merged.
        retention_ms: Retention of a window or session store, ms; None: no longer than needed.

    Example:
        >>> Materialized.as_("counts").with_caching_disabled().store_name
        'counts'
    """

    store_name: str | None = None
    store_supplier: Any = None
    store_type: StoreType | None = None
    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    logging_enabled: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)
    caching_enabled: bool = True
    retention_ms: int | None = None

    @staticmethod
    def as_(store: str | StoreType | Any) -> Materialized[Any, Any]:
        """A store by its name, its type or its supplier.

        Args:
            store: A name, a `StoreType`, or a supplier of `Stores`.

        Raises:
            TopologyException: The name is not valid for a topic.
            TypeError: The argument is None.
        """
        required(store, "store")
        if isinstance(store, str):
            return Materialized(store_name=validate_name(store))
        if isinstance(store, StoreType):
            return Materialized(store_type=store)
        return Materialized(store_supplier=store)

    @staticmethod
    def with_(key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None) -> Materialized[Any, Any]:
        """A store with a generated name.

        Args:
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return Materialized(key_serde=key_serde, value_serde=value_serde)

    def with_store_type(self, store_type: StoreType) -> Materialized[K, V]:
        """Return a copy with another type of store.

        Args:
            store_type: In memory or persistent.

        Raises:
            ValueError: There is a store supplier, which determines the type.
        """
        required(store_type, "store_type")
        if self.store_supplier is not None:
            raise ValueError("Cannot set store type when store supplier is pre-configured.")
        return replace(self, store_type=store_type)

    def with_key_serde(self, serde: Serde[Any] | None) -> Materialized[K, V]:
        """Return a copy with another serde of keys.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, key_serde=serde)

    def with_value_serde(self, serde: Serde[Any] | None) -> Materialized[K, V]:
        """Return a copy with another serde of values.

        Args:
            serde: The serde. None: the default serde.
        """
        return replace(self, value_serde=serde)

    def with_caching_enabled(self) -> Materialized[K, V]:
        """Return a copy with a cache (the default)."""
        return replace(self, caching_enabled=True)

    def with_caching_disabled(self) -> Materialized[K, V]:
        """Return a copy without a cache: each update is forwarded."""
        return replace(self, caching_enabled=False)

    def with_logging_enabled(self, config: Mapping[str, str]) -> Materialized[K, V]:
        """Return a copy with a changelog topic (the default).

        Args:
            config: Configs of the topic, in addition to Kafka's for changelogs.
        """
        return replace(self, logging_enabled=True, log_config=dict(config))

    def with_logging_disabled(self) -> Materialized[K, V]:
        """Return a copy without a changelog topic: the table is lost when its task moves."""
        return replace(self, logging_enabled=False, log_config={})

    def with_retention(self, retention: Duration) -> Materialized[K, V]:
        """Return a copy with a longer retention of windows.

        Args:
            retention: ms or a timedelta; at least the window's size plus its grace period.

        Raises:
            ValueError: It is negative.
        """
        retention_ms = milliseconds(retention, "retention")
        if retention_ms < 0:
            raise ValueError("Retention must not be negative.")
        return replace(self, retention_ms=retention_ms)
