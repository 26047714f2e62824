"""Factories of stores, with the facts that a topology needs before the store is built."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Protocol


class ChangelogKind(Enum):
    """The kind of a store, which determines the configs of its changelog topic."""

    KEY_VALUE = "key-value"
    """The changelog is compacted."""
    WINDOWED = "windowed"
    """The changelog is compacted, and deleted after the store's retention."""
    VERSIONED = "versioned"
    """The changelog is compacted no earlier than after the history's retention."""


class StoreFactory(Protocol):
    """Builds a store for each task. Implementations are `StoreBuilder`, and the factories of the DSL, for which the
    kind of the store (`default.dsl.store`) is known late."""

    @property
    def name(self) -> str: ...

    @property
    def logging_enabled(self) -> bool: ...

    @property
    def log_config(self) -> Mapping[str, str]:
        """Return the changelog topic's configs in addition to Kafka's."""

    @property
    def changelog_kind(self) -> ChangelogKind: ...

    @property
    def retention_ms(self) -> int:
        """Return the retention of a windowed store, or of a versioned store's history, in ms; 0 for others."""

    def with_caching_disabled(self) -> StoreFactory:
        """Return a factory of the same store without cache (`statestore.cache.max.bytes` is 0)."""

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether the other factory can replace this one: two operators may share a store."""

    def build(self, config: Mapping[str, Any]) -> Any:
        """Build a new store.

        Args:
            config: The application's configuration.
        """
