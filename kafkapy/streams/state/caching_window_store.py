"""The record cache of a window store."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.state.bytes_stores import WindowBytesStore, WindowEntry, is_empty_range
from kafkapy.streams.state.cache_iterators import (
    FilteredCacheIterator,
    MergedCacheIterator,
    PeekingCacheIterator,
    SegmentedCacheIterator,
    compare_bytes,
)
from kafkapy.streams.state.caching_store import CachingStore
from kafkapy.streams.state.segmented_cache import SEGMENT_ID_SIZE, SegmentedCacheFunction
from kafkapy.streams.state.thread_cache import LRUCacheEntry
from kafkapy.streams.state.window_key_schema import WindowKeySchema, store_key, store_start, to_store_key


class CachingWindowStore(CachingStore, WindowBytesStore):
    """Orders cache keys by segments, like the store, so that iterators over both have the same order."""

    def __init__(self, wrapped: WindowBytesStore, segment_interval: int) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.timestamped = wrapped.timestamped
        self._schema = WindowKeySchema()
        self._function = SegmentedCacheFunction(self._schema, segment_interval)
        self._max_observed_timestamp = -1

    def _write_and_forward(self, cache_key: bytes, entry: LRUCacheEntry) -> None:
        data = cache_key[SEGMENT_ID_SIZE:]
        self._let_go(data, entry, self.wrapped.fetch_at, self._write, (store_key(data), store_start(data)))

    def _write(self, address: tuple[bytes, int], value: bytes | None) -> None:
        self.wrapped.put(address[0], value, address[1])

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        self._check_open()
        self._cache.put(self._function.cache_key(to_store_key(key, start, 0)), self._new_entry(value))
        if start > self._max_observed_timestamp:
            self._max_observed_timestamp = start

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        self._check_open()
        entry = self._cache.get(self._function.cache_key(to_store_key(key, start, 0)))
        return self.wrapped.fetch_at(key, start) if entry is None else entry.value

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        self._check_open()
        stored = self.wrapped.fetch(key, time_from, time_to, forward)
        cached = self._cached(key, key, time_from, time_to, forward)
        return MergedCacheIterator(cached, stored, _compare_start, _convert_start, forward)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        if is_empty_range(key_from, key_to):
            return iter(())
        self._check_open()
        stored = self.wrapped.fetch_range(key_from, key_to, time_from, time_to, forward)
        cached = self._cached(key_from, key_to, time_from, time_to, forward)
        return MergedCacheIterator(cached, stored, self._compare, _convert, forward)

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]:
        self._check_open()
        stored = self.wrapped.fetch_all(time_from, time_to, forward)
        wanted = None, None, time_from, time_to
        cached = FilteredCacheIterator(self._cache.keys(None, None, forward), self._schema, wanted)
        return MergedCacheIterator(cached, stored, self._compare, _convert, forward)

    def all(self, forward: bool) -> Iterator[WindowEntry]:
        self._check_open()
        stored = self.wrapped.all(forward)
        return MergedCacheIterator(self._cache.keys(None, None, forward), stored, self._compare, _convert, forward)

    def _cached(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> FilteredCacheIterator:
        found: PeekingCacheIterator
        if self.wrapped.persistent():
            found = WindowSegments(self, key_from, key_to, time_from, time_to).iterator(forward)
        else:
            cache_key = self._function.cache_key
            low: bytes | None
            high: bytes | None
            if key_from is not None and key_from == key_to:
                low = cache_key(self._schema.lower_range_fixed_size(key_from, time_from))
                high = cache_key(self._schema.upper_range_fixed_size(key_from, time_to))
            else:
                lower = self._schema.lower_range(key_from, time_from)
                upper = self._schema.upper_range(key_to, time_to)
                low = None if lower is None else cache_key(lower)
                high = None if upper is None else cache_key(upper)
            found = self._cache.keys(low, high, forward)
        return FilteredCacheIterator(found, self._schema, (key_from, key_to, time_from, time_to))

    def _compare(self, cache_key: bytes, stored: WindowEntry) -> int:
        return compare_bytes(cache_key, self._function.cache_key(to_store_key(stored[0], stored[1], 0)))


class WindowSegments:
    """The bounds of a query in each segment of the cache."""

    def __init__(
        self, store: CachingWindowStore, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int
    ) -> None:
        self._store = store
        self._function = store._function
        self._schema = store._schema
        self._keys = key_from, key_to
        self._times = time_from, time_to
        self._forward = True

    def iterator(self, forward: bool) -> SegmentedCacheIterator:
        self._forward = forward
        first, last = self._function.segment_id(self._times[0]), self._last()
        if forward:
            return SegmentedCacheIterator(self._store._cache, self._bounds, first, self._last, True)
        return SegmentedCacheIterator(self._store._cache, self._bounds, last, lambda: first, False)

    def _last_time(self) -> int:
        return min(self._times[1], self._store._max_observed_timestamp)

    def _last(self) -> int:
        return self._function.segment_id(self._last_time())

    def _bounds(self, segment_id: int, is_first: bool) -> tuple[bytes | None, bytes | None]:
        begin = segment_id * self._function.segment_interval
        low, high = begin, min(self._times[1], begin + self._function.segment_interval - 1)
        if is_first and self._forward:
            low = self._times[0]
        elif is_first:
            high = self._last_time()
        key_from, key_to = self._keys
        cache_key_in = self._function.cache_key_in
        if key_from is not None and key_from == key_to:
            return (
                cache_key_in(to_store_key(key_from, max(0, low), 0), segment_id),
                cache_key_in(self._schema.upper_range_fixed_size(key_from, max(0, high)), segment_id),
            )
        lower, upper = self._schema.lower_range(key_from, low), self._schema.upper_range(key_to, self._times[1])
        return (
            None if lower is None else cache_key_in(lower, segment_id),
            None if upper is None else cache_key_in(upper, segment_id),
        )


def _compare_start(cache_key: bytes, stored: tuple[int, bytes]) -> int:
    return store_start(cache_key) - stored[0]


def _convert_start(cache_key: bytes, value: bytes) -> tuple[int, bytes]:
    return store_start(cache_key), value


def _convert(cache_key: bytes, value: bytes) -> WindowEntry:
    return store_key(cache_key[SEGMENT_ID_SIZE:]), store_start(cache_key), value
