"""Aggregations over sessions: a record merges the sessions of its key within the inactivity gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import Aggregator, Initializer, KStreamAggProcessorSupplier, Merger
from kafkapy.streams.processors.dropped import drop, drop_expired
from kafkapy.streams.processors.final_results import NO_TIMESTAMP, FinalResultsSchedule
from kafkapy.streams.processors.forwarder import SessionCacheFlushListener, TimestampedTupleForwarder
from kafkapy.streams.processors.table import KTableValueGetter, KTableValueGetterSupplier
from kafkapy.streams.processors.values import timestamped
from kafkapy.streams.records import Record, SessionWindow, ValueAndTimestamp, Windowed

if TYPE_CHECKING:
    from kafkapy.streams.options.emit_strategy import EmitStrategy
    from kafkapy.streams.processor import ProcessorContext, TaskContext
    from kafkapy.streams.windows import SessionWindows


class KStreamSessionWindowAggregate(KStreamAggProcessorSupplier):
    """Adds each value of a stream to the aggregate of its key's session at that time.

    Args:
        windows: Inactivity gap and grace period.
        store_name: Name of the session store.
        emit_strategy: When results are emitted.
        initializer: Returns the aggregate of a session without records.
        aggregator: Adds a value to an aggregate.
        session_merger: Merges the aggregates of two sessions.
    """

    def __init__(
        self,
        windows: SessionWindows,
        store_name: str,
        emit_strategy: EmitStrategy,
        initializer: Initializer,
        aggregator: Aggregator,
        session_merger: Merger,
    ) -> None:
        super().__init__(store_name)
        self.windows = windows
        self.on_window_close = emit_strategy.emits_on_close
        self.initializer = initializer
        self.aggregator = aggregator
        self.session_merger = session_merger

    def __call__(self) -> Processor:
        return KStreamSessionWindowAggregateProcessor(self)

    def view(self) -> KTableValueGetterSupplier:
        return SessionWindowValueGetterSupplier(self.store_name)


class KStreamSessionWindowAggregateProcessor(Processor):
    """Drops records with a null key, and those that would create or extend a closed session.

    Invariant: `_observed_stream_time` is the highest timestamp of a record with a key; sessions are closed by it.
    """

    _context: TaskContext
    _store: Any
    _forwarder: TimestampedTupleForwarder

    def __init__(self, supplier: KStreamSessionWindowAggregate) -> None:
        self._supplier = supplier
        self._gap_ms: int = supplier.windows.inactivity_gap_ms
        self._grace_ms: int = supplier.windows.grace_period_ms
        self._observed_stream_time = NO_TIMESTAMP
        self._schedule: FinalResultsSchedule | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        supplier = self._supplier
        self._store = context.get_state_store(supplier.store_name)
        if supplier.on_window_close:
            self._schedule = FinalResultsSchedule(self._context, supplier.store_name)
            self._forwarder = TimestampedTupleForwarder(self._context, supplier.send_old_values)
        else:
            listener = SessionCacheFlushListener(self._context)
            self._forwarder = TimestampedTupleForwarder(self._context, supplier.send_old_values, self._store, listener)

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        if key is None:
            drop(self._context, "due to null key")
            return
        now = record.timestamp
        if now > self._observed_stream_time:
            self._observed_stream_time = now
        close_time = self._observed_stream_time - self._grace_ms - self._gap_ms
        supplier = self._supplier
        start = end = now
        aggregate = supplier.initializer()
        merged: list[tuple[Windowed[Any], Any]] = []
        for session in self._store.find_sessions(key, now - self._gap_ms, now + self._gap_ms):
            merged.append(session)
            aggregate = supplier.session_merger(key, aggregate, session[1])
            window = session[0].window
            start = min(start, window.start)
            end = max(end, window.end)
        whole = SessionWindow(start, end)
        if end < close_time:
            drop_expired(self._context, now, whole, close_time, self._observed_stream_time)
        else:
            if start != now or end != now:
                for windowed, old in merged:
                    self._store.remove(windowed)
                    self._maybe_forward_update(windowed, old, None)
            aggregate = supplier.aggregator(key, record.value, aggregate)
            windowed = Windowed(key, whole)
            self._store.put(windowed, aggregate)
            self._maybe_forward_update(windowed, None, aggregate)
        if self._schedule is not None:
            self._maybe_forward_final_results(self._schedule, record, close_time)

    def _maybe_forward_update(self, windowed: Windowed[Any], old: Any, new: Any) -> None:
        if self._schedule is None:
            self._forwarder.maybe_forward(windowed, new, old, True, windowed.window.end, [])

    def _maybe_forward_final_results(
        self, schedule: FinalResultsSchedule, record: Record[Any, Any], close_time: int
    ) -> None:
        if not schedule.is_due(close_time):
            return
        earliest_end = max(0, schedule.last_close_time)
        latest_end = close_time - 1
        if latest_end < earliest_end:
            return
        for windowed, aggregate in self._store.find_sessions_by_end(earliest_end, latest_end):
            self._forwarder.maybe_forward(windowed, aggregate, None, True, windowed.window.end, record.headers)
        schedule.emitted(close_time)


class SessionWindowValueGetterSupplier(KTableValueGetterSupplier):
    """Getters for aggregations over sessions."""

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def __call__(self) -> KTableValueGetter:
        return KTableSessionWindowValueGetter(self._store_name)

    def store_names(self) -> list[str]:
        return [self._store_name]


class KTableSessionWindowValueGetter(KTableValueGetter):
    """Reads a session store; a value's timestamp is the session's end."""

    _store: Any

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: TaskContext) -> None:
        self._store = context.get_state_store(self._store_name)

    def get(self, key: Windowed[Any]) -> ValueAndTimestamp | None:
        window = key.window
        return timestamped(self._store.fetch_session(key.key, window.start, window.end), window.end)
