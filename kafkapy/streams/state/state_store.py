"""The interfaces of state stores for processors, with the names of `org.apache.kafka.streams.state`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import ValueAndTimestamp, VersionedRecord, Windowed
from kafkapy.streams.serdes import Serializer

K = TypeVar("K")
V = TypeVar("V")


class StateStore(ABC):
    """A store of one task.

    A store is a chain of layers. Processors use the outermost one, which has the serdes; below it are the record
    cache, the layer that writes the changelog, and the store of bytes.

    Example:
        >>> from kafkapy.streams import Serdes, Stores
        >>> supplier = Stores.persistent_key_value_store("counts")
        >>> Stores.key_value_store_builder(supplier, Serdes.string(), Serdes.long()).name
        'counts'
    """

    @abstractmethod
    def name(self) -> str:
        """The store's name in the topology."""

    @abstractmethod
    def init(self, context: TaskContext, root: StateStore) -> None:
        """Open the store, and register it with the task.

        Args:
            context: The task that owns the store.
            root: The outermost layer, to register with the task.

        Raises:
            StreamsException: There is no serde for keys or values.
            ProcessorStateException: Its files can't be read.
        """

    @abstractmethod
    def flush(self) -> None:
        """Empty the record cache, and write all puts durably, so that a checkpoint may be written."""

    def flush_cache(self) -> None:  # noqa: B027  # most stores have no cache
        """Empty the record cache: changes are forwarded and written to the changelog. Called by a commit."""

    def clear_cache(self) -> None:  # noqa: B027  # most stores have no cache
        """Discard the record cache: its changes belong to an aborted transaction."""

    @abstractmethod
    def close(self) -> None:
        """Free the store. Unflushed changes are lost; they are not covered by a checkpoint, so they will be
        restored."""

    @abstractmethod
    def persistent(self) -> bool:
        """Return whether the store is on disk."""

    @abstractmethod
    def is_open(self) -> bool:
        """Return whether the store is open."""


class KeyValueStore(StateStore, Generic[K, V]):
    """A value for each key.

    Example:
        >>> from kafkapy.streams.serdes import Serdes
        >>> from kafkapy.streams.state.stores import Stores
        >>> counts = Stores.key_value_store_builder(
        ...     Stores.in_memory_key_value_store("counts"), Serdes.string(), Serdes.long())
        >>> counts.name
        'counts'
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The key's value.

        Args:
            key: The key.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def put(self, key: K, value: V | None) -> None:
        """Set the key's value; None deletes it.

        Args:
            key: The key.
            value: The value.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def put_if_absent(self, key: K, value: V) -> V | None:
        """Set the value if the key has none, and return the previous value.

        Args:
            key: The key.
            value: The value.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        """Put each of the pairs.

        Args:
            entries: Pairs of key and value; a value of None deletes.

        Raises:
            TypeError: A key is None.
        """

    @abstractmethod
    def delete(self, key: K) -> V | None:
        """Delete the key, and return the value it had.

        Args:
            key: The key.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[K, V]]:
        """The entries from one key to another, both included, in the order of the keys' bytes.

        Args:
            key_from: None: from the first.
            key_to: None: to the last.
        """

    @abstractmethod
    def reverse_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[K, V]]:
        """Like `range`, the last one first.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
        """

    @abstractmethod
    def all(self) -> Iterator[tuple[K, V]]:
        """All entries in the order of the keys' bytes."""

    @abstractmethod
    def reverse_all(self) -> Iterator[tuple[K, V]]:
        """All entries, the last one first."""

    @abstractmethod
    def prefix_scan(self, prefix: Any, prefix_serializer: Serializer) -> Iterator[tuple[K, V]]:
        """The entries whose keys' bytes begin with those of the prefix.

        Args:
            prefix: Not None.
            prefix_serializer: Serializer of the prefix.

        Raises:
            TypeError: The prefix or its serializer is None.
        """

    @abstractmethod
    def approximate_num_entries(self) -> int:
        """Return the approximate number of keys."""


class TimestampedKeyValueStore(KeyValueStore[K, ValueAndTimestamp]):
    """A value for each key, and the timestamp of the record that it comes from.

    Example:
        >>> from kafkapy.streams import Serdes, Stores
        >>> supplier = Stores.in_memory_key_value_store("counts")
        >>> Stores.timestamped_key_value_store_builder(supplier, Serdes.string(), Serdes.long()).name
        'counts'
    """


class VersionedKeyValueStore(StateStore, Generic[K, V]):
    """A store of each key's values within the history retention (KIP-889).

    Example:
        >>> from kafkapy.streams import Serdes, Stores
        >>> supplier = Stores.persistent_versioned_key_value_store("counts", 60_000)
        >>> Stores.versioned_key_value_store_builder(supplier, Serdes.string(), Serdes.long()).name
        'counts'
    """

    @abstractmethod
    def get(self, key: K, as_of_timestamp: int | None = None) -> VersionedRecord | None:
        """The latest value, or the one that was valid at a time.

        Args:
            key: Not None.
            as_of_timestamp: ms. Before the history retention there is a result only if the latest value is that old.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def put(self, key: K, value: V | None, timestamp: int) -> int:
        """Add a value that is valid from a time on; None is a deletion at that time.

        Args:
            key: The key.
            value: The value.
            timestamp: ms since the epoch.

        Returns:
            The end of its validity: -1 for the latest, `PUT_RETURN_CODE_NOT_PUT` if it is older than the grace period.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def delete(self, key: K, timestamp: int) -> VersionedRecord | None:
        """Put None, and return the value that was valid at the time.

        Args:
            key: The key.
            timestamp: ms since the epoch.

        Raises:
            TypeError: The key is None.
        """


PUT_RETURN_CODE_VALID_TO_UNDEFINED = -1
"""Returned by `VersionedKeyValueStore.put` for the latest value."""
PUT_RETURN_CODE_NOT_PUT = -(2**63)
"""Returned by `VersionedKeyValueStore.put` for a value that is too old to be put."""


class WindowStore(StateStore, Generic[K, V]):
    """A value for each key and start of a window.

    Example:
        >>> from kafkapy.streams import Serdes, Stores
        >>> supplier = Stores.in_memory_window_store("counts", 60_000, 1_000, False)
        >>> Stores.window_store_builder(supplier, Serdes.string(), Serdes.long()).name
        'counts'
    """

    @abstractmethod
    def put(self, key: K, value: V | None, window_start_timestamp: int) -> None:
        """Set the value of a key in a window; None deletes it. A window that is older than the retention is dropped.

        Args:
            key: The key.
            value: The value.
            window_start_timestamp: Start of the window, in ms since the epoch.

        Raises:
            TypeError: The key is None.
        """

    @overload
    def fetch(self, key: K, time: int, /) -> V | None: ...

    @overload
    def fetch(self, key: K, time_from: int, time_to: int, /) -> Iterator[tuple[int, V]]: ...

    @abstractmethod
    def fetch(self, key: K, time_from: int, time_to: int | None = None, /) -> V | Iterator[tuple[int, V]] | None:
        """Return the value of the window that starts at a time, or pairs of start and value of windows that start in a
        span.

        Args:
            key: Not None.
            time_from: ms, included.
            time_to: ms, included.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
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

    @abstractmethod
    def backward_fetch(self, key: K, time_from: int, time_to: int) -> Iterator[tuple[int, V]]:
        """Like `fetch` with a span, the latest first.

        Args:
            key: The key.
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """

    @abstractmethod
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

    @abstractmethod
    def fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        """The entries of all keys whose windows start in the span.

        Args:
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """

    @abstractmethod
    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        """Like `fetch_all`, backwards.

        Args:
            time_from: The first start of a window, in ms since the epoch.
            time_to: The last start of a window, in ms since the epoch.
        """

    @abstractmethod
    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All entries."""

    @abstractmethod
    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        """All entries, backwards."""


class TimestampedWindowStore(WindowStore[K, ValueAndTimestamp]):
    """A value for each key and window, and the timestamp of the record that it comes from.

    Example:
        >>> from kafkapy.streams import Serdes, Stores
        >>> supplier = Stores.in_memory_window_store("counts", 60_000, 1_000, False)
        >>> Stores.timestamped_window_store_builder(supplier, Serdes.string(), Serdes.long()).name
        'counts'
    """


class SessionStore(StateStore, Generic[K, V]):
    """An aggregate for each key and session.

    Example:
        >>> from kafkapy.streams import Serdes, Stores
        >>> supplier = Stores.in_memory_session_store("counts", 60_000)
        >>> Stores.session_store_builder(supplier, Serdes.string(), Serdes.long()).name
        'counts'
    """

    @abstractmethod
    def put(self, session_key: Windowed[K], aggregate: V | None) -> None:
        """Set the aggregate of a session; None removes it.

        Args:
            session_key: Key and session window.
            aggregate: Value of the session; None deletes it.

        Raises:
            TypeError: The session, its key or its window is None.
        """

    @abstractmethod
    def remove(self, session_key: Windowed[K]) -> None:
        """Remove a session.

        Args:
            session_key: Key and session window.

        Raises:
            TypeError: The session, its key or its window is None.
        """

    @abstractmethod
    def fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, the earliest first.

        Args:
            key: The key.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def backward_fetch(self, key: K) -> Iterator[tuple[Windowed[K], V]]:
        """All sessions of a key, the latest first.

        Args:
            key: The key.
        """

    @abstractmethod
    def fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """Return all sessions of keys in a span; a bound of None is open.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
        """

    @abstractmethod
    def backward_fetch_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[Windowed[K], V]]:
        """Like `fetch_range`, backwards.

        Args:
            key_from: The first key; None: no lower bound.
            key_to: The last key; None: no upper bound.
        """

    @abstractmethod
    def fetch_session(self, key: K, session_start: int, session_end: int) -> V | None:
        """The aggregate of the session with these bounds.

        Args:
            key: The key.
            session_start: Start of the session, in ms since the epoch.
            session_end: End of the session, in ms since the epoch.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def find_sessions(
        self, key: K, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """The sessions of a key that end at or after one time and start at or before another.

        Args:
            key: The key.
            earliest_session_end: Return sessions that end then or later, in ms since the epoch.
            latest_session_start: Return sessions that start then or earlier, in ms since the epoch.

        Raises:
            TypeError: The key is None.
        """

    @abstractmethod
    def backward_find_sessions(
        self, key: K, earliest_session_end: int, latest_session_start: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Like `find_sessions`, the latest first.

        Args:
            key: The key.
            earliest_session_end: Return sessions that end then or later, in ms since the epoch.
            latest_session_start: Return sessions that start then or earlier, in ms since the epoch.
        """

    @abstractmethod
    def find_sessions_by_end(
        self, earliest_session_end: int, latest_session_end: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        """Return the sessions of all keys that end in a span; supported only by stores that are ordered by time.

        Args:
            earliest_session_end: Return sessions that end then or later, in ms since the epoch.
            latest_session_end: Return sessions that end then or earlier, in ms since the epoch.

        Raises:
            NotImplementedError: The store is ordered by key.
        """
