"""Read-only views of an instance's parts of a store (Kafka's `CompositeReadOnly…Store`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafkapy.streams.errors import InvalidStateStoreException
from kafkapy.streams.records import ValueAndTimestamp, Windowed
from kafkapy.streams.serdes import Serializer

K = TypeVar("K")
V = TypeVar("V")

_ENTRIES_AT_A_TIME: Final = 1000
"""Entries read at a time while the task is blocked."""


class StorePart(NamedTuple):
    """The store of one task.

    Attributes:
        store: The store with its serdes.
        lock: Held while the store is read, so that its task does not change it.
    """

    store: Any
    lock: AbstractContextManager[Any]


class _ReadOnlyStore:
    """Parts of a store; they are looked up for each query, since tasks move.

    Args:
        parts: Returns them.
        plain: Whether values are returned without their timestamps.
    """

    def __init__(self, parts: Callable[[], Iterable[StorePart]], plain: bool) -> None:
        self._parts = parts
        self._plain = plain

    def _first(self, read: Callable[[Any], Any]) -> Any:
        """Return the first part's result that is not None."""
        for part in self._parts():
            with part.lock:
                found = read(_open(part.store))
            if found is not None:
                return self._value(found)
        return None

    def _all(self, read: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """Iterate over the entries of all parts, one part after the other."""
        for part in self._parts():
            yield from self._in_pieces(part, read)

    def _in_pieces(self, part: StorePart, read: Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """Iterate over a snapshot of a part; its task is blocked only while a piece is read."""
        with part.lock:
            entries = read(_open(part.store))
            piece = list(islice(entries, _ENTRIES_AT_A_TIME))
        while piece:
            for key, value in piece:
                yield key, self._value(value)
            if len(piece) < _ENTRIES_AT_A_TIME:
                return
            with part.lock:
                _open(part.store)
                piece = list(islice(entries, _ENTRIES_AT_A_TIME))

    def _value(self, value: Any) -> Any:
        return value.value if self._plain and isinstance(value, ValueAndTimestamp) else value


class ReadOnlyKeyValueStore(_ReadOnlyStore, Generic[K, V]):
    """A key-value store of a running application, to read.

    Example:
        >>> counts = streams.store("counts")  # doctest: +SKIP
        >>> counts.get("kafka")  # doctest: +SKIP
        42
    """

    def get(self, key: K) -> V | None:
        """The value of a key; None if this instance has none.

        Args:
            key: The key.

        Raises:
            TypeError: The key is None.
            InvalidStateStoreException: The task has moved to another instance, or is not ready.
        """
        found: V | None = self._first(lambda store: store.get(key))
        return found

    def range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[K, V]]:
        """The entries from one key to another, both included; of each part in the order of the keys' bytes.

        Args:
            key_from: None: from the first.
            key_to: None: to the last.
        """
        return self._pages(key_from, key_to, forward=True)

    def reverse_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[K, V]]:
        """Like `range`, the last of each part first.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
        """
        return self._pages(key_from, key_to, forward=False)

    def all(self) -> Iterator[tuple[K, V]]:
        """All entries."""
        return self._pages(None, None, forward=True)

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """All entries, the last of each part first."""
        return self._pages(None, None, forward=False)

    def prefix_scan(self, prefix: Any, prefix_serializer: Serializer) -> Iterator[tuple[K, V]]:
        """The entries whose keys' bytes begin with those of the prefix.

        Args:
            prefix: Not None.
            prefix_serializer: Serializer of the prefix.
        """
        return self._all(lambda store: store.prefix_scan(prefix, prefix_serializer))

    def approximate_num_entries(self) -> int:
        """Return the approximate number of keys in this instance."""
        total = 0
        for part in self._parts():
            with part.lock:
                total += _open(part.store).approximate_num_entries()
        return total

    def _pages(self, key_from: K | None, key_to: K | None, *, forward: bool) -> Iterator[tuple[K, V]]:
        """Iterate over entries in pages, so that a task is never blocked for a read of a whole large store."""
        for part in self._parts():
            start, end, last = key_from, key_to, None
            while True:
                with part.lock:
                    store = _open(part.store)
                    entries = store.range(start, end) if forward else store.reverse_range(start, end)
                    page = [entry for entry in islice(entries, _ENTRIES_AT_A_TIME + 1) if entry[0] != last]
                for key, value in page:
                    yield key, self._value(value)
                if len(page) < _ENTRIES_AT_A_TIME:
                    break
                last = page[-1][0]
                start, end = (last, end) if forward else (start, last)


class ReadOnlyWindowStore(_ReadOnlyStore, Generic[K, V]):
    """A window store of a running application, to read. Times are ms.

    Example:
        >>> from kafkapy.streams import QueryableStoreTypes, StoreQueryParameters
        >>> query = StoreQueryParameters.from_name_and_type("counts", QueryableStoreTypes.window_store())
        >>> store = streams.store(query)  # doctest: +SKIP
        >>> list(store.fetch("kafka", 0, 60_000))  # doctest: +SKIP
        []
    """

    def fetch(self, key: K, time_from: int, time_to: int | None = None, /) -> Any:
        """Return the value of the window that starts at a time, or pairs of start and value of windows that start in a
        span.

        Args:
            key: Not None.
            time_from: Included.
            time_to: Included; without it a single value is returned, or None.
        """
        if time_to is None:
            return self._first(lambda store: store.fetch(key, time_from))
        return self._first_with_entries(lambda store: store.fetch(key, time_from, time_to))

    def backward_fetch(self, key: K, time_from: int, time_to: int) -> Iterator[tuple[int, V]]:
        """Like `fetch` with a span, the latest first.

        Args:
            key: The key.
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """
        return self._first_with_entries(lambda store: store.backward_fetch(key, time_from, time_to))

    def fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Return the entries with key and start in the two spans; a bound of None is open.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """
        return self._all(lambda store: store.fetch_range(key_from, key_to, time_from, time_to))

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Like `fetch_range`, backwards.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """
        return self._all(lambda store: store.backward_fetch_range(key_from, key_to, time_from, time_to))

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        """The entries of all keys whose windows start in the span.

        Args:
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """
        return self._all(lambda store: store.fetch_all(time_from, time_to))

    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        """Like `fetch_all`, backwards.

        Args:
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """
        return self._all(lambda store: store.backward_fetch_all(time_from, time_to))

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All entries."""
        return self._all(lambda store: store.all())

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All entries, backwards."""
        return self._all(lambda store: store.backward_all())

    def _first_with_entries(self, read: Callable[[Any], Iterator[tuple[int, V]]]) -> Iterator[tuple[int, V]]:
        for part in self._parts():
            entries = self._in_pieces(part, read)
            first = next(entries, None)
            if first is not None:
                return chain((first,), entries)
        return iter(())


class ReadOnlySessionStore(_ReadOnlyStore, Generic[K, V]):
    """A session store of a running application, to read. Times are ms.

    Example:
        >>> from kafkapy.streams import QueryableStoreTypes, StoreQueryParameters
        >>> query = StoreQueryParameters.from_name_and_type("counts", QueryableStoreTypes.session_store())
        >>> store = streams.store(query)  # doctest: +SKIP
        >>> list(store.fetch("kafka"))  # doctest: +SKIP
        []
    """

    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, the earliest first.

        Args:
            key: The key.
        """
        return self._all(lambda store: store.fetch(key))

    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, the latest first.

        Args:
            key: The key.
        """
        return self._all(lambda store: store.backward_fetch(key))

    def fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of keys in a span; a bound of None is open.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
        """
        return self._all(lambda store: store.fetch_range(key_from, key_to))

    def backward_fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """Like `fetch_range`, backwards.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
        """
        return self._all(lambda store: store.backward_fetch_range(key_from, key_to))

    def fetch_session(self, key: K, session_start: int, session_end: int) -> V | None:
        """The aggregate of the session with these bounds; None if there is none.

        Args:
            key: The key.
            session_start: Start of the session, in ms since the epoch.
            session_end: End of the session, in ms since the epoch.
        """
        found: V | None = self._first(lambda store: store.fetch_session(key, session_start, session_end))
        return found

    def find_sessions(
        self, key: K, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The sessions of a key that end at or after one time and start at or before another.

        Args:
            key: The key.
            earliest_session_end: Return sessions that end then or later, in ms since the epoch.
            latest_session_start: Return sessions that start then or earlier, in ms since the epoch.
        """
        return self._all(lambda store: store.find_sessions(key, earliest_session_end, latest_session_start))

    def backward_find_sessions(
        self, key: K, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Like `find_sessions`, the latest first.

        Args:
            key: The key.
            earliest_session_end: Return sessions that end then or later, in ms since the epoch.
            latest_session_start: Return sessions that start then or earlier, in ms since the epoch.
        """
        return self._all(lambda store: store.backward_find_sessions(key, earliest_session_end, latest_session_start))


def _open(store: Any) -> Any:
    if not store.is_open():
        raise InvalidStateStoreException(
            f"State store {store.name()} is not open anymore and may have been migrated to another instance; please "
            "re-discover its location from the state metadata."
        )
    return store
