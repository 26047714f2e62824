"""Aggregations over tumbling, hopping and unlimited windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.aggregations import Aggregator, Initializer
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.final_results import NO_TIMESTAMP
from kafkapy.streams.processors.time_window_aggregate import (
    AbstractKStreamTimeWindowAggregateProcessor,
    TimeWindowAggregate,
)
from kafkapy.streams.processors.values import timestamped
from kafkapy.streams.records import Record
from kafkapy.streams.windows import TimeWindows, Windows

if TYPE_CHECKING:
    from kafkapy.streams.options.emit_strategy import EmitStrategy


class KStreamWindowAggregate(TimeWindowAggregate):
    """Adds each value of a stream to the aggregates of its key in all windows that contain its time."""

    def __init__(
        self,
        windows: Windows,
        store_name: str,
        emit_strategy: EmitStrategy,
        initializer: Initializer,
        aggregator: Aggregator,
    ) -> None:
        super().__init__(store_name, emit_strategy.emits_on_close, initializer, aggregator)
        self.windows = windows
        if self.on_window_close and not isinstance(windows, TimeWindows):
            raise ValueError(
                "ON_WINDOW_CLOSE strategy is only supported for TimeWindows and SlidingWindows for TimeWindowedKStream"
            )

    def __call__(self) -> Processor:
        return KStreamWindowAggregateProcessor(self)


class KStreamWindowAggregateProcessor(AbstractKStreamTimeWindowAggregateProcessor):
    """Drops records with a null key; for a late record it counts one dropped record for each closed window."""

    def __init__(self, supplier: KStreamWindowAggregate) -> None:
        super().__init__(supplier)
        self._windows = supplier.windows
        self._grace_ms = supplier.windows.grace_period_ms

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        if key is None:
            drop(self._context, "due to null key")
            return
        now = record.timestamp
        if now > self._observed_stream_time:
            self._observed_stream_time = now
        close_time = self._observed_stream_time - self._grace_ms
        for start, window in self._windows.windows_for(now).items():
            if window.end <= close_time:
                self._drop_expired(now, window, close_time)
                continue
            found = self._store.fetch(key, start)
            if found is None:
                old = self._initializer()
                timestamp = now
            else:
                old = found.value
                timestamp = max(now, found.timestamp)
            new = self._aggregator(key, record.value, old)
            self._store.put(key, timestamped(new, timestamp), start)
            self._maybe_forward_update(record, window, old, new, timestamp)
        if self._on_window_close:
            self._maybe_forward_final_results(record, close_time)

    def _emit_range_lower_bound(self, last_close_time: int) -> int:
        return 0 if last_close_time == NO_TIMESTAMP else max(0, last_close_time - self._windows.size_ms) + 1

    def _emit_range_upper_bound(self, close_time: int) -> int:
        return close_time - self._windows.size_ms

    def _has_new_windows(self, lower: int, upper: int) -> bool:
        return bool(self._windows.windows_for(upper) != self._windows.windows_for(lower - 1))
