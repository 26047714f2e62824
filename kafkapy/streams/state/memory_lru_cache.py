"""A key-value store in memory that retains the most recently used entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, is_empty_range, next_prefix
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import with_timestamp


class MemoryNavigableLRUCache(KeyValueBytesStore):
    """Values by key, at most `max_cache_size`.

    Invariant: the dict is in the order of use, the longest unused key first.
    """

    def __init__(self, name: str, max_cache_size: int) -> None:
        self._name = name
        self._max_cache_size = max_cache_size
        self._map: dict[bytes, bytes] = {}
        self._open = True
        self._restoring = False
        self.eviction_listener: Callable[[bytes], None] | None = None
        """Called with an evicted key, to delete it from the changelog."""

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        context.register_store(root, self._restore)

    def _restore(self, records: list[Any]) -> None:
        self._restoring = True
        for record in records:
            self.put(record.key, with_timestamp(record.value, record.timestamp) if self.timestamped else record.value)
        self._restoring = False

    def get(self, key: bytes) -> bytes | None:
        value = self._map.pop(key, None)
        if value is not None:
            self._map[key] = value
        return value

    def put(self, key: bytes, value: bytes | None) -> None:
        known = self._map.pop(key, None)
        if value is None:
            return
        self._map[key] = value
        if known is None and len(self._map) > self._max_cache_size:
            eldest = next(iter(self._map))
            if not self._restoring and self.eviction_listener is not None:
                self.eviction_listener(eldest)
            del self._map[eldest]

    def delete(self, key: bytes) -> bytes | None:
        return self._map.pop(key, None)

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        if is_empty_range(key_from, key_to):
            return iter(())
        found = [
            entry
            for entry in self._map.items()
            if (key_from is None or entry[0] >= key_from) and (key_to is None or entry[0] <= key_to)
        ]
        return iter(sorted(found, reverse=not forward))

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        end = next_prefix(prefix)
        found = [entry for entry in self._map.items() if entry[0] >= prefix and (end is None or entry[0] < end)]
        return iter(sorted(found))

    def approximate_num_entries(self) -> int:
        return len(self._map)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._open = False

    def persistent(self) -> bool:
        return False

    def is_open(self) -> bool:
        return self._open
