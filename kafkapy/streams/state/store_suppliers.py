"""Suppliers of stores of bytes, with kind of storage and retention."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from kafkapy.streams.state.bytes_stores import (
    KeyValueBytesStore,
    SessionBytesStore,
    VersionedBytesStore,
    WindowBytesStore,
)
from kafkapy.streams.state.in_memory_key_value_store import InMemoryKeyValueStore
from kafkapy.streams.state.in_memory_session_store import InMemorySessionStore
from kafkapy.streams.state.in_memory_window_store import InMemoryWindowStore
from kafkapy.streams.state.memory_lru_cache import MemoryNavigableLRUCache
from kafkapy.streams.state.rocksdb_session_store import RocksDBSessionStore
from kafkapy.streams.state.rocksdb_store import RocksDBStore
from kafkapy.streams.state.rocksdb_time_ordered_stores import (
    RocksDBTimeOrderedSessionStore,
    RocksDBTimeOrderedWindowStore,
)
from kafkapy.streams.state.rocksdb_versioned_store import RocksDBVersionedStore
from kafkapy.streams.state.rocksdb_window_store import RocksDBWindowStore

_MIN_SEGMENT_INTERVAL_MS = 60_000


class StoreSupplier(ABC):
    """Supplies stores of bytes; `Stores` returns suppliers.

    Attributes:
        name: Name of the stores.

    Example:
        >>> from kafkapy.streams import Stores
        >>> Stores.in_memory_key_value_store("counts").name
        'counts'
    """

    def __init__(self, name: str) -> None:
        if name is None:
            raise TypeError("name cannot be null")
        self.name = name

    @abstractmethod
    def get(self) -> Any:
        """Return a new store."""


class KeyValueBytesStoreSupplier(StoreSupplier):
    """Supplies key-value stores."""

    @abstractmethod
    def get(self) -> KeyValueBytesStore: ...


class RocksDBKeyValueBytesStoreSupplier(KeyValueBytesStoreSupplier):
    def __init__(self, name: str, timestamped: bool) -> None:
        super().__init__(name)
        self._timestamped = timestamped

    def get(self) -> KeyValueBytesStore:
        return RocksDBStore(self.name, self._timestamped)


class InMemoryKeyValueBytesStoreSupplier(KeyValueBytesStoreSupplier):
    def get(self) -> KeyValueBytesStore:
        return InMemoryKeyValueStore(self.name)


class LRUMapSupplier(KeyValueBytesStoreSupplier):
    def __init__(self, name: str, max_cache_size: int) -> None:
        super().__init__(name)
        if max_cache_size < 0:
            raise ValueError("maxCacheSize cannot be negative")
        self._max_cache_size = max_cache_size

    def get(self) -> KeyValueBytesStore:
        return MemoryNavigableLRUCache(self.name, self._max_cache_size)


class VersionedBytesStoreSupplier(StoreSupplier):
    """Supplies versioned stores.

    Attributes:
        history_retention_ms: How long versions are kept after the end of their validity.
    """

    def __init__(self, name: str, history_retention_ms: int, segment_interval_ms: int | None = None) -> None:
        super().__init__(name)
        if history_retention_ms < 0:
            raise ValueError("historyRetention cannot be negative")
        if segment_interval_ms is not None and segment_interval_ms < 1:
            raise ValueError("segmentInterval cannot be zero or negative")
        self.history_retention_ms = history_retention_ms
        self.segment_interval_ms = segment_interval_ms or _versioned_segment_interval(history_retention_ms)

    def get(self) -> VersionedBytesStore:
        return RocksDBVersionedStore(self.name, self.history_retention_ms, self.segment_interval_ms)


class WindowBytesStoreSupplier(StoreSupplier):
    """Supplies window stores.

    Attributes:
        retention_period: How long windows are kept, ms.
        window_size: Size of windows, ms.
        segment_interval_ms: Length of a segment; expired entries are dropped by segment.
        retain_duplicates: Whether a window retains all values of a key.

    Raises:
        ValueError: A time is negative, or windows would be deleted before they end.
    """

    segment_interval_ms: int = 1

    def __init__(self, name: str, retention_period: int, window_size: int, retain_duplicates: bool) -> None:
        super().__init__(name)
        if retention_period < 0:
            raise ValueError("retentionPeriod cannot be negative")
        if window_size < 0:
            raise ValueError("windowSize cannot be negative")
        if window_size > retention_period:
            raise ValueError(
                f"The retention period of the window store {name} must be no smaller than its window size. Got size="
                f"[{window_size}], retention=[{retention_period}]"
            )
        self.retention_period = retention_period
        self.window_size = window_size
        self.retain_duplicates = retain_duplicates

    @abstractmethod
    def get(self) -> WindowBytesStore: ...


class RocksDbWindowBytesStoreSupplier(WindowBytesStoreSupplier):
    def __init__(
        self, name: str, retention_period: int, window_size: int, retain_duplicates: bool, timestamped: bool
    ) -> None:
        super().__init__(name, retention_period, window_size, retain_duplicates)
        self.segment_interval_ms = _segment_interval(retention_period)
        self._timestamped = timestamped

    def get(self) -> WindowBytesStore:
        return RocksDBWindowStore(
            self.name, self.retention_period, self.segment_interval_ms, self.retain_duplicates, self._timestamped
        )


class RocksDbIndexedTimeOrderedWindowBytesStoreSupplier(WindowBytesStoreSupplier):
    """For emission on window close; sliding windows need the index."""

    def __init__(
        self, name: str, retention_period: int, window_size: int, retain_duplicates: bool, with_index: bool
    ) -> None:
        super().__init__(name, retention_period, window_size, retain_duplicates)
        self.segment_interval_ms = _segment_interval(retention_period)
        self._with_index = with_index

    @staticmethod
    def create(
        name: str, retention_period: int, window_size: int, retain_duplicates: bool, has_index: bool
    ) -> RocksDbIndexedTimeOrderedWindowBytesStoreSupplier:
        return RocksDbIndexedTimeOrderedWindowBytesStoreSupplier(
            name, retention_period, window_size, retain_duplicates, has_index
        )

    def get(self) -> WindowBytesStore:
        return RocksDBTimeOrderedWindowStore(
            self.name, self.retention_period, self.segment_interval_ms, self.retain_duplicates, self._with_index
        )


class InMemoryWindowBytesStoreSupplier(WindowBytesStoreSupplier):
    def get(self) -> WindowBytesStore:
        return InMemoryWindowStore(self.name, self.retention_period, self.retain_duplicates)


class SessionBytesStoreSupplier(StoreSupplier):
    """Supplies session stores.

    Attributes:
        retention_period: How long sessions are kept, ms.
        segment_interval_ms: Length of a segment; expired entries are dropped by segment.

    Raises:
        ValueError: The retention is negative.
    """

    segment_interval_ms: int = 1

    def __init__(self, name: str, retention_period: int) -> None:
        super().__init__(name)
        if retention_period < 0:
            raise ValueError("retentionPeriod cannot be negative")
        self.retention_period = retention_period

    @abstractmethod
    def get(self) -> SessionBytesStore: ...


class RocksDbSessionBytesStoreSupplier(SessionBytesStoreSupplier):
    def __init__(self, name: str, retention_period: int) -> None:
        super().__init__(name, retention_period)
        self.segment_interval_ms = _segment_interval(retention_period)

    def get(self) -> SessionBytesStore:
        return RocksDBSessionStore(self.name, self.retention_period, self.segment_interval_ms)


class RocksDbTimeOrderedSessionBytesStoreSupplier(SessionBytesStoreSupplier):
    """For emission on window close."""

    def __init__(self, name: str, retention_period: int, with_index: bool) -> None:
        super().__init__(name, retention_period)
        self.segment_interval_ms = _segment_interval(retention_period)
        self._with_index = with_index

    def get(self) -> SessionBytesStore:
        return RocksDBTimeOrderedSessionStore(
            self.name, self.retention_period, self.segment_interval_ms, self._with_index
        )


class InMemorySessionBytesStoreSupplier(SessionBytesStoreSupplier):
    def get(self) -> SessionBytesStore:
        return InMemorySessionStore(self.name, self.retention_period)


def _segment_interval(retention_period: int) -> int:
    return max(retention_period // 2, _MIN_SEGMENT_INTERVAL_MS)


def _versioned_segment_interval(history_retention: int) -> int:
    if history_retention <= 60_000:
        return max(history_retention // 3, 2_000)
    if history_retention <= 300_000:
        return max(history_retention // 5, 20_000)
    if history_retention <= 3_600_000:
        return max(history_retention // 12, 60_000)
    return max(history_retention // 24, 300_000)
