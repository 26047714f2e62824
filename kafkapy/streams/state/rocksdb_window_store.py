"""A window store on disk."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import WindowBytesStore, WindowEntry
from kafkapy.streams.state.segmented_bytes_store import RocksDBSegmentedBytesStore
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.window_key_schema import MAX_SEQUENCE, WindowKeySchema, store_key, store_start, to_store_key


class RocksDBWindowStore(WindowBytesStore):
    """Values by key and start; duplicates have sequence numbers."""

    def __init__(
        self, name: str, retention_period: int, segment_interval: int, retain_duplicates: bool, timestamped: bool
    ) -> None:
        self._name = name
        self.timestamped = timestamped
        self._retain_duplicates = retain_duplicates
        self._sequence = 0
        self._store = RocksDBSegmentedBytesStore(
            name, retention_period, segment_interval, WindowKeySchema(), timestamped
        )

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._store.init(context, root)

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        if self._retain_duplicates:
            if value is None:
                return
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        self._store.put(to_store_key(key, start, self._sequence), value)

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        return self._store.get(to_store_key(key, start, self._sequence))

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        entries = self._store.fetch(key, time_from, time_to, forward)
        return ((store_start(data), value) for data, value in entries)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        return _window_entries(self._store.fetch_range(key_from, key_to, time_from, time_to, forward))

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]:
        return _window_entries(self._store.fetch_all(time_from, time_to, forward))

    def all(self, forward: bool) -> Iterator[WindowEntry]:
        return _window_entries(self._store.all(forward))

    def flush(self) -> None:
        self._store.flush()

    def close(self) -> None:
        self._store.close()

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self._store.is_open()


def _window_entries(entries: Iterator[tuple[bytes, bytes]]) -> Iterator[WindowEntry]:
    return ((store_key(data), store_start(data), value) for data, value in entries)
