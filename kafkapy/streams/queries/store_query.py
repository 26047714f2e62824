"""Which store a question is about, and what it is read as (Kafka's `StoreQueryParameters`, `QueryableStoreTypes`)."""

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
    """What a store is read as.

    Args:
        name: As errors name it.
        accepted: The class that a store must have.
        view: What a question gets.
        plain: Whether the times are left out that a store keeps beside its values.

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
        """Whether a store can be read so.

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
    """What a question is about.

    Args:
        store_name: The store.
        type: What it is read as; None: by its class, values without times.
        partition: One of its partitions; None: all that this instance has.
        stale_stores_enabled: Whether copies, and stores that are being restored, answer too.

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
        """All partitions of a store.

        Args:
            store_name: The store.
            type: What it is read as.
        """
        return cls(store_name, type)

    def with_partition(self, partition: int) -> StoreQueryParameters:
        """One partition alone.

        Args:
            partition: The partition.
        """
        return replace(self, partition=partition)

    def enable_stale_stores(self) -> StoreQueryParameters:
        """Copies, and stores that are being restored, answer too."""
        return replace(self, stale_stores_enabled=True)


def type_of(store: Any) -> QueryableStoreType:
    """What a store is read as if the question does not say.

    Raises:
        TypeError: It cannot be read: a versioned store.
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
