"""`KTable.filter` and `filter_not`."""

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


class KTableFilter(KTableProcessorSupplier):
    """Filters a table; an update to a value that does not match is a deletion.

    Attributes:
        queryable_name: Name of its store; None: it has none.
        send_old_values: Whether updates contain the replaced value.
        use_versioned_semantics: Whether the parent is versioned, so that updates without effect are forwarded, too.
    """

    def __init__(
        self, parent: ParentTable, predicate: Callable[[Any, Any], Any], filter_not: bool, queryable_name: str | None
    ) -> None:
        self._parent = parent
        self._predicate = predicate
        self._filter_not = filter_not
        self.queryable_name = queryable_name
        self.send_old_values = parent.enable_sending_old_values(False)
        self.use_versioned_semantics = False

    def __call__(self) -> Processor:
        return KTableFilterProcessor(self)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        if self.queryable_name is not None or self._parent.enable_sending_old_values(force_materialization):
            self.send_old_values = True
        return self.send_old_values

    def view(self) -> KTableValueGetterSupplier:
        if self.queryable_name is not None:
            return KTableMaterializedValueGetterSupplier(self.queryable_name)
        return KTableFilterValueGetterSupplier(self, self._parent.value_getter_supplier())

    def keeps(self, key: Any, value: Any) -> bool:
        """Return whether a value matches."""
        return bool(self._predicate(key, value)) != self._filter_not


class KTableFilterProcessor(Processor):
    """Forwards an update unless neither the old nor the new value matches."""

    _context: TaskContext
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KTableFilter) -> None:
        self._supplier = supplier
        self._send_old_values = supplier.send_old_values
        self._forwards_all = not supplier.send_old_values or supplier.use_versioned_semantics
        self._store: KeyValueStoreWrapper | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        name = self._supplier.queryable_name
        if name is not None:
            self._store = key_value_store(context, name)
            self._forwarder = timestamped_forwarder(self._context, self._store.store, self._send_old_values)

    def process(self, record: Record[Any, Change]) -> None:
        key = record.key
        new, old, is_latest = record.value
        new = self._kept(key, new)
        old = self._old_value(key, old) if self._send_old_values else None
        if old is None and new is None and not self._forwards_all:
            return
        if self._store is None:
            self._context.forward(Record(key, Change(new, old, is_latest), record.timestamp, record.headers))
            return
        code = self._store.put(key, new, record.timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, new, old, is_latest, record.timestamp, record.headers)

    def _kept(self, key: Any, value: Any) -> Any:
        return value if value is not None and self._supplier.keeps(key, value) else None

    def _old_value(self, key: Any, old_of_parent: Any) -> Any:
        if self._store is None:
            return self._kept(key, old_of_parent)
        stored = self._store.get(key)
        return None if stored is None else stored.value


class KTableFilterValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters for a table without a store."""

    def __init__(self, supplier: KTableFilter, parent: KTableValueGetterSupplier) -> None:
        self._supplier = supplier
        self._parent = parent

    def __call__(self) -> KTableValueGetter:
        return KTableFilterValueGetter(self._supplier, self._parent())

    def store_names(self) -> list[str]:
        return self._parent.store_names()


class KTableFilterValueGetter(KTableValueGetter):
    """Reads the parent's value and applies the predicate."""

    def __init__(self, supplier: KTableFilter, parent: KTableValueGetter) -> None:
        self._supplier = supplier
        self._parent = parent

    def init(self, context: TaskContext) -> None:
        self._parent.init(context)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._kept(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        return self._kept(key, self._parent.get_as_of(key, timestamp))

    def is_versioned(self) -> bool:
        return self._parent.is_versioned()

    def close(self) -> None:
        self._parent.close()

    def _kept(self, key: Any, found: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        return found if found is not None and self._supplier.keeps(key, found.value) else None
