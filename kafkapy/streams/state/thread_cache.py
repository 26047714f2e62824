"""The record cache of a thread: it buffers puts of the thread's stores, so that only the last update of a key is
forwarded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import cycle
from typing import Final

from kafkapy.streams.records import RecordContext
from kafkapy.streams.state.sorted_bytes import SortedBytes

_NODE_SIZE: Final = 24
_CONTEXT_SIZE: Final = 20
"""Bytes of timestamp, offset and partition."""
NO_CONTEXT: Final = RecordContext(-1, -1, -1, "", [])


def context_size(context: RecordContext) -> int:
    """Return Kafka's estimate of a context's size in memory."""
    size = _CONTEXT_SIZE
    if context.topic is not None:
        size += utf16_length(context.topic)
    for name, value in context.headers:
        size += utf16_length(name) + (0 if value is None else len(value))
    return size


def utf16_length(text: str) -> int:
    """Return a string's length in Java (in UTF-16 code units)."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class LRUCacheEntry:
    """A value in the cache, with the context of its record.

    Attributes:
        value: None: deleted.
        dirty: Whether it must still be flushed.
        size: Kafka's estimate in bytes.
    """

    __slots__ = ("context", "dirty", "size", "value")

    def __init__(self, value: bytes | None, context: RecordContext = NO_CONTEXT, dirty: bool = False) -> None:
        self.value = value
        self.context = context
        self.dirty = dirty
        self.size = 1 + (0 if value is None else len(value)) + context_size(context)


DirtyEntries = list[tuple[bytes, LRUCacheEntry]]
DirtyEntryListener = Callable[[DirtyEntries], None]


class ThreadCache:
    """The caches of a thread's stores, which share its size.

    Invariant: `size_bytes` is the sum of the changes of the caches' sizes by puts, evictions, flushes and deletions,
    counted as in Kafka: a put caused by a flush of the same cache is counted by both. After a put, the put's cache is
    empty, or `size_bytes` is at most `max_size_bytes`.
    """

    def __init__(self, max_size_bytes: int) -> None:
        self.max_size_bytes = max_size_bytes
        self.size_bytes = 0
        self._caches: dict[str, NamedCache] = {}

    def named(self, namespace: str) -> NamedCache:
        """Return the cache of this name; create it if it is missing."""
        cache = self._caches.get(namespace)
        if cache is None:
            cache = self._caches[namespace] = NamedCache(namespace, self)
        return cache

    def flush(self, namespace: str) -> None:
        """Flush the dirty entries of one cache."""
        cache = self._caches.get(namespace)
        if cache is not None:
            cache.flush()

    def close(self, namespace: str) -> None:
        """Remove a cache."""
        cache = self._caches.pop(namespace, None)
        if cache is not None:
            cache.forget()

    def resize(self, max_size_bytes: int) -> None:
        """Set the size; evict from the caches in turn until they fit."""
        self.max_size_bytes = max_size_bytes
        if not self._caches:
            return
        for cache in cycle(list(self._caches.values())):
            if self.size_bytes <= self.max_size_bytes or not any(len(other) for other in self._caches.values()):
                return
            cache.evict()

    def __len__(self) -> int:
        return sum(len(cache) for cache in self._caches.values())


class NamedCache:
    """The cache of one store.

    Invariant: `_recency` is the dict of `_entries`, in the order of use, the longest unused first. `_dirty` has the keys of
    dirty entries in the order in which they were put last. `size_bytes` is the sum of their sizes.
    """

    def __init__(self, name: str, parent: ThreadCache) -> None:
        self.name = name
        self.listener: DirtyEntryListener | None = None
        self.size_bytes = 0
        self._parent = parent
        self._recency: OrderedDict[bytes, LRUCacheEntry] = OrderedDict()
        self._entries: SortedBytes[LRUCacheEntry] = SortedBytes(self._recency)
        self._dirty: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._recency)

    def get(self, key: bytes) -> LRUCacheEntry | None:
        """Return the entry of a key, and mark it as most recently used."""
        entry = self._recency.get(key)
        if entry is not None:
            self._recency.move_to_end(key)
        return entry

    def put(self, key: bytes, entry: LRUCacheEntry) -> None:
        """Set an entry; evict others if the cache is full.

        Raises:
            RuntimeError: A clean entry would replace a dirty one.
        """
        before = self.size_bytes
        self._put(key, entry)
        parent = self._parent
        parent.size_bytes += self.size_bytes - before
        while parent.size_bytes > parent.max_size_bytes and self._recency:
            self.evict()

    def _put(self, key: bytes, entry: LRUCacheEntry) -> None:
        if not entry.dirty and key in self._dirty:
            raise RuntimeError(
                f"Attempting to put a clean entry for key {key!r} into NamedCache {self.name} when it already contains "
                "a dirty entry for the same key"
            )
        known = self._recency.get(key)
        if known is not None:
            self.size_bytes -= len(key) + _NODE_SIZE + known.size
        self._entries.put(key, entry)
        self._recency.move_to_end(key)
        if entry.dirty:
            self._dirty.pop(key, None)
            self._dirty[key] = None
        self.size_bytes += len(key) + _NODE_SIZE + entry.size

    def evict(self) -> None:
        """Remove the least recently used entry; if it is dirty, flush all dirty entries first."""
        before = self.size_bytes
        if self._recency:
            key = next(iter(self._recency))
            entry = self._remove(key)
            if entry is not None and entry.dirty:
                self._flush(key, entry)
        self._parent.size_bytes += self.size_bytes - before

    def flush(self) -> None:
        """Flush all dirty entries, in the order of their last puts."""
        before = self.size_bytes
        self._flush(None, None)
        self._parent.size_bytes += self.size_bytes - before

    def _flush(self, evicted_key: bytes | None, evicted: LRUCacheEntry | None) -> None:
        if self.listener is None:
            raise ValueError(f"No listener for namespace {self.name} registered with cache")
        if not self._dirty:
            return
        entries: DirtyEntries = []
        deleted: list[bytes] = []
        if evicted_key is not None and evicted is not None:
            entries.append((evicted_key, evicted))
            self._dirty.pop(evicted_key, None)
        for key in self._dirty:
            entry = self._recency[key]
            entries.append((key, entry))
            entry.dirty = False
            if entry.value is None:
                deleted.append(key)
        self._dirty.clear()
        self.listener(entries)
        for key in deleted:
            self._delete(key)

    def delete(self, key: bytes) -> LRUCacheEntry | None:
        """Remove an entry without flushing it."""
        before = self.size_bytes
        entry = self._delete(key)
        self._parent.size_bytes += self.size_bytes - before
        return entry

    def _delete(self, key: bytes) -> LRUCacheEntry | None:
        entry = self._remove(key)
        if entry is not None:
            self._dirty.pop(key, None)
        return entry

    def _remove(self, key: bytes) -> LRUCacheEntry | None:
        entry = self._entries.pop(key)
        if entry is not None:
            self.size_bytes -= len(key) + _NODE_SIZE + entry.size
        return entry

    def keys(
        self, key_from: bytes | None, key_to: bytes | None, forward: bool, include_to: bool = True
    ) -> CacheIterator:
        """Return the entries from one key to another; a bound of None is open."""
        return CacheIterator(self, self._entries.keys(key_from, key_to, forward, include_to))

    def clear(self) -> None:
        """Discard all entries, including dirty ones."""
        self._parent.size_bytes -= self.size_bytes
        self.size_bytes = 0
        self._recency = OrderedDict()
        self._entries = SortedBytes(self._recency)
        self._dirty.clear()

    def forget(self) -> None:
        """Like `clear`, and remove the listener."""
        self.clear()
        self.listener = None


class CacheIterator:
    """Iterates over the keys that the cache had at the iterator's creation; each entry read counts as used."""

    def __init__(self, cache: NamedCache, keys: list[bytes]) -> None:
        self._cache = cache
        self._keys = keys
        self._index = 0
        self._next: tuple[bytes, LRUCacheEntry] | None = None

    def peek(self) -> tuple[bytes, LRUCacheEntry] | None:
        """Return the next entry with its key; None at the end."""
        while self._next is None and self._index < len(self._keys):
            key = self._keys[self._index]
            self._index += 1
            entry = self._cache.get(key)
            if entry is not None:
                self._next = (key, entry)
        return self._next

    def advance(self) -> None:
        """Skip the entry that `peek` returned."""
        self._next = None
