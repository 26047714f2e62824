"""Merges the results of both sides of a table-table join into a table."""

from __future__ import annotations

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
    distinct,
)
from kafkapy.streams.records import Change, Record
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class KTableKTableJoinMerger(KTableProcessorSupplier):
    """Supplies the processors of the result.

    Attributes:
        queryable_name: Name of its store; None: it has none.
        send_old_values: Whether updates contain the replaced value.
    """

    def __init__(
        self, parent1: KTableProcessorSupplier, parent2: KTableProcessorSupplier, queryable_name: str | None = None
    ) -> None:
        self._parent1 = parent1
        self._parent2 = parent2
        self.queryable_name = queryable_name
        self.send_old_values = False

    def __call__(self) -> Processor:
        return KTableKTableJoinMergeProcessor(self)

    def enable_sending_old_values(self, force_materialization: bool = True) -> bool:
        self._parent1.enable_sending_old_values(True)
        self._parent2.enable_sending_old_values(True)
        self.send_old_values = True
        return True

    def view(self) -> KTableValueGetterSupplier:
        if self.queryable_name is not None:
            return KTableMaterializedValueGetterSupplier(self.queryable_name)
        return KTableKTableJoinMergerValueGetterSupplier(self._parent1.view(), self._parent2.view())


class KTableKTableJoinMergeProcessor(Processor):
    """Forwards results, through the store if there is one."""

    _context: TaskContext
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KTableKTableJoinMerger) -> None:
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
        if self._store is None:
            change = record.value if self._send_old_values else Change(new, None, is_latest)
            self._context.forward(Record(key, change, record.timestamp, record.headers))
            return
        code = self._store.put(key, new, record.timestamp)
        if code != PUT_RETURN_CODE_NOT_PUT:
            is_latest = code == PUT_RETURN_CODE_IS_LATEST
            self._forwarder.maybe_forward(key, new, old, is_latest, record.timestamp, record.headers)


class KTableKTableJoinMergerValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters for a result without a store: either side computes it."""

    def __init__(self, parent1: KTableValueGetterSupplier, parent2: KTableValueGetterSupplier) -> None:
        self._parent1 = parent1
        self._parent2 = parent2

    def __call__(self) -> KTableValueGetter:
        return self._parent1()

    def store_names(self) -> list[str]:
        return distinct(self._parent1.store_names() + self._parent2.store_names())
