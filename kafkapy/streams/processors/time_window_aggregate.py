"""Common base of aggregations over windows of a fixed size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import Aggregator, Initializer, KStreamAggProcessorSupplier
from kafkapy.streams.processors.dropped import drop_expired
from kafkapy.streams.processors.final_results import NO_TIMESTAMP, FinalResultsSchedule
from kafkapy.streams.processors.forwarder import TimestampedTupleForwarder, timestamped_forwarder
from kafkapy.streams.processors.table import KTableValueGetter, KTableValueGetterSupplier
from kafkapy.streams.records import Record, ValueAndTimestamp, Window, Windowed

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class TimeWindowAggregate(KStreamAggProcessorSupplier):
    """Supplies the processors of an aggregation over windows.

    Attributes:
        initializer: Returns the initial aggregate of a window.
        aggregator: Adds a value to an aggregate.
        on_window_close: Whether results are emitted once, when a window is closed; else with each update.
    """

    def __init__(
        self, store_name: str, on_window_close: bool, initializer: Initializer, aggregator: Aggregator
    ) -> None:
        super().__init__(store_name)
        self.on_window_close = on_window_close
        self.initializer = initializer
        self.aggregator = aggregator

    def view(self) -> KTableValueGetterSupplier:
        return WindowValueGetterSupplier(self.store_name)


class AbstractKStreamTimeWindowAggregateProcessor(Processor):
    """Stores an aggregate for each key and window in a window store.

    Invariant: `_observed_stream_time` is the highest timestamp of a record with a key (and value, in sliding windows);
    it closes windows, not the task's stream time.
    """

    _context: TaskContext
    _store: Any
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: TimeWindowAggregate) -> None:
        self._store_name = supplier.store_name
        self._on_window_close = supplier.on_window_close
        self._send_old_values = supplier.send_old_values
        self._initializer = supplier.initializer
        self._aggregator = supplier.aggregator
        self._observed_stream_time = NO_TIMESTAMP
        self._schedule: FinalResultsSchedule | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._store = context.get_state_store(self._store_name)
        if self._on_window_close:
            self._schedule = FinalResultsSchedule(self._context, self._store_name)
            self._forwarder = TimestampedTupleForwarder(self._context, self._send_old_values)
        else:
            self._forwarder = timestamped_forwarder(self._context, self._store, self._send_old_values)

    def _maybe_forward_update(
        self, record: Record[Any, Any], window: Window, old: Any, new: Any, timestamp: int
    ) -> None:
        if not self._on_window_close:
            self._forwarder.maybe_forward(Windowed(record.key, window), new, old, True, timestamp, record.headers)

    def _maybe_forward_final_results(self, record: Record[Any, Any], close_time: int) -> None:
        schedule = self._schedule
        if schedule is None or not schedule.is_due(close_time):
            return
        upper = self._emit_range_upper_bound(close_time)
        if upper < 0:
            return
        lower = self._emit_range_lower_bound(schedule.last_close_time)
        if schedule.last_close_time != NO_TIMESTAMP and not self._has_new_windows(lower, upper):
            return
        for windowed, found in self._store.fetch_all(lower, upper):
            self._forwarder.maybe_forward(windowed, found.value, None, True, found.timestamp, record.headers)
        schedule.emitted(close_time)

    def _drop_expired(self, timestamp: int, window: Window, close_time: int) -> None:
        drop_expired(self._context, timestamp, window, close_time, self._observed_stream_time)

    def _emit_range_lower_bound(self, last_close_time: int) -> int:
        """Return the earliest start of a window that was not closed at the last emission."""
        raise NotImplementedError

    def _emit_range_upper_bound(self, close_time: int) -> int:
        """Return the latest start of a window that is closed now."""
        raise NotImplementedError

    def _has_new_windows(self, lower: int, upper: int) -> bool:
        """Return whether a window may start in the range."""
        return True


class WindowValueGetterSupplier(KTableValueGetterSupplier):
    """Supplies getters for aggregations over windows."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def __call__(self) -> KTableValueGetter:
        return KStreamWindowAggregateValueGetter(self._store_name)

    def store_names(self) -> list[str]:
        return [self._store_name]


class KStreamWindowAggregateValueGetter(KTableValueGetter):
    """Reads a window store."""

    _store: Any

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        self._store = context.get_state_store(self._store_name)

    def get(self, key: Windowed[Any]) -> ValueAndTimestamp | None:
        found: ValueAndTimestamp | None = self._store.fetch(key.key, key.window.start)
        return found
