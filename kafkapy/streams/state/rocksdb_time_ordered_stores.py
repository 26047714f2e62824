"""Window and session stores on disk that are ordered by time, for emission on window close."""

from __future__ import annotations

from collections.abc import Iterator

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import SessionBytesStore, SessionEntry, WindowBytesStore, WindowEntry
from kafkapy.streams.state.prefixed_key_schemas import (
    from_time_first_session_key,
    key_of_time_first_window,
    start_of_time_first_window,
    time_first_session_key,
    time_first_window_key,
)
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.time_ordered_segmented_bytes_store import TimeOrderedSegmentedBytesStore
from kafkapy.streams.state.window_key_schema import LONG_MAX, MAX_SEQUENCE


class RocksDBTimeOrderedWindowStore(WindowBytesStore):
    """Values by start and key; an index by key is for sliding windows."""

    timestamped = True

    def __init__(
        self, name: str, retention_period: int, segment_interval: int, retain_duplicates: bool, has_index: bool
    ) -> None:
        self._name = name
        self.has_index = has_index
        self._retain_duplicates = retain_duplicates
        self._sequence = 0
        self._store = TimeOrderedSegmentedBytesStore(
            name, retention_period, segment_interval, has_index, sessions=False, timestamped=True
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
        self._store.put(time_first_window_key(key, start, self._sequence), value)

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        return self._store.get(time_first_window_key(key, start, self._sequence))

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        entries = self._store.fetch(key, time_from, time_to, forward)
        return ((start_of_time_first_window(data), value) for data, value in entries)

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


class RocksDBTimeOrderedSessionStore(SessionBytesStore):
    """Aggregates by end, start and key, and an index by key."""

    def __init__(self, name: str, retention_period: int, segment_interval: int, has_index: bool) -> None:
        self._name = name
        self._store = TimeOrderedSegmentedBytesStore(name, retention_period, segment_interval, has_index, sessions=True)

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._store.init(context, root)

    def put(self, key: bytes, start: int, end: int, aggregate: bytes | None) -> None:
        self._store.put(time_first_session_key(key, start, end), aggregate)

    def remove(self, key: bytes, start: int, end: int) -> None:
        self._store.remove(time_first_session_key(key, start, end))

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        return self._store.get(time_first_session_key(key, start, end))

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[SessionEntry]:
        return _session_entries(self._store.fetch(key, earliest_end, latest_start, forward))

    def find_sessions_range(
        self, key_from: bytes | None, key_to: bytes | None, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]:
        return _session_entries(self._store.fetch_range(key_from, key_to, earliest_end, latest_start, forward))

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        return _session_entries(self._store.by_session_end(earliest_end, latest_end))

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


def _window_entries(entries: Iterator[tuple[bytes, bytes]]) -> Iterator[WindowEntry]:
    return ((key_of_time_first_window(data), start_of_time_first_window(data), value) for data, value in entries)


def _session_entries(entries: Iterator[tuple[bytes, bytes]]) -> Iterator[SessionEntry]:
    for data, aggregate in entries:
        key, start, end = from_time_first_session_key(data)
        yield key, start, end, aggregate
