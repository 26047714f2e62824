"""The record cache of a session store."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.state.bytes_stores import SessionBytesStore, SessionEntry, is_empty_range
from kafkapy.streams.state.cache_iterators import (
    FilteredCacheIterator,
    MergedCacheIterator,
    PeekingCacheIterator,
    SegmentedCacheIterator,
    compare_bytes,
)
from kafkapy.streams.state.caching_store import CachingStore
from kafkapy.streams.state.segmented_cache import SEGMENT_ID_SIZE, SegmentedCacheFunction
from kafkapy.streams.state.session_key_schema import SessionKeySchema, from_session_key, to_session_key
from kafkapy.streams.state.thread_cache import LRUCacheEntry
from kafkapy.streams.state.window_key_schema import LONG_MAX


class CachingSessionStore(CachingStore, SessionBytesStore):
    """Orders cache keys by segments of the sessions' ends, like the store."""

    def __init__(self, wrapped: SessionBytesStore, segment_interval: int) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self._schema = SessionKeySchema()
        self._function = SegmentedCacheFunction(self._schema, segment_interval)
        self._max_observed_timestamp = -1

    def _write_and_forward(self, cache_key: bytes, entry: LRUCacheEntry) -> None:
        data = cache_key[SEGMENT_ID_SIZE:]
        self._let_go(data, entry, self.wrapped.fetch_session, self._write, from_session_key(data))

    def _write(self, address: tuple[bytes, int, int], aggregate: bytes | None) -> None:
        self.wrapped.put(*address, aggregate)

    def put(self, key: bytes, start: int, end: int, aggregate: bytes | None) -> None:
        self._check_open()
        self._cache.put(self._function.cache_key(to_session_key(key, start, end)), self._new_entry(aggregate))
        if end > self._max_observed_timestamp:
            self._max_observed_timestamp = end

    def remove(self, key: bytes, start: int, end: int) -> None:
        self.put(key, start, end, None)

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        self._check_open()
        entry = self._cache.get(self._function.cache_key(to_session_key(key, start, end)))
        return self.wrapped.fetch_session(key, start, end) if entry is None else entry.value

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[SessionEntry]:
        self._check_open()
        found: PeekingCacheIterator
        if self.wrapped.persistent():
            found = SessionSegments(self, key, earliest_end, latest_start).iterator(forward)
        else:
            low = self._function.cache_key(self._schema.lower_range_fixed_size(key, earliest_end))
            high = self._function.cache_key(self._schema.upper_range_fixed_size(key, latest_start))
            found = self._cache.keys(low, high, forward)
        cached = FilteredCacheIterator(found, self._schema, (key, key, earliest_end, latest_start))
        stored = self.wrapped.find_sessions(key, earliest_end, latest_start, forward)
        return MergedCacheIterator(cached, stored, self._compare, _convert, forward)

    def find_sessions_range(
        self, key_from: bytes | None, key_to: bytes | None, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]:
        if is_empty_range(key_from, key_to):
            return iter(())
        self._check_open()
        lower = self._schema.lower_range(key_from, earliest_end)
        upper = self._schema.upper_range(key_to, latest_start)
        found = self._cache.keys(
            None if lower is None else self._function.cache_key(lower),
            None if upper is None else self._function.cache_key(upper),
            forward,
        )
        cached = FilteredCacheIterator(found, self._schema, (key_from, key_to, earliest_end, latest_start))
        stored = self.wrapped.find_sessions_range(key_from, key_to, earliest_end, latest_start, forward)
        return MergedCacheIterator(cached, stored, self._compare, _convert, forward)

    def fetch(self, key: bytes, forward: bool) -> Iterator[SessionEntry]:
        return self.find_sessions(key, 0, LONG_MAX, forward)

    def fetch_range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[SessionEntry]:
        return self.find_sessions_range(key_from, key_to, 0, LONG_MAX, forward)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        raise NotImplementedError("This API is not supported by this implementation of SessionStore.")

    def _compare(self, cache_key: bytes, stored: SessionEntry) -> int:
        key, start, end, _ = stored
        return compare_bytes(cache_key, self._function.cache_key(to_session_key(key, start, end)))


class SessionSegments:
    """The bounds of a query for a key's sessions in each segment of the cache.

    In cases where Kafka throws an exception, such as a backward query for sessions that started in a segment before
    the last one, the bounds are those of the whole segment.
    """

    def __init__(self, store: CachingSessionStore, key: bytes, earliest_end: int, latest_start: int) -> None:
        self._store = store
        self._function = store._function
        self._key = key
        self._earliest_end = earliest_end
        self._latest_start = latest_start
        self._forward = True

    def iterator(self, forward: bool) -> SegmentedCacheIterator:
        self._forward = forward
        first, last = self._function.segment_id(self._earliest_end), self._last()
        if forward:
            return SegmentedCacheIterator(self._store._cache, self._bounds, first, self._last, True)
        return SegmentedCacheIterator(self._store._cache, self._bounds, last, lambda: first, False)

    def _last(self) -> int:
        return self._function.segment_id(self._store._max_observed_timestamp)

    def _bounds(self, segment_id: int, is_first: bool) -> tuple[bytes | None, bytes | None]:
        begin = segment_id * self._function.segment_interval
        low, high = begin, begin + self._function.segment_interval - 1
        if is_first and self._forward:
            low = self._earliest_end
        elif is_first:
            latest = min(self._latest_start, self._store._max_observed_timestamp)
            if self._function.segment_id(latest) == segment_id:
                high = max(0, latest)
        cache_key_in = self._function.cache_key_in
        return (
            cache_key_in(to_session_key(self._key, 0, max(0, low)), segment_id),
            cache_key_in(to_session_key(self._key, min(self._latest_start, high), high), segment_id),
        )


def _convert(cache_key: bytes, aggregate: bytes) -> SessionEntry:
    key, start, end = from_session_key(cache_key[SEGMENT_ID_SIZE:])
    return key, start, end, aggregate
