"""Getters of tables that have a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.streams.processors.key_value_store_wrapper import KeyValueStoreWrapper, key_value_store
from kafkapy.streams.processors.table import KTableValueGetter, KTableValueGetterSupplier
from kafkapy.streams.records import ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext


class KTableMaterializedValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters that read a store."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def __call__(self) -> KTableValueGetter:
        return KTableMaterializedValueGetter(self._store_name)

    def store_names(self) -> list[str]:
        return [self._store_name]


class KTableMaterializedValueGetter(KTableValueGetter):
    """Reads a timestamped or versioned store."""

    _store: KeyValueStoreWrapper

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        self._store = key_value_store(context, self._store_name)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._store.get(key)

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        return self._store.get_as_of(key, timestamp)

    def is_versioned(self) -> bool:
        return self._store.is_versioned()
