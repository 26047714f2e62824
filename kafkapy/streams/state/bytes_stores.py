"""The layers below the serdes: stores of bytes.

Each interface has one method for both directions. Iterators yield flat tuples, which only the outermost layer converts
to `Windowed` keys. A wrapping layer delegates the methods that it does not change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Record
from kafkapy.streams.state.state_store import StateStore

Entry = tuple[bytes, bytes]
WindowEntry = tuple[bytes, int, bytes]
"""Key, start, value."""
SessionEntry = tuple[bytes, int, int, bytes]
"""Key, start, end, aggregate."""
FlushListener = Callable[[Record[bytes, Any]], Any]
"""Called with a record whose value is a `Change` of bytes, when the cache flushes it."""


class BytesStore(StateStore):
    """A layer of bytes.

    Attributes:
        timestamped: Whether values have their timestamps as prefix; restoring then adds those of the changelog's
            records.
    """

    timestamped: bool = False

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """Set the listener that is called when the cache flushes changes.

        Returns:
            Whether there is a cache.
        """
        return False


class KeyValueBytesStore(BytesStore):
    """Values by key."""

    @abstractmethod
    def get(self, key: bytes) -> bytes | None: ...

    @abstractmethod
    def put(self, key: bytes, value: bytes | None) -> None: ...

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        original = self.get(key)
        if original is None:
            self.put(key, value)
        return original

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        for key, value in entries:
            self.put(key, value)

    @abstractmethod
    def delete(self, key: bytes) -> bytes | None: ...

    @abstractmethod
    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]: ...

    @abstractmethod
    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]: ...

    @abstractmethod
    def approximate_num_entries(self) -> int: ...


class VersionedBytesStore(BytesStore):
    """Versions by key; reads return them with the timestamp (8 bytes) before the value."""

    @abstractmethod
    def put(self, key: bytes, value: bytes | None, timestamp: int) -> int: ...

    @abstractmethod
    def get(self, key: bytes) -> bytes | None: ...

    @abstractmethod
    def get_as_of(self, key: bytes, as_of_timestamp: int) -> bytes | None: ...

    @abstractmethod
    def delete(self, key: bytes, timestamp: int) -> bytes | None: ...

    def versions(self, key: bytes, time_from: int, time_to: int) -> list[tuple[bytes, int, int | None]]:
        """Return the versions that were valid in a span: value, start and end of validity (None: still valid); the
        latest first."""
        raise NotImplementedError("This store does not answer which versions of a key there were")


class WindowBytesStore(BytesStore):
    """Values by key and start of a window."""

    @abstractmethod
    def put(self, key: bytes, value: bytes | None, start: int) -> None: ...

    @abstractmethod
    def fetch_at(self, key: bytes, start: int) -> bytes | None: ...

    @abstractmethod
    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]: ...

    @abstractmethod
    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]: ...

    @abstractmethod
    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]: ...

    @abstractmethod
    def all(self, forward: bool) -> Iterator[WindowEntry]: ...


class SessionBytesStore(BytesStore):
    """Aggregates by key, start and end of a session."""

    @abstractmethod
    def put(self, key: bytes, start: int, end: int, aggregate: bytes | None) -> None: ...

    @abstractmethod
    def remove(self, key: bytes, start: int, end: int) -> None: ...

    @abstractmethod
    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None: ...

    @abstractmethod
    def find_sessions(
        self, key: bytes, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]: ...

    @abstractmethod
    def find_sessions_range(
        self, key_from: bytes | None, key_to: bytes | None, earliest_end: int, latest_start: int, forward: bool
    ) -> Iterator[SessionEntry]: ...

    @abstractmethod
    def fetch(self, key: bytes, forward: bool) -> Iterator[SessionEntry]: ...

    @abstractmethod
    def fetch_range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[SessionEntry]: ...

    def find_sessions_by_end(self, earliest_end: int, latest_end: int) -> Iterator[SessionEntry]:
        raise NotImplementedError("This API is not supported by this implementation of SessionStore.")


class WrappedStore(StateStore):
    """A layer that delegates everything to the wrapped one."""

    def __init__(self, wrapped: BytesStore) -> None:
        self._layer = wrapped

    def name(self) -> str:
        return self._layer.name()

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._layer.init(context, root)

    def flush(self) -> None:
        self._layer.flush()

    def flush_cache(self) -> None:
        self._layer.flush_cache()

    def clear_cache(self) -> None:
        self._layer.clear_cache()

    def close(self) -> None:
        self._layer.close()

    def persistent(self) -> bool:
        return self._layer.persistent()

    def is_open(self) -> bool:
        return self._layer.is_open()


def is_empty_range(key_from: bytes | None, key_to: bytes | None) -> bool:
    """Return whether the range ends before it begins; for such a range Kafka logs a warning."""
    return key_from is not None and key_to is not None and key_from > key_to


def next_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest key after all keys with this prefix; None if there is none."""
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return None
    return stripped[:-1] + bytes((stripped[-1] + 1,))
