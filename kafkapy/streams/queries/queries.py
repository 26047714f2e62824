"""The queries of stores (Kafka's `org.apache.kafka.streams.query`): immutable objects, independent of a store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

R_co = TypeVar("R_co", covariant=True)
Q = TypeVar("Q", bound="_Keys")


class Query(Generic[R_co]):
    """A query of a store whose result is of type R: the base of all queries (KIP-796).

    Example:
        >>> isinstance(KeyQuery("Berlin"), Query)
        True
    """


@dataclass(frozen=True)
class _Key:
    key: Any
    is_skip_cache: bool = False

    def __post_init__(self) -> None:
        if self.key is None:
            raise TypeError("the key should not be null")


@dataclass(frozen=True)
class KeyQuery(_Key, Query[Any]):
    """The value of a key.

    Args:
        key: Not None.
        is_skip_cache: Whether the record cache is left out.

    Raises:
        TypeError: The key is None.

    Example:
        >>> KeyQuery.with_key("kafka").skip_cache()
        KeyQuery(key='kafka', is_skip_cache=True)
    """

    @classmethod
    def with_key(cls, key: Any) -> KeyQuery:
        """Ask for a key.

        Args:
            key: Not None.
        """
        return cls(key)

    def skip_cache(self) -> KeyQuery:
        """Leave out the record cache: only what is committed counts."""
        return replace(self, is_skip_cache=True)


@dataclass(frozen=True)
class TimestampedKeyQuery(_Key, Query[Any]):
    """The value of a key with its time, of a timestamped store.

    Args:
        key: Not None.
        is_skip_cache: Whether the record cache is left out.

    Raises:
        TypeError: The key is None.

    Example:
        >>> TimestampedKeyQuery.with_key("kafka").key
        'kafka'
    """

    @classmethod
    def with_key(cls, key: Any) -> TimestampedKeyQuery:
        """Ask for a key.

        Args:
            key: Not None.
        """
        return cls(key)

    def skip_cache(self) -> TimestampedKeyQuery:
        """Leave out the record cache: only what is committed counts."""
        return replace(self, is_skip_cache=True)


@dataclass(frozen=True)
class _Keys:
    lower: Any = None
    upper: Any = None
    forward: bool = True

    def with_descending_keys(self: Q) -> Q:
        """Return a copy with the last key first, in the order of bytes."""
        return replace(self, forward=False)

    def with_ascending_keys(self: Q) -> Q:
        """Return a copy with the first key first (the default)."""
        return replace(self, forward=True)


@dataclass(frozen=True)
class RangeQuery(_Keys, Query[Any]):
    """The entries of keys in a range, as pairs; by the order of the keys' bytes.

    Args:
        lower: The first key; None: no bound.
        upper: The last key, included; None: no bound.
        forward: Whether the first key comes first.

    Example:
        >>> RangeQuery.with_range("a", "b").with_descending_keys()
        RangeQuery(lower='a', upper='b', forward=False)
    """

    @classmethod
    def with_range(cls, lower: Any, upper: Any) -> RangeQuery:
        """Ask for keys of a range.

        Args:
            lower: The first key; None: no bound.
            upper: The last key, included; None: no bound.
        """
        return cls(lower, upper)

    @classmethod
    def with_upper_bound(cls, upper: Any) -> RangeQuery:
        """Ask for all keys up to one.

        Args:
            upper: The last key, included.
        """
        return cls(None, upper)

    @classmethod
    def with_lower_bound(cls, lower: Any) -> RangeQuery:
        """Ask for all keys from one on.

        Args:
            lower: The first key.
        """
        return cls(lower, None)

    @classmethod
    def with_no_bounds(cls) -> RangeQuery:
        """Ask for all keys."""
        return cls()


@dataclass(frozen=True)
class TimestampedRangeQuery(_Keys, Query[Any]):
    """Like `RangeQuery`, of a timestamped store: values with their times.

    Args:
        lower: The first key; None: no bound.
        upper: The last key, included; None: no bound.
        forward: Whether the first key comes first.

    Example:
        >>> TimestampedRangeQuery.with_no_bounds().lower is None
        True
    """

    @classmethod
    def with_range(cls, lower: Any, upper: Any) -> TimestampedRangeQuery:
        """Ask for keys of a range.

        Args:
            lower: The first key; None: no bound.
            upper: The last key, included; None: no bound.
        """
        return cls(lower, upper)

    @classmethod
    def with_upper_bound(cls, upper: Any) -> TimestampedRangeQuery:
        """Ask for all keys up to one.

        Args:
            upper: The last key, included.
        """
        return cls(None, upper)

    @classmethod
    def with_lower_bound(cls, lower: Any) -> TimestampedRangeQuery:
        """Ask for all keys from one on.

        Args:
            lower: The first key.
        """
        return cls(lower, None)

    @classmethod
    def with_no_bounds(cls) -> TimestampedRangeQuery:
        """Ask for all keys."""
        return cls()


@dataclass(frozen=True)
class WindowKeyQuery(Query[Any]):
    """The windows of a key, as pairs of start and value.

    Args:
        key: Not None.
        time_from: The earliest start, ms.
        time_to: The latest start, ms, included.

    Example:
        >>> WindowKeyQuery.with_key_and_window_start_range("kafka", 0, 60_000).time_to
        60000
    """

    key: Any
    time_from: int
    time_to: int

    @classmethod
    def with_key_and_window_start_range(cls, key: Any, time_from: int, time_to: int) -> WindowKeyQuery:
        """Query windows of a key.

        Args:
            key: Not None.
            time_from: The earliest start, ms.
            time_to: The latest start, ms, included.
        """
        return cls(key, time_from, time_to)


@dataclass(frozen=True)
class WindowRangeQuery(Query[Any]):
    """The windows that start in a span, of all keys, of a window store; or the sessions of a key, of a session store.

    Args:
        key: Key of the sessions; None: query a window store.
        time_from: The earliest start, ms.
        time_to: The latest start, ms, included.

    Example:
        >>> WindowRangeQuery.with_key("kafka").time_from is None
        True
    """

    key: Any = None
    time_from: int | None = None
    time_to: int | None = None

    @classmethod
    def with_key(cls, key: Any) -> WindowRangeQuery:
        """Query the sessions of a key.

        Args:
            key: Not None.
        """
        return cls(key)

    @classmethod
    def with_window_start_range(cls, time_from: int, time_to: int) -> WindowRangeQuery:
        """Query the windows of all keys.

        Args:
            time_from: The earliest start, ms.
            time_to: The latest start, ms, included.
        """
        return cls(None, time_from, time_to)


@dataclass(frozen=True)
class VersionedKeyQuery(Query[Any]):
    """The latest version of a key, or the one that was valid at a time.

    Args:
        key: Not None.
        as_of_timestamp: ms; None: the latest.

    Raises:
        TypeError: The key is None.

    Example:
        >>> VersionedKeyQuery.with_key("kafka").as_of(1_700_000_000_000).as_of_timestamp
        1700000000000
    """

    key: Any
    as_of_timestamp: int | None = None

    def __post_init__(self) -> None:
        if self.key is None:
            raise TypeError("key cannot be null.")

    @classmethod
    def with_key(cls, key: Any) -> VersionedKeyQuery:
        """Query the latest version.

        Args:
            key: Not None.
        """
        return cls(key)

    def as_of(self, timestamp: int) -> VersionedKeyQuery:
        """The version that was valid at a time.

        Args:
            timestamp: ms.
        """
        return replace(self, as_of_timestamp=timestamp)


@dataclass(frozen=True)
class MultiVersionedKeyQuery(Query[Any]):
    """The versions of a key that were valid in a span, the latest first.

    Args:
        key: Not None.
        from_timestamp: ms; None: no bound.
        to_timestamp: ms, included; None: no bound.
        ascending: Whether the earliest comes first.

    Raises:
        TypeError: The key is None.

    Example:
        >>> MultiVersionedKeyQuery.with_key("kafka").from_time(0).with_ascending_timestamps().ascending
        True
    """

    key: Any
    from_timestamp: int | None = None
    to_timestamp: int | None = None
    ascending: bool = False

    def __post_init__(self) -> None:
        if self.key is None:
            raise TypeError("key cannot be null.")

    @classmethod
    def with_key(cls, key: Any) -> MultiVersionedKeyQuery:
        """Query all retained versions.

        Args:
            key: Not None.
        """
        return cls(key)

    def from_time(self, timestamp: int | None) -> MultiVersionedKeyQuery:
        """Versions that were valid at this time or later.

        Args:
            timestamp: ms; None: no bound.
        """
        return replace(self, from_timestamp=timestamp)

    def to_time(self, timestamp: int | None) -> MultiVersionedKeyQuery:
        """Versions that were valid at this time or earlier.

        Args:
            timestamp: ms; None: no bound.
        """
        return replace(self, to_timestamp=timestamp)

    def with_descending_timestamps(self) -> MultiVersionedKeyQuery:
        """Return a copy with the latest version first (the default)."""
        return replace(self, ascending=False)

    def with_ascending_timestamps(self) -> MultiVersionedKeyQuery:
        """Return a copy with the earliest version first."""
        return replace(self, ascending=True)
