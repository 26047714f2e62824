"""The layers that write a store's changelog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import (
    Entry,
    KeyValueBytesStore,
    SessionBytesStore,
    SessionEntry,
    VersionedBytesStore,
    WindowBytesStore,
    WindowEntry,
    WrappedStore,
)
from kafkapy.streams.state.context import timestamp_of_record
from kafkapy.streams.state.memory_lru_cache import MemoryNavigableLRUCache
from kafkapy.streams.state.session_key_schema import to_session_key
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import timestamp_of
from kafkapy.streams.state.window_key_schema import MAX_SEQUENCE, to_store_key

S = TypeVar("S")


class ChangeLoggingKeyValueBytesStore(WrappedStore, KeyValueBytesStore):
    """Writes keys and values with the timestamp of the current record."""

    def __init__(self, wrapped: KeyValueBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.timestamped = wrapped.timestamped
        self._name = wrapped.name()
        self._context: TaskContext

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self.wrapped.init(context, root)
        # As in Kafka: entries evicted from a timestamped store stay in its changelog.
        if isinstance(self.wrapped, MemoryNavigableLRUCache) and not self.timestamped:
            self.wrapped.eviction_listener = self._log_eviction

    def _log_eviction(self, key: bytes) -> None:
        self._context.log_change(self._name, key, None, timestamp_of_record(self._context))

    def _log(self, key: bytes, value: bytes | None) -> None:
        self._context.log_change(self._name, key, value, timestamp_of_record(self._context))

    def get(self, key: bytes) -> bytes | None:
        return self.wrapped.get(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        self.wrapped.put(key, value)
        self._log(key, value)

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        previous = self.wrapped.put_if_absent(key, value)
        if previous is None:
            self._log(key, value)
        return previous

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        pairs = list(entries)
        self.wrapped.put_all(pairs)
        for key, value in pairs:
            self._log(key, value)

    def delete(self, key: bytes) -> bytes | None:
        old = self.wrapped.delete(key)
        self._context.log_change(self._name, key, None, timestamp_of_record(self._context))
        return old

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        return self.wrapped.range(key_from, key_to, forward)

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        return self.wrapped.prefix_scan(prefix)

    def approximate_num_entries(self) -> int:
        return self.wrapped.approximate_num_entries()


class ChangeLoggingTimestampedKeyValueBytesStore(ChangeLoggingKeyValueBytesStore):
    """Writes the plain value, with its own time as the record's."""

    def _log(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._context.log_change(self._name, key, None, timestamp_of_record(self._context))
        else:
            self._context.log_change(self._name, key, value[8:], timestamp_of(value))

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        pairs = list(entries)
        values = [value for _, value in pairs if value is not None]
        if len(values) < len(pairs):
            super().put_all(pairs)
            return
        self.wrapped.put_all(pairs)
        keys = [key for key, _ in pairs]
        self._context.log_changes(self._name, keys, [value[8:] for value in values], list(map(timestamp_of, values)))


class ChangeLoggingListValueBytesStore(ChangeLoggingKeyValueBytesStore):
    """Writes the whole list to which a value was added."""

    def put(self, key: bytes, value: bytes | None) -> None:
        self.wrapped.put(key, value)
        self._log(key, None if value is None else self.wrapped.get(key))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        if self.wrapped.get(key) is not None:
            self.put(key, value)
        return None


class ChangeLoggingVersionedKeyValueBytesStore(WrappedStore, VersionedBytesStore):
    """Writes versions with the start of their validity, including those that are too old to be put."""

    def __init__(self, wrapped: VersionedBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self._name = wrapped.name()
        self._context: TaskContext

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self.wrapped.init(context, root)

    def put(self, key: bytes, value: bytes | None, timestamp: int) -> int:
        valid_to = self.wrapped.put(key, value, timestamp)
        self._context.log_change(self._name, key, value, timestamp)
        return valid_to

    def get(self, key: bytes) -> bytes | None:
        return self.wrapped.get(key)

    def get_as_of(self, key: bytes, as_of_timestamp: int) -> bytes | None:
        return self.wrapped.get_as_of(key, as_of_timestamp)

    def versions(self, key: bytes, time_from: int, time_to: int) -> list[tuple[bytes, int, int | None]]:
        return self.wrapped.versions(key, time_from, time_to)

    def delete(self, key: bytes, timestamp: int) -> bytes | None:
        old = self.wrapped.delete(key, timestamp)
        self._context.log_change(self._name, key, None, timestamp)
        return old


class ChangeLoggingWindowBytesStore(WrappedStore, WindowBytesStore):
    """Writes windowed keys; retained duplicates have sequence numbers."""

    def __init__(self, wrapped: WindowBytesStore, retain_duplicates: bool) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.timestamped = wrapped.timestamped
        self._retain_duplicates = retain_duplicates
        self._sequence = 0
        self._name = wrapped.name()
        self._context: TaskContext

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self.wrapped.init(context, root)

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        self.wrapped.put(key, value, start)
        if self._retain_duplicates:
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        self._log(to_store_key(key, start, self._sequence), value)

    def _log(self, key: bytes, value: bytes | None) -> None:
        self._context.log_change(self._name, key, value, timestamp_of_record(self._context))

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        return self.wrapped.fetch_at(key, start)

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        return self.wrapped.fetch(key, time_from, time_to, forward)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        return self.wrapped.fetch_range(key_from, key_to, time_from, time_to, forward)

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]:
        return self.wrapped.fetch_all(time_from, time_to, forward)

    def all(self, forward: bool) -> Iterator[WindowEntry]:
        return self.wrapped.all(forward)


class ChangeLoggingTimestampedWindowBytesStore(ChangeLoggingWindowBytesStore):
    """Writes the plain value, with its own time as the record's."""

    def _log(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._context.log_change(self._name, key, None, timestamp_of_record(self._context))
        else:
            self._context.log_change(self._name, key, value[8:], timestamp_of(value))


class ChangeLoggingSessionBytesStore(WrappedStore, SessionBytesStore):
    """Writes session keys and aggregates."""

    def __init__(self, wrapped: SessionBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self._name = wrapped.name()
        self._context: TaskContext

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self.wrapped.init(context, root)

    def put(self, key: bytes, start: int, end: int, aggregate: bytes | None) -> None:
        self.wrapped.put(key, start, end, aggregate)
        timestamp = timestamp_of_record(self._context)
        self._context.log_change(self._name, to_session_key(key, start, end), aggregate, timestamp)

    def remove(self, key: bytes, start: int, end: int) -> None:
        self.wrapped.remove(key, start, end)
        timestamp = timestamp_of_record(self._context)
        self._context.log_change(self._name, to_session_key(key, start, end), None, timestamp)

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        return self.wrapped.fetch_session(key, start, end)

    def find_sessions(self, key: bytes, earliest_end: int, latest_start: int, forward: bool) -> Iterator[SessionEntry]:
        return self.wrapped.find_sessions(key, earliest_end, latest_start, forward)

    def find_sessions_range(
        self, key_from: bytes | None, key_to: bytes | None, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]:
        return self.wrapped.find_sessions_range(key_from, key_to, earliest_end, latest_start, forward)

    def fetch(self, key: bytes, forward: bool) -> Iterator[SessionEntry]:
        return self.wrapped.fetch(key, forward)

    def fetch_range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[SessionEntry]:
        return self.wrapped.fetch_range(key_from, key_to, forward)

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        return self.wrapped.find_sessions_by_end(earliest_end, latest_end)
