"""Common base of joins of two tables by their keys (Kafka's `KTableKTableAbstractJoin`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop, drop_out_of_order
from kafkapy.streams.processors.table import (
    KTableProcessorSupplier,
    KTableValueGetter,
    KTableValueGetterSupplier,
    ParentTable,
    distinct,
)
from kafkapy.streams.records import Change, Record, ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext

ValueJoiner = Callable[[Any, Any], Any]
"""Takes this table's value and the other's; returns the result."""


class KTableKTableAbstractJoin(KTableProcessorSupplier):
    """Supplies the processors of one side of a join.

    Args:
        table1: The table whose updates are joined.
        table2: The table that is looked up.
        joiner: Takes the value of `table1` before that of `table2`.

    Attributes:
        use_versioned_semantics: Whether `table1` is versioned, so that out-of-order updates are dropped.
        send_old_values: Whether updates contain the replaced value.
    """

    def __init__(self, table1: ParentTable, table2: ParentTable, joiner: ValueJoiner) -> None:
        self.table1 = table1
        self.table2 = table2
        self.joiner = joiner
        self.value_getter_supplier1 = table1.value_getter_supplier()
        self.value_getter_supplier2 = table2.value_getter_supplier()
        self.use_versioned_semantics = False
        self.send_old_values = False

    def enable_sending_old_values(self, force_materialization: bool = True) -> bool:
        self.table1.enable_sending_old_values(True)
        self.table2.enable_sending_old_values(True)
        self.send_old_values = True
        return True

    def view(self) -> KTableValueGetterSupplier:
        return KTableKTableJoinValueGetterSupplier(self)

    def value_getter(self, getter1: KTableValueGetter, getter2: KTableValueGetter) -> KTableValueGetter:
        """Return a getter of results."""
        raise NotImplementedError


class KTableKTableAbstractJoinProcessor(Processor):
    """Drops updates with a null key, and out-of-order updates of a versioned table."""

    context: TaskContext

    def __init__(self, supplier: KTableKTableAbstractJoin) -> None:
        self._value_getter = supplier.value_getter_supplier2()
        self._joiner = supplier.joiner
        self._only_latest = supplier.use_versioned_semantics
        self._send_old_values = supplier.send_old_values

    def init(self, context: ProcessorContext) -> None:
        self.context = cast("TaskContext", context)
        self._value_getter.init(self.context)

    def process(self, record: Record[Any, Change]) -> None:
        if record.key is None:
            drop(self.context, "due to null key")
        elif self._only_latest and not record.value.is_latest:
            drop_out_of_order(self.context)
        else:
            self._join(record, record.value, self._value_getter.get(record.key))

    def _join(self, record: Record[Any, Change], change: Change, other: ValueAndTimestamp | None) -> None:
        """Forward the result of an update, if it has one."""
        raise NotImplementedError

    def _forward(self, record: Record[Any, Change], new: Any, old: Any, other_timestamp: int) -> None:
        timestamp = max(record.timestamp, other_timestamp)
        self.context.forward(Record(record.key, Change(new, old, record.value.is_latest), timestamp, record.headers))

    def close(self) -> None:
        self._value_getter.close()


class KTableKTableJoinValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters of results, which read both tables."""

    def __init__(self, supplier: KTableKTableAbstractJoin) -> None:
        self._supplier = supplier

    def __call__(self) -> KTableValueGetter:
        supplier = self._supplier
        return supplier.value_getter(supplier.value_getter_supplier1(), supplier.value_getter_supplier2())

    def store_names(self) -> list[str]:
        supplier = self._supplier
        return distinct(supplier.value_getter_supplier1.store_names() + supplier.value_getter_supplier2.store_names())


class KTableKTableJoinValueGetter(KTableValueGetter):
    """Reads both tables."""

    def __init__(self, joiner: ValueJoiner, getter1: KTableValueGetter, getter2: KTableValueGetter) -> None:
        self._joiner = joiner
        self._getter1 = getter1
        self._getter2 = getter2

    def init(self, context: TaskContext) -> None:
        self._getter1.init(context)
        self._getter2.init(context)

    def close(self) -> None:
        self._getter1.close()
        self._getter2.close()
