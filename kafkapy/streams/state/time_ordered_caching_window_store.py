"""The record cache of a window store that is ordered by time."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.records import RecordContext
from kafkapy.streams.state.bytes_stores import WindowBytesStore, WindowEntry, is_empty_range
from kafkapy.streams.state.cache_iterators import (
    CachedEntry,
    FilteredCacheIterator,
    MergedCacheIterator,
    PeekingCacheIterator,
    SegmentedCacheIterator,
    compare_bytes,
)
from kafkapy.streams.state.caching_store import CachingStore
from kafkapy.streams.state.context import record_context
from kafkapy.streams.state.prefixed_key_schemas import (
    KEY_FIRST,
    TIME_FIRST,
    KeyFirstSchema,
    PrefixedKeySchema,
    TimeFirstWindowKeySchema,
    key_of_time_first_window,
    start_of_time_first_window,
    time_first_window_key,
    window_base_key,
    window_plain_key,
)
from kafkapy.streams.state.segmented_cache import SEGMENT_ID_SIZE, SegmentedCacheFunction
from kafkapy.streams.state.thread_cache import DirtyEntries, LRUCacheEntry
from kafkapy.streams.state.window_key_schema import LONG_MAX, WindowKeySchema, store_key, store_start


class TimeOrderedCachingWindowStore(CachingStore, WindowBytesStore):
    """Values under time-first keys and, with an index, empty entries under key-first ones.

    Invariant: an index entry is flushed as the value that it refers to, once; one without a value is not flushed.
    """

    timestamped = True

    def __init__(self, wrapped: WindowBytesStore, segment_interval: int, has_index: bool) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.has_index = has_index
        self._base_schema = TimeFirstWindowKeySchema()
        self._index_schema = KeyFirstSchema(WindowKeySchema())
        self._base = SegmentedCacheFunction(self._base_schema, segment_interval)
        self._index = SegmentedCacheFunction(self._index_schema, segment_interval)
        self._max_observed_timestamp = -1

    def _on_flush(self, entries: DirtyEntries) -> None:
        done: set[bytes] = set()
        for cache_key, entry in entries:
            data = cache_key[SEGMENT_ID_SIZE:]
            base_key = data if data[:1] == TIME_FIRST else window_base_key(data[1:])
            if self.has_index and base_key in done:
                continue
            found: LRUCacheEntry | None = entry
            if data[:1] != TIME_FIRST:
                found = self._cache.get(self._base.cache_key(base_key))
                if found is None:
                    continue
            done.add(base_key)
            assert found is not None
            self._write_and_forward(base_key, found)

    def _write_and_forward(self, cache_key: bytes, entry: LRUCacheEntry) -> None:
        address = key_of_time_first_window(cache_key), start_of_time_first_window(cache_key)
        self._let_go(window_plain_key(cache_key), entry, self.wrapped.fetch_at, self._write, address)

    def _write(self, address: tuple[bytes, int], value: bytes | None) -> None:
        self.wrapped.put(address[0], value, address[1])

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        self._check_open()
        base_key = time_first_window_key(key, start, 0)
        self._cache.put(self._base.cache_key(base_key), self._new_entry(value))
        if self.has_index:
            index_key = KEY_FIRST + window_plain_key(base_key)
            origin = record_context(self._context)
            context = RecordContext(origin.timestamp, origin.offset, origin.partition, "", [])
            self._cache.put(self._index.cache_key(index_key), LRUCacheEntry(b"", context, True))
        if start > self._max_observed_timestamp:
            self._max_observed_timestamp = start

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        self._check_open()
        entry = self._cache.get(self._base.cache_key(time_first_window_key(key, start, 0)))
        return self.wrapped.fetch_at(key, start) if entry is None else entry.value

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        self._check_open()
        stored = self.wrapped.fetch(key, time_from, time_to, forward)
        cached = self._cached(key, key, time_from, time_to, forward, self.has_index)
        return MergedCacheIterator(cached, stored, _compare_start, _convert_start, forward)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        if is_empty_range(key_from, key_to):
            return iter(())
        self._check_open()
        stored = self.wrapped.fetch_range(key_from, key_to, time_from, time_to, forward)
        cached = self._cached(key_from, key_to, time_from, time_to, forward, self.has_index)
        compare = self._compare_by_key if self.has_index else self._compare_by_time
        return MergedCacheIterator(cached, stored, compare, _convert, forward)

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]:
        self._check_open()
        stored = self.wrapped.fetch_all(time_from, time_to, forward)
        return self._merged_by_time(stored, time_from, time_to, forward)

    def all(self, forward: bool) -> Iterator[WindowEntry]:
        self._check_open()
        return self._merged_by_time(self.wrapped.all(forward), 0, LONG_MAX, forward)

    def _merged_by_time(
        self, stored: Iterator[WindowEntry], time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        cached = self._cached(None, None, time_from, time_to, forward, False)
        return MergedCacheIterator(cached, stored, self._compare_by_time, _convert, forward)

    def _cached(
        self,
        key_from: bytes | None,
        key_to: bytes | None,
        time_from: int,
        time_to: int,
        forward: bool,
        by_index: bool,
    ) -> FilteredCacheIterator:
        schema: PrefixedKeySchema = self._index_schema if by_index else self._base_schema
        wanted = key_from, key_to, time_from, time_to
        found: PeekingCacheIterator = TimeOrderedSegments(self, schema, wanted).iterator(forward)
        if by_index:
            found = IndexedCacheIterator(self, found)
        return FilteredCacheIterator(found, schema, wanted)

    def _compare_by_time(self, cache_key: bytes, stored: WindowEntry) -> int:
        return compare_bytes(cache_key, self._base.cache_key(time_first_window_key(stored[0], stored[1], 0)))

    def _compare_by_key(self, cache_key: bytes, stored: WindowEntry) -> int:
        plain = window_plain_key(time_first_window_key(stored[0], stored[1], 0))
        return compare_bytes(cache_key, self._index.cache_key(KEY_FIRST + plain))


class IndexedCacheIterator:
    """Iterates over index entries of the cache with the values that they refer to; those without a value are
    skipped."""

    def __init__(self, store: TimeOrderedCachingWindowStore, index: PeekingCacheIterator) -> None:
        self._store = store
        self._index = index

    def peek(self) -> CachedEntry | None:
        store = self._store
        while True:
            cached = self._index.peek()
            if cached is None:
                return None
            base_key = window_base_key(cached[0][SEGMENT_ID_SIZE + 1 :])
            entry = store._cache.get(store._base.cache_key(base_key))
            if entry is not None:
                return cached[0], entry
            self._index.advance()

    def advance(self) -> None:
        self._index.advance()


class TimeOrderedSegments:
    """The bounds of a query in each segment of the cache."""

    def __init__(
        self,
        store: TimeOrderedCachingWindowStore,
        schema: PrefixedKeySchema,
        wanted: tuple[bytes | None, bytes | None, int, int],
    ) -> None:
        self._store = store
        self._schema = schema
        self._function = store._base
        self._wanted = wanted
        self._forward = True

    def iterator(self, forward: bool) -> SegmentedCacheIterator:
        self._forward = forward
        first, last = self._function.segment_id(self._wanted[2]), self._last()
        if forward:
            return SegmentedCacheIterator(self._store._cache, self._bounds, first, self._last, True)
        return SegmentedCacheIterator(self._store._cache, self._bounds, last, lambda: first, False)

    def _last_time(self) -> int:
        return min(self._wanted[3], self._store._max_observed_timestamp)

    def _last(self) -> int:
        return self._function.segment_id(self._last_time())

    def _bounds(self, segment_id: int, is_first: bool) -> tuple[bytes | None, bytes | None]:
        key_from, key_to, time_from, time_to = self._wanted
        begin = segment_id * self._function.segment_interval
        low, high = begin, min(time_to, begin + self._function.segment_interval - 1)
        if is_first and self._forward:
            low = time_from
        elif is_first:
            high = self._last_time()
        schema, cache_key_in = self._schema, self._function.cache_key_in
        if key_from is not None and key_from == key_to:
            lower, upper = schema.lower_range_fixed_size(key_from, low), schema.upper_range_fixed_size(key_from, high)
        else:
            lower, upper = schema.lower_range(key_from, low), schema.upper_range(key_to, time_to)
        return cache_key_in(lower, segment_id), cache_key_in(upper, segment_id)


def _start(cache_key: bytes) -> int:
    data = cache_key[SEGMENT_ID_SIZE:]
    return start_of_time_first_window(data) if data[:1] == TIME_FIRST else store_start(data)


def _compare_start(cache_key: bytes, stored: tuple[int, bytes]) -> int:
    return _start(cache_key) - stored[0]


def _convert_start(cache_key: bytes, value: bytes) -> tuple[int, bytes]:
    return _start(cache_key), value


def _convert(cache_key: bytes, value: bytes) -> WindowEntry:
    data = cache_key[SEGMENT_ID_SIZE:]
    if data[:1] == TIME_FIRST:
        return key_of_time_first_window(data), start_of_time_first_window(data), value
    return store_key(data[1:]), store_start(data), value
