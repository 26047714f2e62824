"""The store and the view for a query (Kafka's `StoreQueryParameters`, `QueryableStoreTypes`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kafkapy.streams.queries.read_only_stores import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
)
from kafkapy.streams.state.state_store import (
    KeyValueStore,
    SessionStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    WindowStore,
)


@dataclass(frozen=True)
class QueryableStoreType:
    """The type of a store's read-only view.

    Args:
        name: Name in errors.
        accepted: The required class of the store.
        view: The class of the view.
        plain: Whether timestamps of values are omitted.

    Example:
        >>> from kafkapy.streams import QueryableStoreTypes, StoreQueryParameters
        >>> query = StoreQueryParameters.from_name_and_type("counts", QueryableStoreTypes.key_value_store())
        >>> query.store_name
        'counts'
    """

    name: str
    accepted: type[Any]
    view: type[Any]
    plain: bool

    def accepts(self, store: Any) -> bool:
        """Return whether a store supports this type.

        Args:
            store: Name of the store.
        """
        return isinstance(store, self.accepted)


class QueryableStoreTypes:
    """The types there are.

    Example:
        >>> from kafkapy.streams import QueryableStoreTypes, StoreQueryParameters
        >>> query = StoreQueryParameters.from_name_and_type("counts", QueryableStoreTypes.key_value_store())
        >>> query.store_name
        'counts'
    """

    @staticmethod
    def key_value_store() -> QueryableStoreType:
        """A key-value store; values without times."""
        return QueryableStoreType("KeyValueStoreType", KeyValueStore, ReadOnlyKeyValueStore, True)

    @staticmethod
    def timestamped_key_value_store() -> QueryableStoreType:
        """A key-value store whose values are `ValueAndTimestamp`."""
        return QueryableStoreType(
            "TimestampedKeyValueStoreType", TimestampedKeyValueStore, ReadOnlyKeyValueStore, False
        )

    @staticmethod
    def window_store() -> QueryableStoreType:
        """A window store; values without times."""
        return QueryableStoreType("WindowStoreType", WindowStore, ReadOnlyWindowStore, True)

    @staticmethod
    def timestamped_window_store() -> QueryableStoreType:
        """A window store whose values are `ValueAndTimestamp`."""
        return QueryableStoreType("TimestampedWindowStoreType", TimestampedWindowStore, ReadOnlyWindowStore, False)

    @staticmethod
    def session_store() -> QueryableStoreType:
        """A session store."""
        return QueryableStoreType("SessionStoreType", SessionStore, ReadOnlySessionStore, True)


@dataclass(frozen=True)
class StoreQueryParameters:
    """The parameters of `KafkaStreams.store`.

    Args:
        store_name: The store.
        type: The view's type; None: that of the store's class, values without timestamps.
        partition: One of its partitions; None: all that this instance has.
        stale_stores_enabled: Whether standby replicas, and stores that are being restored, are included.

    Example:
        >>> parameters = StoreQueryParameters.from_name_and_type("counts", QueryableStoreTypes.key_value_store())
        >>> parameters.with_partition(2).enable_stale_stores().stale_stores_enabled
        True
    """

    store_name: str
    type: QueryableStoreType | None = None
    partition: int | None = None
    stale_stores_enabled: bool = False

    @classmethod
    def from_name_and_type(cls, store_name: str, type: QueryableStoreType) -> StoreQueryParameters:
        """Return parameters for all partitions of a store.

        Args:
            store_name: The store.
            type: The view's type.
        """
        return cls(store_name, type)

    def with_partition(self, partition: int) -> StoreQueryParameters:
        """Return a copy for one partition.

        Args:
            partition: The partition.
        """
        return replace(self, partition=partition)

    def enable_stale_stores(self) -> StoreQueryParameters:
        """Return a copy that includes standby replicas, and stores that are being restored."""
        return replace(self, stale_stores_enabled=True)


def type_of(store: Any) -> QueryableStoreType:
    """Return the default type of a store's view.

    Raises:
        TypeError: The store has no view: it is versioned.
    """
    for type in (
        QueryableStoreTypes.key_value_store(),
        QueryableStoreTypes.window_store(),
        QueryableStoreTypes.session_store(),
    ):
        if type.accepts(store):
            return type
    raise TypeError(
        f"Store {store.name()} cannot be queried: it is neither a key-value, nor a window, nor a session store"
    )
