"""Factories of the stores of the DSL's operators. Stores are built late, because the type may depend on the
configuration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kafkapy.streams.dsl.dsl_stores import DslStores, dsl_stores
from kafkapy.streams.dsl.store_facts import StoreFacts
from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.topology.store_factory import ChangelogKind
from kafkapy.streams.windows import SessionWindows, SlidingWindows, Windows


class MaterializedStoreFactory(ABC):
    """The `StoreFactory` of a table (Kafka's `MaterializedStoreFactory`)."""

    def __init__(self, facts: StoreFacts) -> None:
        self.facts = facts

    @property
    def name(self) -> str:
        return self.facts.store_name

    @property
    def logging_enabled(self) -> bool:
        return self.facts.logging_enabled

    @property
    def log_config(self) -> Mapping[str, str]:
        return self.facts.log_config

    @property
    @abstractmethod
    def changelog_kind(self) -> ChangelogKind: ...

    @property
    @abstractmethod
    def retention_ms(self) -> int: ...

    @abstractmethod
    def with_caching_disabled(self) -> MaterializedStoreFactory: ...

    def disable_logging(self) -> None:
        """Disable the changelog topic, as the table's source topic replaces it."""
        self.facts.logging_enabled = False
        self.facts.log_config = {}

    def is_compatible_with(self, other: Any) -> bool:
        return isinstance(other, MaterializedStoreFactory) and other.facts is self.facts

    def build(self, config: Mapping[str, Any]) -> Any:
        facts = self.facts
        builder = self._builder(dsl_stores(facts.store_type, config))
        if facts.logging_enabled:
            builder = builder.with_logging_enabled(dict(facts.log_config))
        else:
            builder = builder.with_logging_disabled()
        builder = builder.with_caching_enabled() if self._is_cached() else builder.with_caching_disabled()
        return builder.build(config)

    @abstractmethod
    def _builder(self, stores: DslStores) -> Any:
        """Return a store builder with serdes."""

    def _is_cached(self) -> bool:
        return self.facts.caching_enabled


class KeyValueStoreFactory(MaterializedStoreFactory):
    """Factory for a table that is not windowed (Kafka's `KeyValueStoreMaterializer`)."""

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.VERSIONED if self.facts.is_versioned else ChangelogKind.KEY_VALUE

    @property
    def retention_ms(self) -> int:
        return int(self.facts.supplier.history_retention_ms) if self.facts.is_versioned else 0

    def with_caching_disabled(self) -> KeyValueStoreFactory:
        return KeyValueStoreFactory(replace(self.facts, caching_enabled=False))

    def _builder(self, stores: DslStores) -> Any:
        facts = self.facts
        if facts.is_versioned:
            return Stores.versioned_key_value_store_builder(facts.supplier, facts.key_serde, facts.value_serde)
        supplier = facts.supplier
        if supplier is None:
            supplier = stores.key_value_store(facts.store_name, timestamped=True)
        return Stores.timestamped_key_value_store_builder(supplier, facts.key_serde, facts.value_serde)

    def _is_cached(self) -> bool:
        return self.facts.caching_enabled and not self.facts.is_versioned


class WindowStoreFactory(MaterializedStoreFactory):
    """Factory for a table of windows (Kafka's `WindowStoreMaterializer`, `SlidingWindowStoreMaterializer`).

    Raises:
        ValueError: The retention is too short: windows would be deleted before they are closed.
    """

    def __init__(self, facts: StoreFacts, windows: Windows | SlidingWindows, emit_strategy: EmitStrategy) -> None:
        super().__init__(facts)
        self._windows = windows
        self._emit_strategy = emit_strategy
        self._check_retention()

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.WINDOWED

    @property
    def retention_ms(self) -> int:
        given = self.facts.retention_ms
        return self._needed_ms() if given is None else given

    def with_caching_disabled(self) -> WindowStoreFactory:
        return WindowStoreFactory(replace(self.facts, caching_enabled=False), self._windows, self._emit_strategy)

    def _builder(self, stores: DslStores) -> Any:
        facts = self.facts
        supplier = facts.supplier
        if supplier is None:
            windows = self._windows
            sliding = isinstance(windows, SlidingWindows)
            size_ms = windows.time_difference_ms if isinstance(windows, SlidingWindows) else windows.size_ms
            supplier = stores.window_store(
                facts.store_name,
                self.retention_ms,
                size_ms,
                retain_duplicates=False,
                emit_strategy=self._emit_strategy,
                sliding=sliding,
                timestamped=True,
            )
        return Stores.timestamped_window_store_builder(supplier, facts.key_serde, facts.value_serde)

    def _is_cached(self) -> bool:
        if isinstance(self._windows, SlidingWindows) and self._emit_strategy.emits_on_close:
            return False
        return self.facts.caching_enabled

    def _needed_ms(self) -> int:
        windows = self._windows
        if isinstance(windows, SlidingWindows):
            return 2 * windows.time_difference_ms + windows.grace_period_ms
        return windows.size_ms + windows.grace_period_ms

    def _check_retention(self) -> None:
        if self._needed_ms() <= self.retention_ms:
            return
        windows = self._windows
        if isinstance(windows, SlidingWindows):
            raise ValueError(
                f"The retention period of the window store {self.name} must be no smaller than 2 * time difference plus the "
                f"grace period. Got time difference=[{windows.time_difference_ms}], grace=[{windows.grace_period_ms}], "
                f"retention=[{self.retention_ms}]"
            )
        raise ValueError(
            f"The retention period of the window store {self.name} must be no smaller than its window size plus the grace "
            f"period. Got size=[{windows.size_ms}], grace=[{windows.grace_period_ms}], retention=[{self.retention_ms}]"
        )


class SessionStoreFactory(MaterializedStoreFactory):
    """Factory for a table of sessions (Kafka's `SessionStoreMaterializer`).

    Raises:
        ValueError: The retention is too short: sessions would be deleted before they are closed.
    """

    def __init__(self, facts: StoreFacts, windows: SessionWindows, emit_strategy: EmitStrategy) -> None:
        super().__init__(facts)
        self._windows = windows
        self._emit_strategy = emit_strategy
        if self._needed_ms() > self.retention_ms:
            raise ValueError(
                f"The retention period of the session store {self.name} must be no smaller than the session inactivity gap "
                f"plus the grace period. Got gap=[{windows.inactivity_gap_ms}], grace=[{windows.grace_period_ms}], "
                f"retention=[{self.retention_ms}]"
            )

    @property
    def changelog_kind(self) -> ChangelogKind:
        return ChangelogKind.WINDOWED

    @property
    def retention_ms(self) -> int:
        given = self.facts.retention_ms
        return self._needed_ms() if given is None else given

    def with_caching_disabled(self) -> SessionStoreFactory:
        return SessionStoreFactory(replace(self.facts, caching_enabled=False), self._windows, self._emit_strategy)

    def _builder(self, stores: DslStores) -> Any:
        facts = self.facts
        supplier = facts.supplier
        if supplier is None:
            supplier = stores.session_store(facts.store_name, self.retention_ms, emit_strategy=self._emit_strategy)
        return Stores.session_store_builder(supplier, facts.key_serde, facts.value_serde)

    def _is_cached(self) -> bool:
        return self.facts.caching_enabled and not self._emit_strategy.emits_on_close

    def _needed_ms(self) -> int:
        return self._windows.inactivity_gap_ms + self._windows.grace_period_ms
