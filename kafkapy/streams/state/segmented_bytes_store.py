"""Bytes in segments, in the order of keys within each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import Entry, is_empty_range
from kafkapy.streams.state.rocksdb_database import Table
from kafkapy.streams.state.segments import Segments
from kafkapy.streams.state.session_key_schema import SessionKeySchema
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import with_timestamp
from kafkapy.streams.state.window_key_schema import LONG_MAX, WindowKeySchema


class RocksDBSegmentedBytesStore(StateStore):
    """Segments of window and session stores on disk.

    Invariant: no segment is out of retention at `observed_stream_time`, the highest time put; expired entries of live
    segments are invisible.
    """

    def __init__(
        self,
        name: str,
        retention_period: int,
        segment_interval: int,
        schema: WindowKeySchema | SessionKeySchema,
        timestamped: bool = False,
    ) -> None:
        self._name = name
        self.timestamped = timestamped
        self._retention_period = retention_period
        self._schema = schema
        self._segments = Segments(name, retention_period, segment_interval)
        self.observed_stream_time = -1
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self._segments.open(context)
        context.register_store(root, self._restore)

    def _restore(self, records: list[Any]) -> None:
        segment_timestamp = self._schema.segment_timestamp
        for record in records:
            self.observed_stream_time = max(self.observed_stream_time, segment_timestamp(record.key))
        for record in records:
            segment = self._segment_to_write(segment_timestamp(record.key))
            if segment is not None:
                value = with_timestamp(record.value, record.timestamp) if self.timestamped else record.value
                segment.put(record.key, value)

    def _segment_to_write(self, timestamp: int) -> Table | None:
        segments = self._segments
        segment = segments.get_or_create_if_live(segments.segment_id(timestamp), self.observed_stream_time)
        segments.drop_expired(self.observed_stream_time)
        return segment

    def put(self, data: bytes, value: bytes | None) -> None:
        timestamp = self._schema.segment_timestamp(data)
        if timestamp > self.observed_stream_time:
            self.observed_stream_time = timestamp
        segment = self._segment_to_write(timestamp)
        if segment is None:
            self._context.record_dropped()
        else:
            segment.put(data, value)

    def remove(self, data: bytes) -> None:
        timestamp = self._schema.segment_timestamp(data)
        if timestamp > self.observed_stream_time:
            self.observed_stream_time = timestamp
        segment = self._segments.get(timestamp)
        if segment is not None:
            segment.put(data, None)

    def get(self, data: bytes) -> bytes | None:
        timestamp = self._schema.segment_timestamp(data)
        if timestamp < self.observed_stream_time - self._retention_period + 1:
            return None
        segment = self._segments.get(timestamp)
        return None if segment is None else segment.get(data)

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[Entry]:
        schema = self._schema
        first = self._first_time(time_from)
        if schema.is_window and time_to < first:
            return iter(())
        return self._search(
            self._segments.between(first, schema.last_time_to_search(time_to), forward),
            (schema.lower_range_fixed_size(key, first), schema.upper_range_fixed_size(key, time_to)),
            (key, key, first, time_to),
            forward,
        )

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[Entry]:
        schema = self._schema
        first = self._first_time(time_from)
        if is_empty_range(key_from, key_to) or (schema.is_window and time_to < first):
            return iter(())
        return self._search(
            self._segments.between(first, schema.last_time_to_search(time_to), forward),
            (schema.lower_range(key_from, first), schema.upper_range(key_to, time_to)),
            (key_from, key_to, first, time_to),
            forward,
        )

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[Entry]:
        first = self._first_time(time_from)
        if time_to < first:
            return iter(())
        segments = self._segments.between(first, time_to, forward)
        return self._search(segments, (None, None), (None, None, first, time_to), forward)

    def all(self, forward: bool) -> Iterator[Entry]:
        return self.fetch_range(None, None, 0, LONG_MAX, forward)

    def _first_time(self, time_from: int) -> int:
        return max(time_from, self.observed_stream_time - self._retention_period + 1)

    def _search(
        self,
        segments: list[Table],
        ends: tuple[bytes | None, bytes | None],
        wanted: tuple[bytes | None, bytes | None, int, int],
        forward: bool,
    ) -> Iterator[Entry]:
        matches = self._schema.matches
        key_from, key_to, time_from, time_to = wanted
        for segment in segments:
            for entry in segment.range(ends[0], ends[1], forward):
                if matches(entry[0], key_from, key_to, time_from, time_to):
                    yield entry

    def flush(self) -> None:
        self._segments.database.flush()

    def close(self) -> None:
        self._segments.close()

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self._segments.database.is_open
