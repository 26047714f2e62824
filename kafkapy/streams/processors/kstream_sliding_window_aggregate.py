"""Aggregations over sliding windows: each record has a window that ends at its time, and one that begins 1 ms
later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kafkapy.streams.processor import Processor, ProcessorContext
from kafkapy.streams.processors.aggregations import Aggregator, Initializer
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.final_results import NO_TIMESTAMP
from kafkapy.streams.processors.time_window_aggregate import (
    AbstractKStreamTimeWindowAggregateProcessor,
    TimeWindowAggregate,
)
from kafkapy.streams.processors.values import timestamped
from kafkapy.streams.records import Record, TimeWindow, ValueAndTimestamp, Window

if TYPE_CHECKING:
    from kafkapy.streams.options.emit_strategy import EmitStrategy
    from kafkapy.streams.windows import SlidingWindows


class KStreamSlidingWindowAggregate(TimeWindowAggregate):
    """Adds each value of a stream to the aggregates of its key in all windows that contain its time."""

    def __init__(
        self,
        windows: SlidingWindows,
        store_name: str,
        emit_strategy: EmitStrategy,
        initializer: Initializer,
        aggregator: Aggregator,
    ) -> None:
        super().__init__(store_name, emit_strategy.emits_on_close, initializer, aggregator)
        self.windows = windows

    def __call__(self) -> Processor:
        return KStreamSlidingWindowAggregateProcessor(self)


class WindowsAround:
    """The stored windows around a record, which determine the windows to create.

    Attributes:
        starts: Start times of the windows found.
        left: The latest window that ends before the record; None: there is none.
        right: The latest window that contains the record and begins at or before it.
        has_left_window: Whether a window ends at the record.
        has_right_window: Whether a window begins 1 ms after the record.
        previous_timestamp: Timestamp of the latest record before this one.
    """

    __slots__ = ("has_left_window", "has_right_window", "left", "previous_timestamp", "right", "starts")

    def __init__(self) -> None:
        self.starts: set[int] = set()
        self.left: ValueAndTimestamp | None = None
        self.right: ValueAndTimestamp | None = None
        self.has_left_window = False
        self.has_right_window = False
        self.previous_timestamp: int | None = None


class KStreamSlidingWindowAggregateProcessor(AbstractKStreamTimeWindowAggregateProcessor):
    """Drops records with a null key or value, and those of which all windows are closed."""

    def __init__(self, supplier: KStreamSlidingWindowAggregate) -> None:
        super().__init__(supplier)
        self._difference_ms: int = supplier.windows.time_difference_ms
        self._grace_ms: int = supplier.windows.grace_period_ms
        self._reads_backwards: bool | None = None

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self._reads_backwards = None

    def process(self, record: Record[Any, Any]) -> None:
        if record.key is None or record.value is None:
            drop(self._context, "due to null key or value")
            return
        now = record.timestamp
        if now > self._observed_stream_time:
            self._observed_stream_time = now
        close_time = self._observed_stream_time - self._grace_ms
        if now + self._difference_ms < close_time:
            self._drop_expired(now, TimeWindow(now, now + self._difference_ms), close_time)
            return
        if now < self._difference_ms:
            self._process_early(record, close_time)
            return
        if self._reads_backwards is None:
            self._reads_backwards = self._can_read_backwards(record.key)
        if self._reads_backwards:
            self._process_reverse(record, close_time)
        else:
            self._process_in_order(record, close_time)
        self._maybe_forward_final_results(record, close_time)

    def _can_read_backwards(self, key: Any) -> bool:
        """Return whether the store supports backward fetches; users' stores may not."""
        try:
            self._store.backward_fetch(key, 0, 0)
        except NotImplementedError:
            return False
        return True

    def _process_in_order(self, record: Record[Any, Any], close_time: int) -> None:
        now = record.timestamp
        around = WindowsAround()
        windows: Iterable[tuple[int, ValueAndTimestamp]]
        windows = self._store.fetch(record.key, max(0, now - 2 * self._difference_ms), now + 1)
        for start, found in windows:
            around.starts.add(start)
            end = start + self._difference_ms
            if end < now:
                around.left = found
                around.previous_timestamp = found.timestamp
            elif end == now:
                around.has_left_window = True
                if found.timestamp < now:
                    around.previous_timestamp = found.timestamp
                self._update(start, found, record, close_time)
            elif start <= now:
                around.right = found
                self._update(start, found, record, close_time)
            else:
                around.has_right_window = True
        self._create_windows(record, close_time, around)

    def _process_reverse(self, record: Record[Any, Any], close_time: int) -> None:
        now = record.timestamp
        around = WindowsAround()
        windows: Iterable[tuple[int, ValueAndTimestamp]]
        windows = self._store.backward_fetch(record.key, max(0, now - 2 * self._difference_ms), now + 1)
        for start, found in windows:
            around.starts.add(start)
            end = start + self._difference_ms
            if start == now + 1:
                around.has_right_window = True
            elif end > now:
                if around.right is None:
                    around.right = found
                self._update(start, found, record, close_time)
            elif end == now:
                around.has_left_window = True
                self._update(start, found, record, close_time)
                if found.timestamp >= now:
                    # An earlier record with this timestamp has created all windows.
                    return
                around.previous_timestamp = found.timestamp
            else:
                around.left = found
                around.previous_timestamp = found.timestamp
                break
        self._create_windows(record, close_time, around)

    def _process_early(self, record: Record[Any, Any], close_time: int) -> None:
        """Process a record whose left window would begin before 0. All such records share the window that begins at
        0."""
        now = record.timestamp
        around = WindowsAround()
        combined: ValueAndTimestamp | None = None
        for start, found in self._store.fetch(record.key, 0, now + 1):
            around.starts.add(start)
            if start == 0:
                combined = found
                if found.timestamp < now:
                    around.previous_timestamp = found.timestamp
            elif start <= now:
                around.right = found
                self._update(start, found, record, close_time)
            else:
                around.has_right_window = True
        if around.right is None and combined is not None and combined.timestamp > now:
            around.right = combined
        self._maybe_create_right_window(record, around)
        previous = around.previous_timestamp
        if previous is not None and previous + 1 not in around.starts:
            self._update(previous + 1, timestamped(self._initializer(), now), record, close_time)
        if combined is None:
            combined = timestamped(self._initializer(), now)
        self._update(0, combined, record, close_time)

    def _create_windows(self, record: Record[Any, Any], close_time: int, around: WindowsAround) -> None:
        now = record.timestamp
        previous = around.previous_timestamp
        if previous is not None:
            start = previous + 1
            if start not in around.starts and start + self._difference_ms >= now:
                self._update(start, timestamped(self._initializer(), now), record, close_time)
        if not around.has_left_window:
            if around.left is not None and previous is not None and now - self._difference_ms <= previous:
                aggregate = around.left.value
            else:
                aggregate = self._initializer()
            self._update(now - self._difference_ms, timestamped(aggregate, now), record, close_time)
        self._maybe_create_right_window(record, around)

    def _maybe_create_right_window(self, record: Record[Any, Any], around: WindowsAround) -> None:
        now = record.timestamp
        right = around.right
        if right is not None and right.timestamp > now and not around.has_right_window:
            window = self._window(now + 1)
            self._store.put(record.key, right, window.start)
            self._maybe_forward_update(record, window, None, right.value, right.timestamp)

    def _update(self, start: int, found: ValueAndTimestamp | None, record: Record[Any, Any], close_time: int) -> None:
        window = self._window(start)
        now = record.timestamp
        if window.end < close_time:
            self._drop_expired(now, window, close_time)
            return
        old = None if found is None else found.value
        new = self._aggregator(record.key, record.value, old)
        timestamp = now if found is None else max(now, found.timestamp)
        self._store.put(record.key, timestamped(new, timestamp), start)
        self._maybe_forward_update(record, window, old, new, timestamp)

    def _window(self, start: int) -> Window:
        return TimeWindow(start, start + self._difference_ms)

    def _emit_range_lower_bound(self, last_close_time: int) -> int:
        return 0 if last_close_time == NO_TIMESTAMP else max(0, last_close_time - self._difference_ms)

    def _emit_range_upper_bound(self, close_time: int) -> int:
        return close_time - self._difference_ms - 1
