"""`KTable.transform_values`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from kafkapy.streams.processor import Processor, ValueTransformerWithKey
from kafkapy.streams.processors.forwarder import TimestampedTupleForwarder, timestamped_forwarder
from kafkapy.streams.processors.key_value_store_wrapper import (
    PUT_RETURN_CODE_IS_LATEST,
    KeyValueStoreWrapper,
    key_value_store,
)
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.read_only_context import ForwardingDisabledProcessorContext
from kafkapy.streams.processors.table import (
    KTableProcessorSupplier,
    KTableValueGetter,
    KTableValueGetterSupplier,
    ParentTable,
)
from kafkapy.streams.records import Change, Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext

UNKNOWN: Final = -1
"""Timestamp, partition and offset of a missing value."""

TransformerSupplier = Callable[[], ValueTransformerWithKey]


class KTableTransformValues(KTableProcessorSupplier):
    """Maps values by transformers, which may have state; they are also called for deletions.

    Attributes:
        transformer_supplier: Returns a new transformer for each processor and each getter.
        queryable_name: Name of its store; None: it has none.
        send_old_values: Whether updates contain the replaced value.
    """

    def __init__(
        self, parent: ParentTable, transformer_supplier: TransformerSupplier, queryable_name: str | None
    ) -> None:
        self._parent = parent
        self.transformer_supplier = transformer_supplier
        self.queryable_name = queryable_name
        self.send_old_values = False

    def __call__(self) -> Processor:
        return KTableTransformValuesProcessor(self)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        if self.queryable_name is not None or self._parent.enable_sending_old_values(force_materialization):
            self.send_old_values = True
        return self.send_old_values

    def view(self) -> KTableValueGetterSupplier:
        if self.queryable_name is not None:
            return KTableMaterializedValueGetterSupplier(self.queryable_name)
        return KTableTransformValuesGetterSupplier(self.transformer_supplier, self._parent.value_getter_supplier())


class KTableTransformValuesProcessor(Processor):
    """Transforms updates; without a store it also transforms old values again."""

    _context: TaskContext
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KTableTransformValues) -> None:
        self._transformer = supplier.transformer_supplier()
        self._queryable_name = supplier.queryable_name
        self._send_old_values = supplier.send_old_values
        self._store: KeyValueStoreWrapper | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._transformer.init(ForwardingDisabledProcessorContext(self._context))
        if self._queryable_name is not None:
            self._store = key_value_store(context, self._queryable_name)
            self._forwarder = timestamped_forwarder(self._context, self._store.store, self._send_old_values)

    def process(self, record: Record[Any, Change]) -> None:
        key = record.key
        new, old, is_latest = record.value
        new = self._transformer.transform(key, new)
        if self._store is None:
            old = self._transformer.transform(key, old) if self._send_old_values else None
            self._context.forward(Record(key, Change(new, old, is_latest), record.timestamp, record.headers))
            return
        stored = self._store.get(key) if self._send_old_values else None
        code = self._store.put(key, new, record.timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            old = None if stored is None else stored.value
            self._forwarder.maybe_forward(key, new, old, is_latest, record.timestamp, record.headers)

    def close(self) -> None:
        self._transformer.close()


class KTableTransformValuesGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters for a table without a store."""

    def __init__(self, transformer_supplier: TransformerSupplier, parent: KTableValueGetterSupplier) -> None:
        self._transformer_supplier = transformer_supplier
        self._parent = parent

    def __call__(self) -> KTableValueGetter:
        return KTableTransformValuesGetter(self._parent(), self._transformer_supplier())

    def store_names(self) -> list[str]:
        return self._parent.store_names()


class KTableTransformValuesGetter(KTableValueGetter):
    """Reads the parent's value and transforms it; the transformer's record context has no topic and offset."""

    _context: TaskContext

    def __init__(self, parent: KTableValueGetter, transformer: ValueTransformerWithKey) -> None:
        self._parent = parent
        self._transformer = transformer

    def init(self, context: TaskContext) -> None:
        self._context = context
        self._parent.init(context)
        self._transformer.init(ForwardingDisabledProcessorContext(context))

    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._transformed(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        return self._transformed(key, self._parent.get_as_of(key, timestamp))

    def is_versioned(self) -> bool:
        return self._parent.is_versioned()

    def close(self) -> None:
        self._parent.close()
        self._transformer.close()

    def _transformed(self, key: Any, found: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        context = self._context
        before = context.record_context
        timestamp = UNKNOWN if found is None else found.timestamp
        context.record_context = RecordContext(timestamp, UNKNOWN, UNKNOWN, None, [])
        try:
            value = self._transformer.transform(key, None if found is None else found.value)
        finally:
            context.record_context = before
        return None if value is None else ValueAndTimestamp(value, timestamp)
