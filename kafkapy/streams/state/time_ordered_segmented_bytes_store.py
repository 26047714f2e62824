"""Bytes in segments, in the order of time within each, and an index by key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import Entry, is_empty_range
from kafkapy.streams.state.prefixed_key_schemas import (
    KEY_FIRST,
    KeyFirstSchema,
    PrefixedKeySchema,
    TimeFirstSessionKeySchema,
    TimeFirstWindowKeySchema,
    session_base_key,
    session_plain_key,
    window_base_key,
    window_plain_key,
)
from kafkapy.streams.state.rocksdb_database import Table
from kafkapy.streams.state.segments import Segments
from kafkapy.streams.state.session_key_schema import SessionKeySchema
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import with_timestamp
from kafkapy.streams.state.window_key_schema import LONG_MAX, WindowKeySchema

_INDEXED: Final = b""


class TimeOrderedSegmentedBytesStore(StateStore):
    """Segments of stores for emission on window close.

    Invariant: for each time-first key there is an index key in the same segment, if there is an index at all. No
    segment is
    out of retention at `observed_stream_time`.

    Windows stay visible for one ms longer than in stores that are ordered by key, as in Kafka.
    """

    def __init__(
        self,
        name: str,
        retention_period: int,
        segment_interval: int,
        has_index: bool,
        sessions: bool,
        timestamped: bool = False,
    ) -> None:
        self._name = name
        self.timestamped = timestamped
        self.has_index = has_index
        self._retention_period = retention_period
        self._is_window = not sessions
        self._base: PrefixedKeySchema = TimeFirstSessionKeySchema() if sessions else TimeFirstWindowKeySchema()
        self._index = KeyFirstSchema(SessionKeySchema() if sessions else WindowKeySchema())
        self._to_base: Callable[[bytes], bytes] = session_base_key if sessions else window_base_key
        self._to_plain: Callable[[bytes], bytes] = session_plain_key if sessions else window_plain_key
        self.segments = Segments(name, retention_period, segment_interval)
        self.observed_stream_time = -1
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self.segments.open(context)
        context.register_store(root, self.restore)

    def restore(self, records: list[Any]) -> None:
        """Put records of the changelog, whose keys are the usual ones."""
        base_keys = [self._to_base(record.key) for record in records]
        for base_key in base_keys:
            self.observed_stream_time = max(self.observed_stream_time, self._base.segment_timestamp(base_key))
        for base_key, record in zip(base_keys, records, strict=True):
            segment = self._segment_to_write(self._base.segment_timestamp(base_key))
            if segment is not None:
                value = with_timestamp(record.value, record.timestamp) if self.timestamped else record.value
                self._write(segment, base_key, value)

    def _segment_to_write(self, timestamp: int) -> Table | None:
        segments = self.segments
        segment = segments.get_or_create_if_live(segments.segment_id(timestamp), self.observed_stream_time)
        segments.drop_expired(self.observed_stream_time)
        return segment

    def _write(self, segment: Table, base_key: bytes, value: bytes | None) -> None:
        if self.has_index:
            segment.put(KEY_FIRST + self._to_plain(base_key), None if value is None else _INDEXED)
        segment.put(base_key, value)

    def put(self, base_key: bytes, value: bytes | None) -> None:
        timestamp = self._base.segment_timestamp(base_key)
        if timestamp > self.observed_stream_time:
            self.observed_stream_time = timestamp
        segment = self._segment_to_write(timestamp)
        if segment is None:
            self._context.record_dropped()
        else:
            self._write(segment, base_key, value)

    def remove(self, base_key: bytes) -> None:
        timestamp = self._base.segment_timestamp(base_key)
        if timestamp > self.observed_stream_time:
            self.observed_stream_time = timestamp
        segment = self.segments.get(timestamp)
        if segment is not None:
            self._write(segment, base_key, None)

    def get(self, base_key: bytes) -> bytes | None:
        timestamp = self._base.segment_timestamp(base_key)
        if timestamp < self._first_time(timestamp):
            return None
        segment = self.segments.get(timestamp)
        return None if segment is None else segment.get(base_key)

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[Entry]:
        """The entries of a key, with time-first keys."""
        first = self._first_time(time_from)
        if self._is_window and time_to < first:
            return iter(())
        schema: PrefixedKeySchema = self._index if self.has_index else self._base
        ends = schema.lower_range_fixed_size(key, first), schema.upper_range_fixed_size(key, time_to)
        segments = self.segments.between(first, schema.last_time_to_search(time_to), forward)
        return self._search(schema, segments, ends, (key, key, first, time_to), forward)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[Entry]:
        """The entries of keys in a span, with time-first keys."""
        first = self._first_time(time_from)
        if is_empty_range(key_from, key_to) or (self._is_window and time_to < first):
            return iter(())
        schema: PrefixedKeySchema = self._index if self.has_index else self._base
        ends = schema.lower_range(key_from, first), schema.upper_range(key_to, time_to)
        segments = self.segments.between(first, schema.last_time_to_search(time_to), forward)
        return self._search(schema, segments, ends, (key_from, key_to, first, time_to), forward)

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[Entry]:
        first = self._first_time(time_from)
        if self._is_window and time_to < first:
            return iter(())
        ends = self._base.lower_range(None, max(0, first)), self._base.upper_range(None, time_to)
        segments = self.segments.between(first, time_to, forward)
        return self._search(self._base, segments, ends, (None, None, first, time_to), forward)

    def all(self, forward: bool) -> Iterator[Entry]:
        first = self._first_time(0)
        ends = self._base.lower_range(None, first), self._base.upper_range(None, LONG_MAX)
        wanted = None, None, first, LONG_MAX
        return self._search(self._base, self.segments.all(forward), ends, wanted, forward)

    def by_session_end(self, earliest_end: int, latest_end: int) -> Iterator[Entry]:
        """The sessions of all keys that end in a span."""
        first, after = self._base.lower_range(None, max(0, earliest_end)), self._base.lower_range(None, latest_end + 1)
        for segment in self.segments.between(earliest_end, latest_end, True):
            for entry in segment.range(first, after, True):
                if earliest_end <= self._base.segment_timestamp(entry[0]) <= latest_end:
                    yield entry

    def _first_time(self, time_from: int) -> int:
        first = self.observed_stream_time - self._retention_period
        return max(time_from, first if self._is_window else first + 1)

    def _search(
        self,
        schema: PrefixedKeySchema,
        segments: list[Table],
        ends: tuple[bytes, bytes],
        wanted: tuple[bytes | None, bytes | None, int, int],
        forward: bool,
    ) -> Iterator[Entry]:
        key_from, key_to, time_from, time_to = wanted
        for segment in segments:
            for data, value in segment.range(ends[0], ends[1], forward):
                if not schema.matches(data, key_from, key_to, time_from, time_to):
                    continue
                if schema is self._base:
                    yield data, value
                    continue
                base_key = self._to_base(data[1:])
                found = self.get(base_key)
                if found is None:
                    segment.put(data, None)
                else:
                    yield base_key, found

    def flush(self) -> None:
        self.segments.database.flush()

    def close(self) -> None:
        self.segments.close()

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self.segments.database.is_open
