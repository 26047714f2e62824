"""`KStream.join` and `left_join` with a table; joins with global tables use the same processor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.kstream_kstream_join import ValueJoinerWithKey
from kafkapy.streams.processors.table import KTableValueGetter, KTableValueGetterSupplier
from kafkapy.streams.processors.time_tracker import NO_TIMESTAMP
from kafkapy.streams.records import Record

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class KStreamKTableJoin:
    """Supplies the processors of a join of a stream with a table.

    Args:
        value_getter_supplier: Supplies the getter of the table.
        joiner: Takes the key, the stream's value and the table's; returns the result.
        left_join: Whether records without a value in the table have a result.
        grace_period: How long records are buffered for updates of the table, ms; None: they are not.
        store_name: Name of the buffer's store.
    """

    def __init__(
        self,
        value_getter_supplier: KTableValueGetterSupplier,
        joiner: ValueJoinerWithKey,
        left_join: bool,
        grace_period: int | None,
        store_name: str | None,
    ) -> None:
        self._value_getter_supplier = value_getter_supplier
        self._joiner = joiner
        self._left_join = left_join
        self._store_name = None if grace_period is None else store_name or ""

    def __call__(self) -> Processor:
        return KStreamKTableJoinProcessor(
            self._value_getter_supplier(), None, self._joiner, self._left_join, self._store_name
        )


def always() -> bool:
    """Return True: the buffer itself evicts only records whose grace period is over."""
    return True


class KStreamKTableJoinProcessor(Processor):
    """Drops records with a null value or null join key, but one with a null key has a result in a left join.

    Invariant: `_observed_stream_time` is the highest timestamp of a record of the stream; records in the buffer are
    newer than that time minus the grace period.

    Args:
        value_getter: Getter of the table.
        key_mapper: Takes key and value; returns the table's key. None: it is the same.
        joiner: Returns the result.
        left_join: See `KStreamKTableJoin`.
        store_name: Name of the buffer's store; None: there is none.
    """

    _context: TaskContext
    _buffer: Any

    def __init__(
        self,
        value_getter: KTableValueGetter,
        key_mapper: Callable[[Any, Any], Any] | None,
        joiner: ValueJoinerWithKey,
        left_join: bool,
        store_name: str | None,
    ) -> None:
        self._value_getter = value_getter
        self._key_mapper = key_mapper
        self._joiner = joiner
        self._left_join = left_join
        self._store_name = store_name
        self._is_versioned = False
        self._observed_stream_time = NO_TIMESTAMP

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._value_getter.init(self._context)
        self._is_versioned = self._value_getter.is_versioned()
        if self._store_name is not None:
            if not self._is_versioned:
                raise ValueError("KTable must be versioned to use a grace period in a stream table join.")
            self._buffer = context.get_state_store(self._store_name)
            self._buffer.set_serdes_if_null(self._context)

    def process(self, record: Record[Any, Any]) -> None:
        now = record.timestamp
        if now > self._observed_stream_time:
            self._observed_stream_time = now
        key = record.key
        value = record.value
        mapped_key = key if self._key_mapper is None else self._key_mapper(key, value)
        if (mapped_key is None or value is None) and not (self._left_join and key is None and value is not None):
            drop(self._context, "due to null join key or value")
            return
        if self._store_name is None:
            self._join(record, mapped_key)
        elif self._buffer.put(self._observed_stream_time, record, self._context.record_context):
            self._buffer.evict_while(always, self._emit)
        else:
            self._join(record, mapped_key)

    def close(self) -> None:
        self._value_getter.close()

    def _emit(self, eviction: Any) -> None:
        context = self._context
        before = context.record_context
        origin = context.record_context = eviction.record_context
        try:
            self._join(Record(eviction.key, eviction.value, origin.timestamp, origin.headers), eviction.key)
        finally:
            context.record_context = before

    def _join(self, record: Record[Any, Any], mapped_key: Any) -> None:
        other = None
        if mapped_key is not None:
            getter = self._value_getter
            found = getter.get_as_of(mapped_key, record.timestamp) if self._is_versioned else getter.get(mapped_key)
            if found is not None:
                other = found.value
        if self._left_join or other is not None:
            result = self._joiner(record.key, record.value, other)
            self._context.forward(Record(record.key, result, record.timestamp, record.headers))
