"""The record cache of a key-value store."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, is_empty_range, next_prefix
from kafkapy.streams.state.cache_iterators import MergedCacheIterator, compare_bytes
from kafkapy.streams.state.caching_store import CachingStore
from kafkapy.streams.state.thread_cache import LRUCacheEntry


class CachingKeyValueStore(CachingStore, KeyValueBytesStore):
    """Caches written values, and values that were read."""

    def __init__(self, wrapped: KeyValueBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.timestamped = wrapped.timestamped

    def _write_and_forward(self, cache_key: bytes, entry: LRUCacheEntry) -> None:
        self._let_go(cache_key, entry, self.wrapped.get, self._write, (cache_key,))

    def _write(self, address: tuple[bytes], value: bytes | None) -> None:
        self.wrapped.put(address[0], value)

    def get(self, key: bytes) -> bytes | None:
        self._check_open()
        return self._get(key)

    def _get(self, key: bytes) -> bytes | None:
        entry = self._cache.get(key)
        if entry is not None:
            return entry.value
        value = self.wrapped.get(key)
        if value is not None:
            self._cache.put(key, LRUCacheEntry(value))
        return value

    def put(self, key: bytes, value: bytes | None) -> None:
        self._check_open()
        self._cache.put(key, self._new_entry(value))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        self._check_open()
        original = self._get(key)
        if original is None:
            self._cache.put(key, self._new_entry(value))
        return original

    def delete(self, key: bytes) -> bytes | None:
        self._check_open()
        old = self._get(key)
        self._cache.put(key, self._new_entry(None))
        return old

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        if is_empty_range(key_from, key_to):
            return iter(())
        self._check_open()
        stored = self.wrapped.range(key_from, key_to, forward)
        cached = self._cache.keys(key_from, key_to, forward)
        return MergedCacheIterator(cached, stored, _compare, _convert, forward)

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        self._check_open()
        stored = self.wrapped.prefix_scan(prefix)
        cached = self._cache.keys(prefix, next_prefix(prefix), True, include_to=False)
        return MergedCacheIterator(cached, stored, _compare, _convert, True)

    def approximate_num_entries(self) -> int:
        self._check_open()
        return self.wrapped.approximate_num_entries()


def _compare(cache_key: bytes, stored: Entry) -> int:
    return compare_bytes(cache_key, stored[0])


def _convert(cache_key: bytes, value: bytes) -> Entry:
    return cache_key, value
