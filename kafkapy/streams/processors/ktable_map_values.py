"""`KTable.map_values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.forwarder import TimestampedTupleForwarder, timestamped_forwarder
from kafkapy.streams.processors.key_value_store_wrapper import (
    PUT_RETURN_CODE_IS_LATEST,
    KeyValueStoreWrapper,
    key_value_store,
)
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.table import (
    KTableProcessorSupplier,
    KTableValueGetter,
    KTableValueGetterSupplier,
    ParentTable,
)
from kafkapy.streams.records import Change, Record, ValueAndTimestamp
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class KTableMapValues(KTableProcessorSupplier):
    """Maps the values of a table; None stays None.

    Attributes:
        mapper: Takes key and value; returns the new value.
        queryable_name: Name of its store; None: it has none.
        send_old_values: Whether updates contain the replaced value.
    """

    def __init__(self, parent: ParentTable, mapper: Callable[[Any, Any], Any], queryable_name: str | None) -> None:
        self._parent = parent
        self.mapper = mapper
        self.queryable_name = queryable_name
        self.send_old_values = False

    def __call__(self) -> Processor:
        return KTableMapValuesProcessor(self)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        if self.queryable_name is not None or self._parent.enable_sending_old_values(force_materialization):
            self.send_old_values = True
        return self.send_old_values

    def view(self) -> KTableValueGetterSupplier:
        if self.queryable_name is not None:
            return KTableMaterializedValueGetterSupplier(self.queryable_name)
        return KTableMapValuesValueGetterSupplier(self.mapper, self._parent.value_getter_supplier())


class KTableMapValuesProcessor(Processor):
    """Takes old values from the store, or maps those of the parent again."""

    _context: TaskContext
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KTableMapValues) -> None:
        self._mapper = supplier.mapper
        self._queryable_name = supplier.queryable_name
        self._send_old_values = supplier.send_old_values
        self._store: KeyValueStoreWrapper | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        if self._queryable_name is not None:
            self._store = key_value_store(context, self._queryable_name)
            self._forwarder = timestamped_forwarder(self._context, self._store.store, self._send_old_values)

    def process(self, record: Record[Any, Change]) -> None:
        key = record.key
        new, old, is_latest = record.value
        new = None if new is None else self._mapper(key, new)
        old = self._old_value(key, old) if self._send_old_values else None
        if self._store is None:
            self._context.forward(Record(key, Change(new, old, is_latest), record.timestamp, record.headers))
            return
        code = self._store.put(key, new, record.timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, new, old, is_latest, record.timestamp, record.headers)

    def _old_value(self, key: Any, old_of_parent: Any) -> Any:
        if self._store is None:
            return None if old_of_parent is None else self._mapper(key, old_of_parent)
        stored = self._store.get(key)
        return None if stored is None else stored.value


class KTableMapValuesValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters for a table without a store."""

    def __init__(self, mapper: Callable[[Any, Any], Any], parent: KTableValueGetterSupplier) -> None:
        self._mapper = mapper
        self._parent = parent

    def __call__(self) -> KTableValueGetter:
        return KTableMapValuesValueGetter(self._mapper, self._parent())

    def store_names(self) -> list[str]:
        return self._parent.store_names()


class KTableMapValuesValueGetter(KTableValueGetter):
    """Reads the parent's value and maps it."""

    def __init__(self, mapper: Callable[[Any, Any], Any], parent: KTableValueGetter) -> None:
        self._mapper = mapper
        self._parent = parent

    def init(self, context: TaskContext) -> None:
        self._parent.init(context)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._mapped(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        return self._mapped(key, self._parent.get_as_of(key, timestamp))

    def is_versioned(self) -> bool:
        return self._parent.is_versioned()

    def close(self) -> None:
        self._parent.close()

    def _mapped(self, key: Any, found: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        if found is None:
            return None
        value = self._mapper(key, found.value)
        return None if value is None else ValueAndTimestamp(value, found.timestamp)
