"""Builders of stores: their layers, and the facts that the topology needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, TypeVar

from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.bytes_stores import KeyValueBytesStore, WindowBytesStore
from kafkapy.streams.state.caching_key_value_store import CachingKeyValueStore
from kafkapy.streams.state.caching_session_store import CachingSessionStore
from kafkapy.streams.state.caching_window_store import CachingWindowStore
from kafkapy.streams.state.change_logging_stores import (
    ChangeLoggingKeyValueBytesStore,
    ChangeLoggingSessionBytesStore,
    ChangeLoggingTimestampedKeyValueBytesStore,
    ChangeLoggingTimestampedWindowBytesStore,
    ChangeLoggingVersionedKeyValueBytesStore,
    ChangeLoggingWindowBytesStore,
)
from kafkapy.streams.state.metered_key_value_store import MeteredKeyValueStore, MeteredTimestampedKeyValueStore
from kafkapy.streams.state.metered_session_store import MeteredSessionStore
from kafkapy.streams.state.metered_versioned_key_value_store import MeteredVersionedKeyValueStore
from kafkapy.streams.state.metered_window_store import MeteredTimestampedWindowStore, MeteredWindowStore
from kafkapy.streams.state.rocksdb_time_ordered_stores import RocksDBTimeOrderedWindowStore
from kafkapy.streams.state.store_suppliers import (
    KeyValueBytesStoreSupplier,
    SessionBytesStoreSupplier,
    VersionedBytesStoreSupplier,
    WindowBytesStoreSupplier,
)
from kafkapy.streams.state.time_ordered_caching_window_store import TimeOrderedCachingWindowStore
from kafkapy.streams.state.timestamped_adapters import (
    KeyValueToTimestampedKeyValueByteStoreAdapter,
    WindowToTimestampedWindowByteStoreAdapter,
)
from kafkapy.streams.topology.store_factory import ChangelogKind

B = TypeVar("B", bound="StoreBuilder")


class StoreBuilder(ABC):
    """Builds a store with its layers. Immutable: the `with_…` methods return copies.

    Attributes:
        name: Name of the store.
        logging_enabled: Whether there is a changelog. Default: True.
        log_config: Configs of the changelog topic in addition to Kafka's.
        caching_enabled: Whether there is a record cache. Default: False.
        key_serde: Serde of keys. None: the default serde.
        value_serde: Serde of values. None: the default serde.

    Example:
        >>> from kafkapy.streams.serdes import Serdes
        >>> from kafkapy.streams.state.stores import Stores
        >>> supplier = Stores.in_memory_key_value_store("seen")
        >>> builder = Stores.key_value_store_builder(supplier, Serdes.string(), Serdes.long())
        >>> builder.with_logging_disabled().logging_enabled
        False
    """

    def __init__(self, name: str, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None) -> None:
        if name is None:
            raise TypeError("name cannot be null")
        self.name = name
        self.logging_enabled = True
        self.log_config: dict[str, str] = {}
        self.caching_enabled = False
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._origin: StoreBuilder = self

    def with_caching_enabled(self: B) -> B:
        """Return a copy with a record cache: of a key's updates only the last one of a commit is forwarded."""
        return self._with(caching_enabled=True)

    def with_caching_disabled(self: B) -> B:
        """Return a copy without a record cache."""
        return self._with(caching_enabled=False)

    def with_logging_enabled(self: B, config: Mapping[str, str]) -> B:
        """Return a copy with a changelog topic.

        Args:
            config: Configs of the topic in addition to Kafka's.

        Raises:
            TypeError: The configs are None.
        """
        if config is None:
            raise TypeError("config can't be null")
        return self._with(logging_enabled=True, log_config={**self.log_config, **config})

    def with_logging_disabled(self: B) -> B:
        """Return a copy without a changelog topic: the store's content is lost when its task moves."""
        return self._with(logging_enabled=False, log_config={})

    def _with(self: B, **changes: Any) -> B:
        changed = copy(self)
        for name, value in changes.items():
            setattr(changed, name, value)
        return changed

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.KEY_VALUE

    @property
    def retention_ms(self) -> int:
        """Return the retention of a windowed store, or of a versioned store's history, in ms; 0 for others."""
        return 0

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether the other builder can replace this one: only if both are copies of one builder.

        Args:
            other: The other side.
        """
        return isinstance(other, StoreBuilder) and other._origin is self._origin

    @abstractmethod
    def build(self, config: Mapping[str, Any] | None = None) -> Any:
        """Build a new store.

        Args:
            config: The application's configuration; ignored for stores of suppliers.
        """


class KeyValueStoreBuilder(StoreBuilder):
    """Builds a `KeyValueStore`."""

    def __init__(
        self, supplier: KeyValueBytesStoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(_given(supplier).name, key_serde, value_serde)
        self._supplier = supplier

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredKeyValueStore[Any, Any]:
        store = self._supplier.get()
        if self.logging_enabled:
            store = ChangeLoggingKeyValueBytesStore(store)
        if self.caching_enabled:
            store = CachingKeyValueStore(store)
        return MeteredKeyValueStore(store, self._key_serde, self._value_serde)


class TimestampedKeyValueStoreBuilder(StoreBuilder):
    """Builds a `TimestampedKeyValueStore`."""

    def __init__(
        self, supplier: KeyValueBytesStoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(_given(supplier).name, key_serde, value_serde)
        self._supplier = supplier

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredTimestampedKeyValueStore[Any]:
        store: KeyValueBytesStore = self._supplier.get()
        if not store.timestamped:
            if store.persistent():
                store = KeyValueToTimestampedKeyValueByteStoreAdapter(store)
            else:
                store.timestamped = True
        if self.logging_enabled:
            store = ChangeLoggingTimestampedKeyValueBytesStore(store)
        if self.caching_enabled:
            store = CachingKeyValueStore(store)
        return MeteredTimestampedKeyValueStore(store, self._key_serde, self._value_serde)


class VersionedKeyValueStoreBuilder(StoreBuilder):
    """Builds a `VersionedKeyValueStore`.

    Raises:
        RuntimeError: A cache was requested.
    """

    def __init__(
        self, supplier: VersionedBytesStoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(_given(supplier).name, key_serde, value_serde)
        self._supplier = supplier

    def with_caching_enabled(self: B) -> B:
        raise RuntimeError("Versioned stores do not support caching")

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.VERSIONED

    @property
    def retention_ms(self) -> int:
        return self._supplier.history_retention_ms

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredVersionedKeyValueStore[Any, Any]:
        store = self._supplier.get()
        if self.logging_enabled:
            store = ChangeLoggingVersionedKeyValueBytesStore(store)
        return MeteredVersionedKeyValueStore(store, self._key_serde, self._value_serde)


class WindowStoreBuilder(StoreBuilder):
    """Builds a `WindowStore`; with duplicates there is no cache, and the changelog is not compacted."""

    def __init__(
        self, supplier: WindowBytesStoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(_given(supplier).name, key_serde, value_serde)
        self._supplier = supplier
        if supplier.retain_duplicates:
            self.log_config = {"cleanup.policy": "delete"}

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.WINDOWED

    @property
    def retention_ms(self) -> int:
        return self._supplier.retention_period

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredWindowStore[Any, Any]:
        supplier = self._supplier
        store: WindowBytesStore = supplier.get()
        if self.logging_enabled:
            store = ChangeLoggingWindowBytesStore(store, supplier.retain_duplicates)
        if self.caching_enabled and not supplier.retain_duplicates:
            store = CachingWindowStore(store, supplier.segment_interval_ms)
        return MeteredWindowStore(store, supplier.window_size, self._key_serde, self._value_serde)


class TimestampedWindowStoreBuilder(StoreBuilder):
    """Builds a `TimestampedWindowStore`; with duplicates there is no cache."""

    def __init__(
        self, supplier: WindowBytesStoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(_given(supplier).name, key_serde, value_serde)
        self._supplier = supplier

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.WINDOWED

    @property
    def retention_ms(self) -> int:
        return self._supplier.retention_period

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredTimestampedWindowStore[Any]:
        supplier = self._supplier
        store: WindowBytesStore = supplier.get()
        ordered_by_time = store if isinstance(store, RocksDBTimeOrderedWindowStore) else None
        if not store.timestamped:
            if store.persistent():
                store = WindowToTimestampedWindowByteStoreAdapter(store)
            else:
                store.timestamped = True
        if self.logging_enabled:
            store = ChangeLoggingTimestampedWindowBytesStore(store, supplier.retain_duplicates)
        if self.caching_enabled and not supplier.retain_duplicates:
            interval = supplier.segment_interval_ms
            if ordered_by_time is not None:
                store = TimeOrderedCachingWindowStore(store, interval, ordered_by_time.has_index)
            else:
                store = CachingWindowStore(store, interval)
        return MeteredTimestampedWindowStore(store, supplier.window_size, self._key_serde, self._value_serde)


class SessionStoreBuilder(StoreBuilder):
    """Builds a `SessionStore`."""

    def __init__(
        self, supplier: SessionBytesStoreSupplier, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(_given(supplier).name, key_serde, value_serde)
        self._supplier = supplier

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.WINDOWED

    @property
    def retention_ms(self) -> int:
        return self._supplier.retention_period

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredSessionStore[Any, Any]:
        store = self._supplier.get()
        if self.logging_enabled:
            store = ChangeLoggingSessionBytesStore(store)
        if self.caching_enabled:
            store = CachingSessionStore(store, self._supplier.segment_interval_ms)
        return MeteredSessionStore(store, self._key_serde, self._value_serde)


def _given(supplier: Any) -> Any:
    if supplier is None:
        raise TypeError("supplier cannot be null")
    return supplier
