"""The factory of suppliers and builders of stores."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.store_builders import (
    KeyValueStoreBuilder,
    SessionStoreBuilder,
    StoreBuilder,
    TimestampedKeyValueStoreBuilder,
    TimestampedWindowStoreBuilder,
    VersionedKeyValueStoreBuilder,
    WindowStoreBuilder,
)
from kafkapy.streams.state.store_suppliers import (
    InMemoryKeyValueBytesStoreSupplier,
    InMemorySessionBytesStoreSupplier,
    InMemoryWindowBytesStoreSupplier,
    LRUMapSupplier,
    RocksDBKeyValueBytesStoreSupplier,
    RocksDbSessionBytesStoreSupplier,
    RocksDbWindowBytesStoreSupplier,
    StoreSupplier,
    VersionedBytesStoreSupplier,
)


class Stores:
    """Returns suppliers, which define the storage, and builders, which add serdes, changelog and cache.

    Example:
        >>> from kafkapy.streams.serdes import Serdes
        >>> supplier = Stores.persistent_window_store("per-minute", 3_600_000, 60_000, False)
        >>> builder = Stores.window_store_builder(supplier, Serdes.string(), Serdes.long())
        >>> builder.name, builder.retention_ms
        ('per-minute', 3600000)
    """

    @staticmethod
    def persistent_key_value_store(name: str) -> StoreSupplier:
        """On disk.

        Args:
            name: Name of the store.

        Raises:
            TypeError: The name is None.
        """
        return RocksDBKeyValueBytesStoreSupplier(name, False)

    @staticmethod
    def persistent_timestamped_key_value_store(name: str) -> StoreSupplier:
        """On disk, with timestamps.

        Args:
            name: Name of the store.

        Raises:
            TypeError: The name is None.
        """
        return RocksDBKeyValueBytesStoreSupplier(name, True)

    @staticmethod
    def persistent_versioned_key_value_store(
        name: str, history_retention: Duration, segment_interval: Duration | None = None
    ) -> StoreSupplier:
        """On disk, with the history of each key.

        Args:
            name: Name of the store.
            history_retention: For how long; updates that are older are dropped.
            segment_interval: Length of a segment; expired history is dropped by segment. None: derived from the
                retention.

        Raises:
            TypeError: The name is None.
            ValueError: A time is negative.
        """
        interval = None if segment_interval is None else milliseconds(segment_interval, "segmentInterval")
        return VersionedBytesStoreSupplier(name, milliseconds(history_retention, "historyRetention"), interval)

    @staticmethod
    def in_memory_key_value_store(name: str) -> StoreSupplier:
        """In memory.

        Args:
            name: Name of the store.

        Raises:
            TypeError: The name is None.
        """
        return InMemoryKeyValueBytesStoreSupplier(name)

    @staticmethod
    def lru_map(name: str, max_cache_size: int) -> StoreSupplier:
        """In memory; retains the most recently used keys.

        Args:
            name: Name of the store.
            max_cache_size: Largest number of keys.

        Raises:
            TypeError: The name is None.
            ValueError: The size is negative.
        """
        return LRUMapSupplier(name, max_cache_size)

    @staticmethod
    def persistent_window_store(
        name: str, retention_period: Duration, window_size: Duration, retain_duplicates: bool
    ) -> StoreSupplier:
        """Windows on disk.

        Args:
            name: Name of the store.
            retention_period: Windows that began that long before the latest one may be dropped.
            window_size: Size of the windows.
            retain_duplicates: Keep all values of a key and window.

        Raises:
            TypeError: The name is None.
            ValueError: A time is negative, or the size greater than the retention.
        """
        return _persistent_window_store(name, retention_period, window_size, retain_duplicates, False)

    @staticmethod
    def persistent_timestamped_window_store(
        name: str, retention_period: Duration, window_size: Duration, retain_duplicates: bool
    ) -> StoreSupplier:
        """Like `persistent_window_store`, with timestamps.

        Args:
            name: The name.
            retention_period: How long windows are kept, a `timedelta` or ms.
            window_size: Length of a window, a `timedelta` or ms.
            retain_duplicates: Whether a key may have several values in a window.
        """
        return _persistent_window_store(name, retention_period, window_size, retain_duplicates, True)

    @staticmethod
    def in_memory_window_store(
        name: str, retention_period: Duration, window_size: Duration, retain_duplicates: bool
    ) -> StoreSupplier:
        """Like `persistent_window_store`, in memory.

        Args:
            name: The name.
            retention_period: How long windows are kept, a `timedelta` or ms.
            window_size: Length of a window, a `timedelta` or ms.
            retain_duplicates: Whether a key may have several values in a window.
        """
        return InMemoryWindowBytesStoreSupplier(
            name,
            milliseconds(retention_period, "retentionPeriod"),
            milliseconds(window_size, "windowSize"),
            retain_duplicates,
        )

    @staticmethod
    def persistent_session_store(name: str, retention_period: Duration) -> StoreSupplier:
        """Sessions on disk.

        Args:
            name: Name of the store.
            retention_period: Sessions that ended that long before the latest one may be dropped.

        Raises:
            TypeError: The name is None.
            ValueError: The retention is negative.
        """
        return RocksDbSessionBytesStoreSupplier(name, milliseconds(retention_period, "retentionPeriod"))

    @staticmethod
    def in_memory_session_store(name: str, retention_period: Duration) -> StoreSupplier:
        """Like `persistent_session_store`, in memory.

        Args:
            name: The name.
            retention_period: How long windows are kept, a `timedelta` or ms.
        """
        return InMemorySessionBytesStoreSupplier(name, milliseconds(retention_period, "retentionPeriod"))

    @staticmethod
    def key_value_store_builder(
        supplier: StoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> StoreBuilder:
        """A builder of a `KeyValueStore`.

        Args:
            supplier: One of the key-value suppliers.
            key_serde: None: `default.key.serde`.
            value_serde: None: `default.value.serde`.

        Raises:
            TypeError: The supplier is None.
        """
        return KeyValueStoreBuilder(supplier, key_serde, value_serde)  # type: ignore[arg-type]  # the face has one class

    @staticmethod
    def timestamped_key_value_store_builder(
        supplier: StoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> StoreBuilder:
        """Like `key_value_store_builder`, of a `TimestampedKeyValueStore`; the serde is that of plain values.

        Args:
            supplier: A supplier of `Stores`.
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return TimestampedKeyValueStoreBuilder(supplier, key_serde, value_serde)  # type: ignore[arg-type]

    @staticmethod
    def versioned_key_value_store_builder(
        supplier: StoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> StoreBuilder:
        """Like `key_value_store_builder`, of a `VersionedKeyValueStore`.

        Args:
            supplier: A supplier of `Stores`.
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return VersionedKeyValueStoreBuilder(supplier, key_serde, value_serde)  # type: ignore[arg-type]

    @staticmethod
    def window_store_builder(
        supplier: StoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> StoreBuilder:
        """Like `key_value_store_builder`, of a `WindowStore`.

        Args:
            supplier: A supplier of `Stores`.
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return WindowStoreBuilder(supplier, key_serde, value_serde)  # type: ignore[arg-type]

    @staticmethod
    def timestamped_window_store_builder(
        supplier: StoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> StoreBuilder:
        """Like `key_value_store_builder`, of a `TimestampedWindowStore`; the serde is that of plain values.

        Args:
            supplier: A supplier of `Stores`.
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return TimestampedWindowStoreBuilder(supplier, key_serde, value_serde)  # type: ignore[arg-type]

    @staticmethod
    def session_store_builder(
        supplier: StoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> StoreBuilder:
        """Like `key_value_store_builder`, of a `SessionStore`.

        Args:
            supplier: A supplier of `Stores`.
            key_serde: Serde of keys. None: the default serde.
            value_serde: Serde of values. None: the default serde.
        """
        return SessionStoreBuilder(supplier, key_serde, value_serde)  # type: ignore[arg-type]


def _persistent_window_store(
    name: str, retention_period: Duration, window_size: Duration, retain_duplicates: bool, timestamped: bool
) -> StoreSupplier:
    return RocksDbWindowBytesStoreSupplier(
        name,
        milliseconds(retention_period, "retentionPeriod"),
        milliseconds(window_size, "windowSize"),
        retain_duplicates,
        timestamped,
    )
