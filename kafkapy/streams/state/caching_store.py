"""Common base of the caching layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.errors import InvalidStateStoreException
from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Change, Record
from kafkapy.streams.state.bytes_stores import BytesStore, FlushListener, WrappedStore
from kafkapy.streams.state.context import record_context
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.thread_cache import DirtyEntries, LRUCacheEntry, NamedCache


class CachingStore(WrappedStore):
    """Buffers puts in the cache, which flushes them at a commit, or when it is full.

    Invariant: while an entry is flushed, the task's record context is that of the entry's record.
    """

    def __init__(self, wrapped: BytesStore) -> None:
        super().__init__(wrapped)
        self._inner = wrapped
        self._flush_listener: FlushListener | None = None
        self._send_old_values = False
        self._cache: NamedCache
        self._context: TaskContext

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self._cache = context.cache.named(f"{context.task_id}-{self.name()}")
        self._cache.listener = self._on_flush
        self._inner.init(context, root)

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        self._flush_listener = listener
        self._send_old_values = send_old_values
        return True

    def _on_flush(self, entries: DirtyEntries) -> None:
        for key, entry in entries:
            self._write_and_forward(key, entry)

    def _write_and_forward(self, cache_key: bytes, entry: LRUCacheEntry) -> None:
        raise NotImplementedError

    def _let_go(
        self,
        key: bytes,
        entry: LRUCacheEntry,
        read: Callable[..., bytes | None],
        write: Callable[..., Any],
        address: tuple[Any, ...],
    ) -> None:
        """Write an entry to the store below, and call the listener.

        Args:
            key: The key for the listener.
            entry: The last entry put.
            read: Returns the value in the store below at the address.
            write: Writes to the store below.
            address: The arguments of `read`.
        """
        new = entry.value
        old: bytes | None = None
        if self._flush_listener is not None:
            if new is None or self._send_old_values:
                old = read(*address)
            if new is None and old is None:
                return
        context = self._context
        current = context.record_context
        context.record_context = entry.context
        try:
            write(address, new)
            if self._flush_listener is not None:
                change = Change(new, old if self._send_old_values else None)
                self._flush_listener(Record(key, change, entry.context.timestamp, entry.context.headers))
        finally:
            context.record_context = current

    def _new_entry(self, value: bytes | None) -> LRUCacheEntry:
        return LRUCacheEntry(value, record_context(self._context), True)

    def _check_open(self) -> None:
        if not self._inner.is_open():
            raise InvalidStateStoreException(f"Store {self.name()} is currently closed.")

    def flush(self) -> None:
        self._cache.flush()
        self._inner.flush()

    def flush_cache(self) -> None:
        self._cache.flush()

    def clear_cache(self) -> None:
        self._cache.clear()

    def close(self) -> None:
        try:
            self._cache.flush()
        finally:
            self._context.cache.close(self._cache.name)
            self._inner.close()
