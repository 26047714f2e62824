"""A key-value store in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, next_prefix
from kafkapy.streams.state.sorted_bytes import SortedBytes
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import with_timestamp


class InMemoryKeyValueStore(KeyValueBytesStore):
    """Values by key, in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._map: SortedBytes[bytes] = SortedBytes()
        self._open = False

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._open = True
        context.register_store(root, self._restore)

    def _restore(self, records: list[Any]) -> None:
        for record in records:
            self.put(record.key, with_timestamp(record.value, record.timestamp) if self.timestamped else record.value)

    def get(self, key: bytes) -> bytes | None:
        return self._map.get(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._map.pop(key)
        else:
            self._map.put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        return self._map.pop(key)

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        return self._entries(self._map.keys(key_from, key_to, forward))

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        return self._entries(self._map.keys(prefix, next_prefix(prefix), include_to=False))

    def _entries(self, keys: list[bytes]) -> Iterator[Entry]:
        """Iterate over the keys at the iterator's creation, with their present values: None for a key deleted
        since."""
        return ((key, self._map.get(key)) for key in keys)  # type: ignore[misc]  # as in Kafka

    def approximate_num_entries(self) -> int:
        return len(self._map)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._map.clear()
        self._open = False

    def persistent(self) -> bool:
        return False

    def is_open(self) -> bool:
        return self._open
