"""What a topology has to know of a store before it is made."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Protocol


class ChangelogKind(Enum):
    """What the configs of a store's changelog topic go by."""

    KEY_VALUE = "key-value"
    """Compacted."""
    WINDOWED = "windowed"
    """Compacted, and deleted after the store's retention."""
    VERSIONED = "versioned"
    """Compacted no earlier than after the history's retention."""


class StoreFactory(Protocol):
    """Makes one store for each task. `StoreBuilder` is one, and so are the factories of the DSL, which learn late of which kind a
    store is (`default.dsl.store`)."""

    @property
    def name(self) -> str: ...

    @property
    def logging_enabled(self) -> bool: ...

    @property
    def log_config(self) -> Mapping[str, str]:
        """Configs of the changelog topic beside Kafka's."""

    @property
    def changelog_kind(self) -> ChangelogKind: ...

    @property
    def retention_ms(self) -> int:
        """Of a windowed store, or of a versioned store's history; 0 for others."""

    def with_caching_disabled(self) -> StoreFactory:
        """The same without a cache (`statestore.cache.max.bytes` is 0)."""

    def is_compatible_with(self, other: Any) -> bool:
        """Whether the other may stand for this one: two operators may ask for one store."""

    def build(self, config: Mapping[str, Any]) -> Any:
        """A new store.

        Args:
            config: The application's.
        """
