"""The stores of a task (Kafka's `ProcessorStateManager`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.streams.errors import ProcessorStateException, StreamsException

Restore = Callable[[list[Any]], None]


class StateManager:
    """The stores, which are flushed in the order of their registration.

    Invariant: `stores` has each open store; `restores` has the function that restores each store from its changelog's
    records.

    Args:
        changelogs: Changelog topics by store name.
    """

    def __init__(self, changelogs: Mapping[str, str]) -> None:
        self.stores: dict[str, Any] = {}
        self.restores: dict[str, Restore] = {}
        self.changelogs = changelogs

    def register(self, store: Any, restore: Restore) -> None:
        """Register an initialized store.

        Raises:
            ValueError: Another store has this name.
        """
        name = store.name()
        if name in self.stores:
            raise ValueError(f"Store {name} has already been registered.")
        self.stores[name] = store
        self.restores[name] = restore

    def flush_caches(self) -> None:
        """Flush the stores' caches to the output and the changelogs."""
        self._each("flush_cache", "flush cache of")

    def flush(self) -> None:
        """Write the stores to disk."""
        self._each("flush", "flush")

    def close(self) -> None:
        self._each("close", "close")
        self.stores.clear()
        self.restores.clear()

    def _each(self, method: str, what: str) -> None:
        """Call a method of all stores, even if one fails; raise the first error at the end."""
        first: Exception | None = None
        for name, store in self.stores.items():
            try:
                getattr(store, method)()
            except StreamsException as error:
                first = first or error
            except Exception as error:
                if first is None:
                    first = ProcessorStateException(f"Failed to {what} state store {name}")
                    first.__cause__ = error
        if first is not None:
            raise first
