"""`KTable.group_by`: updates get a new key, so one update may become a removal for one key and an addition for
another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.table import (
    KTableProcessorSupplier,
    KTableValueGetter,
    KTableValueGetterSupplier,
    ParentTable,
)
from kafkapy.streams.processors.upgrade import upgrades_from_before
from kafkapy.streams.records import Change, Record, ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext

KeyValueMapper = Callable[[Any, Any], "tuple[Any, Any] | None"]

_BOTH_VALUES_IN_ONE_RECORD: Final = (3, 5)
"""Since this version records of repartition topics may contain both new and old value."""


class KTableRepartitionMap(KTableProcessorSupplier):
    """Maps updates of a table to a new key and value, for a repartition topic.

    Attributes:
        mapper: Takes key and value; returns the new key and value.
        use_versioned_semantics: Whether the parent is versioned, so that out-of-order updates are dropped.
    """

    def __init__(self, parent: ParentTable, mapper: KeyValueMapper) -> None:
        self._parent = parent
        self.mapper = mapper
        self.use_versioned_semantics = False

    def __call__(self) -> Processor:
        return KTableMapProcessor(self)

    def enable_sending_old_values(self, force_materialization: bool) -> NoReturn:
        raise RuntimeError("KTableRepartitionMap should always require sending old values.")

    def view(self) -> KTableValueGetterSupplier:
        return KTableMapValueGetterSupplier(self.mapper, self._parent.value_getter_supplier())


class KTableMapProcessor(Processor):
    """Forwards one record if old and new value have the same key, else a removal before an addition.

    Pairs with a null key or value are dropped.
    """

    _context: TaskContext

    def __init__(self, supplier: KTableRepartitionMap) -> None:
        self._mapper = supplier.mapper
        self._only_latest = supplier.use_versioned_semantics
        self._joins_values = True

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._joins_values = not upgrades_from_before(self._context.config, _BOTH_VALUES_IN_ONE_RECORD)

    def process(self, record: Record[Any, Change]) -> None:
        if record.key is None:
            raise StreamsException("Record key for the grouping KTable should not be null.")
        new, old, is_latest = record.value
        if self._only_latest and not is_latest:
            return
        added = self._pair(record.key, new)
        removed = self._pair(record.key, old)
        if added is not None and removed is not None and self._joins_values and added[0] == removed[0]:
            self._forward(record, removed[0], Change(added[1], removed[1], is_latest))
            return
        if removed is not None:
            self._forward(record, removed[0], Change(None, removed[1], is_latest))
        if added is not None:
            self._forward(record, added[0], Change(added[1], None, is_latest))

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        pair = None if value is None else self._mapper(key, value)
        return None if pair is None or pair[0] is None or pair[1] is None else pair

    def _forward(self, record: Record[Any, Change], key: Any, change: Change) -> None:
        self._context.forward(Record(key, change, record.timestamp, record.headers))


class KTableMapValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters of the new pairs by the old keys."""

    def __init__(self, mapper: KeyValueMapper, parent: KTableValueGetterSupplier) -> None:
        self._mapper = mapper
        self._parent = parent

    def __call__(self) -> KTableValueGetter:
        return KTableMapValueGetter(self._mapper, self._parent())

    def store_names(self) -> list[str]:
        raise StreamsException("Underlying state store not accessible due to repartitioning.")


class KTableMapValueGetter(KTableValueGetter):
    """Reads the parent's value and maps it."""

    _context: TaskContext

    def __init__(self, mapper: KeyValueMapper, parent: KTableValueGetter) -> None:
        self._mapper = mapper
        self._parent = parent

    def init(self, context: TaskContext) -> None:
        self._context = context
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
        pair = self._mapper(key, None if found is None else found.value)
        if pair is None:
            return None
        current = self._context.record_context
        now = 0 if current is None else current.timestamp
        return ValueAndTimestamp(pair, now if found is None else found.timestamp)
