"""Records of a topology with their context, and the wrappers of values in tables and stores."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")
KR = TypeVar("KR")
VR = TypeVar("VR")

Headers = list[tuple[str, bytes | None]]
"""In order; a name may occur more than once."""


class Record(Generic[K, V]):
    """A record between two processors. Immutable: the `with_…` methods return copies.

    Args:
        key: May be None.
        value: May be None.
        timestamp: ms since the epoch, not negative.
        headers: Headers, which are also written with the record.

    Raises:
        StreamsException: The timestamp is negative.

    Example:
        >>> record = Record("kafka", 1, 0, Headers())
        >>> record.with_value(2).value
        2
    """

    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(self, key: K, value: V, timestamp: int, headers: Headers | None = None) -> None:
        if timestamp < 0:
            raise _negative(key, value, timestamp)
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers: Headers = [] if headers is None else headers

    def with_key(self, key: KR) -> Record[KR, V]:
        """Return the record with another key.

        Args:
            key: The key.
        """
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: VR) -> Record[K, VR]:
        """Return the record with another value.

        Args:
            value: The value.
        """
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> Record[K, V]:
        """Return the record with another timestamp.

        Args:
            timestamp: ms since the epoch.
        """
        return Record(self.key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> Record[K, V]:
        """Return the record with other headers.

        Args:
            headers: The headers.
        """
        return Record(self.key, self.value, self.timestamp, headers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and (self.key, self.value, self.timestamp, self.headers) == (
            other.key,
            other.value,
            other.timestamp,
            other.headers,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Record({self.key!r}, {self.value!r}, {self.timestamp}, {self.headers!r})"


class FixedKeyRecord(Generic[K, V]):
    """A record whose key a `FixedKeyProcessor` can read but not change; only the runtime creates one.

    Args:
        key: The key.
        value: The value.
        timestamp: ms since the epoch.
        headers: The headers.

    Example:
        >>> record = FixedKeyRecord("kafka", 1, 0, Headers())
        >>> record.with_value(2).key
        'kafka'
    """

    __slots__ = ("_key", "headers", "timestamp", "value")

    def __init__(self, key: K, value: V, timestamp: int, headers: Headers) -> None:
        self._key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = headers

    @property
    def key(self) -> K:
        return self._key

    def with_value(self, value: VR) -> FixedKeyRecord[K, VR]:
        """Return the record with another value.

        Args:
            value: The value.
        """
        return FixedKeyRecord(self._key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: int) -> FixedKeyRecord[K, V]:
        """Return the record with another timestamp.

        Args:
            timestamp: ms since the epoch.
        """
        if timestamp < 0:
            raise _negative(self._key, self.value, timestamp)
        return FixedKeyRecord(self._key, self.value, timestamp, self.headers)

    def with_headers(self, headers: Headers) -> FixedKeyRecord[K, V]:
        """Return the record with other headers.

        Args:
            headers: The headers.
        """
        return FixedKeyRecord(self._key, self.value, self.timestamp, headers)

    def __repr__(self) -> str:
        return f"FixedKeyRecord({self._key!r}, {self.value!r}, {self.timestamp}, {self.headers!r})"


class RecordContext:
    """The origin of the current record (Kafka's `ProcessorRecordContext`). Immutable."""

    __slots__ = ("headers", "offset", "partition", "timestamp", "topic")

    def __init__(self, timestamp: int, offset: int, partition: int, topic: str | None, headers: Headers) -> None:
        self.timestamp = timestamp
        self.offset = offset
        self.partition = partition
        self.topic = topic
        self.headers = headers


class RecordMetadata(NamedTuple):
    """The origin of the current record; (None, -1, -1) in a punctuation.

    Attributes:
        topic: Name of the topic.
        partition: The partition.
        offset: Offset of the record.

    Example:
        >>> RecordMetadata("lines", 0, 42).offset
        42
    """

    topic: str | None
    partition: int
    offset: int


class Change(NamedTuple):
    """An update of a table."""

    new_value: Any
    old_value: Any
    """None if no downstream operator needs it."""
    is_latest: bool = True
    """False for an out-of-order update of a versioned table."""


class ValueAndTimestamp(NamedTuple):
    """A value of a timestamped store.

    Attributes:
        value: The value.
        timestamp: ms since the epoch.

    Example:
        >>> ValueAndTimestamp(3, 42).value
        3
    """

    value: Any
    timestamp: int


class VersionedRecord(NamedTuple):
    """A value of a versioned store.

    Attributes:
        value: The value.
        timestamp: ms since the epoch.

    Example:
        >>> VersionedRecord(3, 42).valid_to is None
        True
    """

    value: Any
    timestamp: int
    valid_to: int | None = None
    """None for the latest."""


class Window:
    """A span of time; two windows of one kind with the same bounds are equal (Kafka's `TimeWindow`, `SessionWindow`).

    Args:
        start: Start, in ms since the epoch.
        end: End, in ms since the epoch.

    Raises:
        ValueError: The start is negative or after the end.

    Example:
        >>> Window(0, 1000) == Window(0, 1000)
        True
    """

    __slots__ = ("_end", "_start")

    def __init__(self, start: int, end: int) -> None:
        if start < 0:
            raise ValueError("Window startMs time cannot be negative.")
        if end < start:
            raise ValueError("Window endMs time cannot be smaller than window startMs time.")
        self._start = start
        self._end = end

    @property
    def start(self) -> int:
        """ms since the epoch, in the window."""
        return self._start

    @property
    def end(self) -> int:
        """ms since the epoch; the window of a session has it in itself, others do not."""
        return self._end

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and (self._start, self._end) == (other._start, other._end)

    def __hash__(self) -> int:
        return hash((self._start, self._end))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._start}, {self._end})"


class TimeWindow(Window):
    """A window from its start (inclusive) to its end (exclusive).

    Raises:
        ValueError: The window would be empty.
    """

    __slots__ = ()

    def __init__(self, start: int, end: int) -> None:
        if start == end:
            raise ValueError("Window endMs must be greater than window startMs.")
        super().__init__(start, end)


class SessionWindow(Window):
    """A window from the first to the last record of a session, both inclusive."""

    __slots__ = ()


class UnlimitedWindow(Window):
    """A window with a start and without an end."""

    __slots__ = ()

    def __init__(self, start: int) -> None:
        super().__init__(start, 2**63 - 1)


class Windowed(Generic[K]):
    """A key with a window: the key of a windowed table.

    Args:
        key: The key.

    Example:
        >>> Windowed("kafka", Window(0, 1000)).key
        'kafka'
    """

    __slots__ = ("_key", "_window")

    def __init__(self, key: K, window: Window) -> None:
        self._key = key
        self._window = window

    @property
    def key(self) -> K:
        return self._key

    @property
    def window(self) -> Window:
        return self._window

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Windowed) and self._window == other._window and self._key == other._key

    def __hash__(self) -> int:
        return hash((self._key, self._window))

    def __repr__(self) -> str:
        return f"[{self._key}@{self._window.start}/{self._window.end}]"


def _negative(key: object, value: object, timestamp: int) -> Exception:
    from kafkapy.streams.errors import StreamsException

    return StreamsException(f"Malformed Record: timestamp may not be negative. Timestamp: {timestamp}")
