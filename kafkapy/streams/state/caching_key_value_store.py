"""The record cache of a key-value store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kafkapy.streams.records import RecordContext
from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, is_empty_range, next_prefix
from kafkapy.streams.state.cache_iterators import MergedCacheIterator, compare_bytes
from kafkapy.streams.state.caching_store import CachingStore
from kafkapy.streams.state.thread_cache import DirtyEntries, LRUCacheEntry


class BatchListener(Protocol):
    """Forwards the changes of a flush as one batch."""

    def accepts(self, entries: DirtyEntries) -> bool:
        """Return whether `forward` can be called."""

    def forward(self, entries: DirtyEntries) -> None:
        """Forward the entries, which are stored; each has a value."""


class CachingKeyValueStore(CachingStore, KeyValueBytesStore):
    """Caches written values, and values that were read."""

    def __init__(self, wrapped: KeyValueBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.timestamped = wrapped.timestamped
        self._batch_listener: BatchListener | None = None

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

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """Return the value of each key."""
        self._check_open()
        get = self._get
        return [get(key) for key in keys]

    def put_many(self, rows: Iterable[tuple[bytes, bytes | None, RecordContext]]) -> None:
        """Put values, each with the context of its record."""
        self._check_open()
        put = self._cache.put
        for key, value, context in rows:
            put(key, LRUCacheEntry(value, context, True))

    def set_batch_listener(self, listener: BatchListener) -> None:
        """Set the listener that is called with all changes of a flush if none of them is a deletion."""
        self._batch_listener = listener

    def _on_flush(self, entries: DirtyEntries) -> None:
        listener = self._batch_listener
        if listener is None or self._send_old_values or any(entry.value is None for _, entry in entries):
            super()._on_flush(entries)
            return
        if not listener.accepts(entries):
            super()._on_flush(entries)
            return
        self.wrapped.put_all([(key, entry.value) for key, entry in entries])
        listener.forward(entries)

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
