"""`KTable.suppress`: buffers updates; a later one replaces an earlier one of the same key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.options.suppressed import BufferConfig, BufferFullStrategy
from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.table import (
    KTableProcessorSupplier,
    KTableValueGetter,
    KTableValueGetterSupplier,
    ParentTable,
)
from kafkapy.streams.processors.time_tracker import NO_TIMESTAMP
from kafkapy.streams.records import Change, Record, ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class SuppressedInternal(NamedTuple):
    """The resolved options of a suppression."""

    name: str | None
    """Name of its node."""
    wait_ms: int
    """How long updates are buffered, ms: for `until_window_closes` the grace period of the windows."""
    buffer_config: BufferConfig
    final_results: bool
    """True for `until_window_closes`: the time starts at the window's end, and deletions are dropped, as no earlier
    value was forwarded."""


class KTableSuppressProcessorSupplier(KTableProcessorSupplier):
    """Supplies the processors of a suppression.

    Args:
        suppress: Its options.
        store_name: Name of its buffer.
        parent_ktable: The table, which must send old values.
    """

    def __init__(self, suppress: SuppressedInternal, store_name: str, parent_ktable: ParentTable) -> None:
        self.suppress = suppress
        self.store_name = store_name
        self._parent = parent_ktable
        parent_ktable.enable_sending_old_values(True)

    def __call__(self) -> Processor:
        return KTableSuppressProcessor(self.suppress, self.store_name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        return self._parent.enable_sending_old_values(force_materialization)

    def view(self) -> KTableValueGetterSupplier:
        return KTableSuppressValueGetterSupplier(self.store_name, self._parent.value_getter_supplier())


class KTableSuppressProcessor(Processor):
    """Emits updates whose waiting time is over, the oldest first; the options define the action if the buffer is full.

    Invariant: `_observed_stream_time` is the highest timestamp of an update.
    """

    _context: TaskContext
    _buffer: Any

    def __init__(self, suppress: SuppressedInternal, store_name: str) -> None:
        self._store_name = store_name
        self._wait_ms = suppress.wait_ms
        self._config = suppress.buffer_config
        self._final_results = suppress.final_results
        self._observed_stream_time = NO_TIMESTAMP
        self._expiry_time = NO_TIMESTAMP

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._buffer = context.get_state_store(self._store_name)
        self._buffer.set_serdes_if_null(self._context)

    def process(self, record: Record[Any, Change]) -> None:
        if record.timestamp > self._observed_stream_time:
            self._observed_stream_time = record.timestamp
        origin = self._context.record_context
        assert origin is not None
        time: int = record.key.window.end if self._final_results else origin.timestamp
        self._buffer.put(time, record, origin)
        self._expiry_time = self._observed_stream_time - self._wait_ms
        self._buffer.evict_while(self._has_expired, self._emit)
        if self._is_over_capacity():
            if self._config.full_strategy is BufferFullStrategy.SHUT_DOWN:
                raise self._full()
            self._buffer.evict_while(self._is_over_capacity, self._emit)

    def _has_expired(self) -> bool:
        return bool(self._buffer.min_timestamp() <= self._expiry_time)

    def _is_over_capacity(self) -> bool:
        buffer = self._buffer
        config = self._config
        return bool(buffer.num_records() > config.record_limit or buffer.buffer_size() > config.byte_limit)

    def _full(self) -> StreamsException:
        buffer = self._buffer
        return StreamsException(
            f"{getattr(self._context.current_node, 'name', self._store_name)} buffer exceeded its max capacity. Currently "
            f"[{buffer.num_records()}/{self._config.record_limit}] records and "
            f"[{buffer.buffer_size()}/{self._config.byte_limit}] bytes."
        )

    def _emit(self, eviction: Any) -> None:
        if eviction.value.new_value is None and self._final_results:
            return
        context = self._context
        before = context.record_context
        origin = context.record_context = eviction.record_context
        try:
            context.forward(Record(eviction.key, eviction.value, origin.timestamp, origin.headers))
        finally:
            context.record_context = before


class KTableSuppressValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters of emitted values."""

    def __init__(self, store_name: str, parent: KTableValueGetterSupplier) -> None:
        self._store_name = store_name
        self._parent = parent

    def __call__(self) -> KTableValueGetter:
        return KTableSuppressValueGetter(self._store_name, self._parent())

    def store_names(self) -> list[str]:
        return [self._store_name, *self._parent.store_names()]


class KTableSuppressValueGetter(KTableValueGetter):
    """Returns the value before the buffered update; without one the parent's value."""

    _buffer: Any

    def __init__(self, store_name: str, parent: KTableValueGetter) -> None:
        self._store_name = store_name
        self._parent = parent

    def init(self, context: TaskContext) -> None:
        self._parent.init(context)
        self._buffer = context.get_state_store(self._store_name)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        is_buffered, prior = self._buffer.prior_value_for_buffered(key)
        found: ValueAndTimestamp | None = prior if is_buffered else self._parent.get(key)
        return found

    def close(self) -> None:
        self._parent.close()
