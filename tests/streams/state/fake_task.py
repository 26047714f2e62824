"""A task that keeps what its stores tell it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kafkapy.streams.processor import Cancellable, Duration, PunctuationType, TaskContext
from kafkapy.streams.records import Headers, RecordContext, RecordMetadata
from kafkapy.streams.state.thread_cache import ThreadCache


class Logged(NamedTuple):
    """A record of a changelog."""

    key: bytes
    value: bytes | None
    timestamp: int | None
    headers: Headers


class FakeTask(TaskContext):
    """The context that stores are given."""

    application_id = "app"
    task_id = "0_0"

    def __init__(self, state_dir: Path, cache_bytes: int = 1_000_000) -> None:
        self.state_dir = state_dir
        self.config: dict[str, Any] = {}
        self.default_key_serde = None
        self.default_value_serde = None
        self.record_context: RecordContext | None = None
        self.cache = ThreadCache(cache_bytes)
        self.logged: dict[str, list[Logged]] = {}
        self.restores: dict[str, Callable[[list[Any]], None]] = {}
        self.dropped = 0

    def at(self, timestamp: int, offset: int = 0, topic: str = "in", headers: Headers | None = None) -> None:
        """A record with this timestamp is processed now."""
        self.record_context = RecordContext(timestamp, offset, 0, topic, [] if headers is None else headers)

    def started(self, store: Any) -> Any:
        """The store, initialized."""
        store.init(self, store)
        return store

    def restore(self, store: Any, records: list[Logged]) -> None:
        self.restores[store.name()](list(records))

    def register_store(self, store: Any, restore: Callable[[list[Any]], None]) -> None:
        self.restores[store.name()] = restore

    def log_change(
        self, store_name: str, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers | None = None
    ) -> None:
        self.logged.setdefault(store_name, []).append(Logged(key, value, timestamp, headers or []))

    def changelog_topic(self, store_name: str) -> str:
        return f"app-{store_name}-changelog"

    def record_dropped(self) -> None:
        self.dropped += 1

    @property
    def current_node(self) -> Any:
        return None

    def set_current_node(self, node: Any) -> None:
        raise NotImplementedError

    def forward(self, record: Any, child_name: str | None = None) -> None:
        raise NotImplementedError

    def get_state_store(self, name: str) -> Any:
        raise NotImplementedError

    def schedule(self, interval: Duration, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        raise NotImplementedError

    def record_metadata(self) -> RecordMetadata | None:
        return None

    def current_stream_time_ms(self) -> int:
        return -1

    def current_system_time_ms(self) -> int:
        return 0

    def commit(self) -> None:
        raise NotImplementedError

    def processor_metadata_for_key(self, key: str) -> int | None:
        return None

    def add_processor_metadata_key_value(self, key: str, value: int) -> None:
        raise NotImplementedError
