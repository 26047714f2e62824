"""A session store on disk."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import SessionBytesStore, SessionEntry
from kafkapy.streams.state.segmented_bytes_store import RocksDBSegmentedBytesStore
from kafkapy.streams.state.session_key_schema import SessionKeySchema, from_session_key, to_session_key
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.window_key_schema import LONG_MAX


class RocksDBSessionStore(SessionBytesStore):
    """Aggregates by key, end and start, in segments by their ends."""

    def __init__(self, name: str, retention_period: int, segment_interval: int) -> None:
        self._name = name
        self._store = RocksDBSegmentedBytesStore(name, retention_period, segment_interval, SessionKeySchema())

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._store.init(context, root)

    def put(self, key: bytes, start: int, end: int, aggregate: bytes | None) -> None:
        self._store.put(to_session_key(key, start, end), aggregate)

    def remove(self, key: bytes, start: int, end: int) -> None:
        self._store.remove(to_session_key(key, start, end))

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        return self._store.get(to_session_key(key, start, end))

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[SessionEntry]:
        return session_entries(self._store.fetch(key, earliest_end, latest_start, forward))

    def find_sessions_range(
        self, key_from: bytes | None, key_to: bytes | None, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]:
        return session_entries(self._store.fetch_range(key_from, key_to, earliest_end, latest_start, forward))

    def fetch(self, key: bytes, forward: bool) -> Iterator[SessionEntry]:
        return self.find_sessions(key, 0, LONG_MAX, forward)

    def fetch_range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[SessionEntry]:
        return self.find_sessions_range(key_from, key_to, 0, LONG_MAX, forward)

    def flush(self) -> None:
        self._store.flush()

    def close(self) -> None:
        self._store.close()

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self._store.is_open()


def session_entries(entries: Iterator[tuple[bytes, bytes]]) -> Iterator[SessionEntry]:
    """Parse the keys of entries."""
    for data, aggregate in entries:
        key, start, end = from_session_key(data)
        yield key, start, end, aggregate
