"""Joins a stream with itself, which needs only one store (`topology.optimization`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.kstream_kstream_join import ValueJoinerWithKey
from kafkapy.streams.processors.time_tracker import NO_TIMESTAMP
from kafkapy.streams.records import Record

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext
    from kafkapy.streams.windows import JoinWindows


class KStreamKStreamSelfJoin:
    """Supplies the processors of a self join.

    Args:
        window_name: Name of the stream's window store.
        windows: Largest time differences.
        joiner_this: Takes the left value before the right one.
        retention_period: Retention of the store, ms.
    """

    def __init__(
        self, window_name: str, windows: JoinWindows, joiner_this: ValueJoinerWithKey, retention_period: int
    ) -> None:
        self.window_name = window_name
        self.windows = windows
        self.joiner_this = joiner_this
        self.retention_period = retention_period

    def __call__(self) -> Processor:
        return KStreamKStreamSelfJoinProcessor(self)


class KStreamKStreamSelfJoinProcessor(Processor):
    """Emits results in the order of a stream-stream join: the record as left side, with itself, as right side.

    Drops records with a null key or value. Invariant: `_stream_time` is the highest timestamp of a record that was not
    dropped.
    """

    _context: TaskContext
    _store: Any

    def __init__(self, supplier: KStreamKStreamSelfJoin) -> None:
        self._window_name = supplier.window_name
        self._before_ms = supplier.windows.before_ms
        self._after_ms = supplier.windows.after_ms
        self._joiner = supplier.joiner_this
        self._retention_ms = supplier.retention_period
        self._stream_time = NO_TIMESTAMP

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._store = context.get_state_store(self._window_name)

    def process(self, record: Record[Any, Any]) -> None:
        key = record.key
        value = record.value
        if key is None or value is None:
            drop(self._context, "due to null key or value")
            return
        now = record.timestamp
        with_itself = self._joiner(key, value, value)
        self._stream_time = max(self._stream_time, now)
        is_due = now > self._stream_time - self._retention_ms + 1
        for other_timestamp, other in self._store.fetch(
            key, max(0, now - self._before_ms), max(0, now + self._after_ms)
        ):
            self._forward(record, self._joiner(key, value, other), max(now, other_timestamp))
        for other_timestamp, other in self._store.fetch(
            key, max(0, now - self._after_ms), max(0, now + self._before_ms)
        ):
            if is_due and now < other_timestamp:
                is_due = False
                self._forward(record, with_itself, now)
            self._forward(record, self._joiner(key, other, value), max(now, other_timestamp))
        if is_due:
            self._forward(record, with_itself, now)

    def _forward(self, record: Record[Any, Any], result: Any, timestamp: int) -> None:
        self._context.forward(Record(record.key, result, timestamp, record.headers))
