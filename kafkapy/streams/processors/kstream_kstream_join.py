"""`KStream.join`, `left_join` and `outer_join` with a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.final_results import internal_long
from kafkapy.streams.processors.time_tracker import MAX_TIMESTAMP, TimeTracker, TimeTrackerSupplier
from kafkapy.streams.records import Record
from kafkapy.streams.state.stream_join_serdes import LeftOrRightValue, TimestampedKeyAndJoinSide

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext
    from kafkapy.streams.windows import JoinWindows

EMIT_INTERVAL: Final = "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__"
"""An internal configuration of Kafka's, in ms."""

DEFAULT_EMIT_INTERVAL_MS: Final = 1000

ValueJoinerWithKey = Callable[[Any, Any, Any], Any]
"""Takes the key, this side's value and the other side's; returns the result."""


class KStreamKStreamJoin:
    """Supplies the processors of one side of a join.

    Args:
        other_window_name: Name of the other side's window store.
        windows: Largest time differences, from the left side's point of view.
        joiner: Takes this side's value before the other's.
        outer: Whether records of this side without a match have a result.
        outer_join_window_name: Name of the store of such records; None for an inner join.
        shared_time_tracker_supplier: Supplier of the time tracker, shared by both sides.
    """

    _is_left: bool

    def __init__(
        self,
        other_window_name: str,
        windows: JoinWindows,
        joiner: ValueJoinerWithKey,
        outer: bool,
        outer_join_window_name: str | None,
        shared_time_tracker_supplier: TimeTrackerSupplier,
    ) -> None:
        self.other_window_name = other_window_name
        self.windows = windows
        self.joiner = joiner
        self.outer = outer
        self.outer_join_window_name = outer_join_window_name
        self.shared_time_tracker_supplier = shared_time_tracker_supplier

    def __call__(self) -> Processor:
        return KStreamKStreamJoinProcessor(self, self._is_left)


class KStreamKStreamJoinLeftSide(KStreamKStreamJoin):
    """Joins records of the left side with earlier ones of the right side."""

    _is_left = True


class KStreamKStreamJoinRightSide(KStreamKStreamJoin):
    """Joins records of the right side with earlier ones of the left side."""

    _is_left = False


class KStreamKStreamJoinProcessor(Processor):
    """Drops records with a null key or value, but one with a null key alone has a result on the outer side.

    Invariant: an outer side's record without a match is in the outer-join store until it has a match, or until its
    window is closed, when its result is emitted.
    """

    _context: TaskContext
    _other_store: Any
    _time: TimeTracker

    def __init__(self, supplier: KStreamKStreamJoin, is_left: bool) -> None:
        self._supplier = supplier
        self._joiner = supplier.joiner
        self._outer = supplier.outer
        self._is_left = is_left
        windows = supplier.windows
        self._windows_before_ms = windows.before_ms
        self._windows_after_ms = windows.after_ms
        self._before_ms = windows.before_ms if is_left else windows.after_ms
        self._after_ms = windows.after_ms if is_left else windows.before_ms
        self._grace_ms = windows.grace_period_ms
        self._outer_store: Any = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        supplier = self._supplier
        self._other_store = context.get_state_store(supplier.other_window_name)
        self._time = supplier.shared_time_tracker_supplier.get(self._context.task_id)
        self._time.emit_interval_ms = internal_long(self._context.config, EMIT_INTERVAL, DEFAULT_EMIT_INTERVAL_MS)
        if supplier.outer_join_window_name is not None:
            self._outer_store = context.get_state_store(supplier.outer_join_window_name)

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        value = record.value
        now = record.timestamp
        time = self._time
        if now > time.stream_time:
            time.stream_time = now
        if value is None or key is None:
            if self._outer and value is not None:
                self._forward_without_partner(record)
            else:
                drop(self._context, "due to null key or value")
            return
        if self._outer_store is not None and now == time.stream_time:
            self._emit_non_joined_outer_records(record)
        latest = max(0, now + self._after_ms)
        has_partner = False
        for other_timestamp, other_value in self._other_store.fetch(key, max(0, now - self._before_ms), latest):
            has_partner = True
            self._emit_inner_join(record, other_timestamp, other_value)
        if has_partner or not self._outer:
            return
        if self._outer_store is None or latest < time.stream_time:
            self._forward_without_partner(record)
        else:
            time.min_time = min(time.min_time, now)
            waiting = LeftOrRightValue(value, None) if self._is_left else LeftOrRightValue(None, value)
            self._outer_store.put(TimestampedKeyAndJoinSide(key, now, self._is_left), waiting)

    def close(self) -> None:
        self._supplier.shared_time_tracker_supplier.remove(self._context.task_id)

    def _forward_without_partner(self, record: Record[Any, Any]) -> None:
        result = self._joiner(record.key, record.value, None)
        self._context.forward(Record(record.key, result, record.timestamp, record.headers))

    def _emit_inner_join(self, record: Record[Any, Any], other_timestamp: int, other_value: Any) -> None:
        key = record.key
        if self._outer_store is not None:
            self._outer_store.put_if_absent(TimestampedKeyAndJoinSide(key, other_timestamp, not self._is_left), None)
        result = self._joiner(key, record.value, other_value)
        self._context.forward(Record(key, result, max(record.timestamp, other_timestamp), record.headers))

    def _emit_non_joined_outer_records(self, record: Record[Any, Any]) -> None:
        """Emit results of unmatched records whose windows are closed, unless the emit interval of wall-clock time is
        not over."""
        time = self._time
        if time.is_open(self._after_ms + self._grace_ms):
            return
        now = self._context.current_system_time_ms()
        if now < time.next_time_to_emit:
            return
        time.next_time_to_emit = now + time.emit_interval_ms
        time.min_time = MAX_TIMESTAMP
        store = self._outer_store
        left_is_open = right_is_open = False
        emitted: TimestampedKeyAndJoinSide | None = None
        for waiting, value in store.all():
            time.min_time = waiting.timestamp
            if left_is_open and right_is_open:
                break
            if time.is_open(self._grace_ms + (self._windows_after_ms if waiting.is_left else self._windows_before_ms)):
                if waiting.is_left:
                    left_is_open = True
                else:
                    right_is_open = True
                continue
            self._emit_outer(record, waiting, value)
            # A key may have several records; it is deleted after the last of them was read.
            if emitted is not None and emitted != waiting:
                store.put(emitted, None)
            emitted = waiting
        if emitted is not None:
            store.put(emitted, None)

    def _emit_outer(
        self, record: Record[Any, Any], waiting: TimestampedKeyAndJoinSide, value: LeftOrRightValue
    ) -> None:
        this, other = value if self._is_left else (value.right, value.left)
        result = self._joiner(waiting.key, this, other)
        self._context.forward(Record(waiting.key, result, waiting.timestamp, record.headers))
