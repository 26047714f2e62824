"""The types of stores for the DSL's tables: RocksDB or memory (Kafka's `BuiltInDslStoreSuppliers`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.state.store_suppliers import (
    RocksDbIndexedTimeOrderedWindowBytesStoreSupplier,
    RocksDbTimeOrderedSessionBytesStoreSupplier,
)
from kafkapy.streams.state.stores import Stores


class DslStores(Protocol):
    """Suppliers of the stores that operators need; `dsl.store.suppliers.class` may name your own subclass."""

    def key_value_store(self, name: str, *, timestamped: bool) -> Any:
        """Return a supplier of a store of values by key."""

    def window_store(
        self,
        name: str,
        retention_ms: int,
        size_ms: int,
        *,
        retain_duplicates: bool,
        emit_strategy: EmitStrategy,
        sliding: bool,
        timestamped: bool,
    ) -> Any:
        """Return a supplier of a store of values by key and window."""

    def session_store(self, name: str, retention_ms: int, *, emit_strategy: EmitStrategy) -> Any:
        """Return a supplier of a store of aggregates by key and session."""


class RocksDBDslStores:
    """Stores on disk."""

    def key_value_store(self, name: str, *, timestamped: bool) -> Any:
        if timestamped:
            return Stores.persistent_timestamped_key_value_store(name)
        return Stores.persistent_key_value_store(name)

    def window_store(
        self,
        name: str,
        retention_ms: int,
        size_ms: int,
        *,
        retain_duplicates: bool,
        emit_strategy: EmitStrategy,
        sliding: bool,
        timestamped: bool,
    ) -> Any:
        if emit_strategy.emits_on_close:
            return RocksDbIndexedTimeOrderedWindowBytesStoreSupplier.create(
                name, retention_ms, size_ms, retain_duplicates, sliding
            )
        if timestamped:
            return Stores.persistent_timestamped_window_store(name, retention_ms, size_ms, retain_duplicates)
        return Stores.persistent_window_store(name, retention_ms, size_ms, retain_duplicates)

    def session_store(self, name: str, retention_ms: int, *, emit_strategy: EmitStrategy) -> Any:
        if emit_strategy.emits_on_close:
            return RocksDbTimeOrderedSessionBytesStoreSupplier(name, retention_ms, True)
        return Stores.persistent_session_store(name, retention_ms)


class InMemoryDslStores:
    """Stores in memory."""

    def key_value_store(self, name: str, *, timestamped: bool) -> Any:
        return Stores.in_memory_key_value_store(name)

    def window_store(
        self,
        name: str,
        retention_ms: int,
        size_ms: int,
        *,
        retain_duplicates: bool,
        emit_strategy: EmitStrategy,
        sliding: bool,
        timestamped: bool,
    ) -> Any:
        return Stores.in_memory_window_store(name, retention_ms, size_ms, retain_duplicates)

    def session_store(self, name: str, retention_ms: int, *, emit_strategy: EmitStrategy) -> Any:
        return Stores.in_memory_session_store(name, retention_ms)


def dsl_stores(store_type: StoreType | None, config: Mapping[str, Any]) -> DslStores:
    """Return the suppliers for a store.

    Args:
        store_type: The type set for the operator or the whole topology; None: not set.
        config: The application's configuration. Without a type its `dsl.store.suppliers.class` applies, a class
            without arguments or a `StoreType`; `default.dsl.store` applies only in the configuration of
            `StreamsBuilder`, as in Kafka.
    """
    if store_type is None:
        given = config.get("dsl.store.suppliers.class")
        if isinstance(given, StoreType):
            store_type = given
        elif given is not None:
            stores: DslStores = given()
            return stores
    return InMemoryDslStores() if store_type is StoreType.IN_MEMORY else RocksDBDslStores()
