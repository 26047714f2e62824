"""The outermost layer of key-value stores, with the serdes, which processors use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Change, Record, ValueAndTimestamp
from kafkapy.streams.serdes import Serde, Serializer
from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, WrappedStore
from kafkapy.streams.state.caching_key_value_store import CachingKeyValueStore
from kafkapy.streams.state.state_serdes import StateSerdes, prepare_serde, prepare_serdes
from kafkapy.streams.state.state_store import KeyValueStore, StateStore, TimestampedKeyValueStore
from kafkapy.streams.state.value_and_timestamp import ValueAndTimestampSerde, values_are_same_and_time_is_increasing

K = TypeVar("K")
V = TypeVar("V")


class MeteredKeyValueStore(WrappedStore, KeyValueStore[K, V]):
    """Converts keys and values to bytes and back."""

    def __init__(
        self, wrapped: KeyValueBytesStore, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self._key_serde = key_serde
        self._value_serde = value_serde
        self.serdes: StateSerdes

    def init(self, context: TaskContext, root: StateStore) -> None:
        self.serdes = self._prepare(context)
        self.wrapped.init(context, root)

    def _prepare(self, context: TaskContext) -> StateSerdes:
        return prepare_serdes(context, self.name(), self._key_serde, self._value_serde)

    def set_flush_listener(self, listener: Callable[[Record[Any, Change]], Any], send_old_values: bool) -> bool:
        """Set the listener that is called when the record cache flushes changes.

        Args:
            listener: Called with a record of the key and a `Change`.
            send_old_values: Whether changes have the old values.

        Returns:
            Whether there is a cache. Without one the listener is never called.
        """
        return self.wrapped.set_flush_listener(ChangeDeserializer(self, listener), send_old_values)

    def get(self, key: K) -> V | None:
        if key is None:
            raise null_key()
        raw = self.wrapped.get(self.serdes.raw_key(key))
        return None if raw is None else self.serdes.value_from(raw)

    def put(self, key: K, value: V | None) -> None:
        if key is None:
            raise null_key()
        self.wrapped.put(self.serdes.raw_key(key), self.serdes.raw_value(value))

    def put_if_absent(self, key: K, value: V) -> V | None:
        if key is None:
            raise null_key()
        raw = self.wrapped.put_if_absent(self.serdes.raw_key(key), self.serdes.raw_value(value))
        return None if raw is None else self.serdes.value_from(raw)

    def put_all(self, entries: Iterable[tuple[K, V | None]]) -> None:
        pairs = list(entries)
        if any(key is None for key, _ in pairs):
            raise null_key()
        self.wrapped.put_all([(self.serdes.raw_key(key), self.serdes.raw_value(value)) for key, value in pairs])

    def delete(self, key: K) -> V | None:
        if key is None:
            raise null_key()
        raw = self.wrapped.delete(self.serdes.raw_key(key))
        return None if raw is None else self.serdes.value_from(raw)

    def range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[K, V]]:
        return self._typed(self.wrapped.range(self._end(key_from), self._end(key_to), True))

    def reverse_range(self, key_from: K | None, key_to: K | None) -> Iterator[tuple[K, V]]:
        return self._typed(self.wrapped.range(self._end(key_from), self._end(key_to), False))

    def all(self) -> Iterator[tuple[K, V]]:
        return self._typed(self.wrapped.range(None, None, True))

    def reverse_all(self) -> Iterator[tuple[K, V]]:
        return self._typed(self.wrapped.range(None, None, False))

    def prefix_scan(self, prefix: Any, prefix_serializer: Serializer) -> Iterator[tuple[K, V]]:
        if prefix is None:
            raise TypeError("prefix cannot be null")
        if prefix_serializer is None:
            raise TypeError("prefixKeySerializer cannot be null")
        raw = prefix_serializer.serialize("", prefix)
        if raw is None:
            raise TypeError("prefix cannot be null")
        return self._typed(self.wrapped.prefix_scan(raw))

    def approximate_num_entries(self) -> int:
        return self.wrapped.approximate_num_entries()

    def _end(self, key: K | None) -> bytes | None:
        return None if key is None else self.serdes.raw_key(key)

    def _typed(self, entries: Iterator[Entry]) -> Iterator[tuple[K, V]]:
        serdes = self.serdes
        for key, value in entries:
            # A value is None if its key was deleted during the iteration over an in-memory store.
            yield serdes.key_from(key), None if value is None else serdes.value_from(value)


class MeteredTimestampedKeyValueStore(MeteredKeyValueStore[K, ValueAndTimestamp], TimestampedKeyValueStore[K]):
    """The same with a timestamp beside each value; the serde is that of the plain value."""

    def _prepare(self, context: TaskContext) -> StateSerdes:
        return prepare_serdes(
            context,
            self.name(),
            self._key_serde,
            ValueAndTimestampSerde(prepare_serde(context, self.name(), "value", self._value_serde)),
        )

    def get_with_binary(self, key: K) -> tuple[bytes | None, ValueAndTimestamp | None]:
        """Return the value with its bytes, for `put_if_different_values`."""
        raw = self.wrapped.get(self.serdes.raw_key(key))
        return raw, None if raw is None else self.serdes.value_from(raw)

    def cache(self) -> CachingKeyValueStore | None:
        """Return the store's record cache; None if it has none."""
        return self.wrapped if isinstance(self.wrapped, CachingKeyValueStore) else None

    def put_if_different_values(self, key: K, value: ValueAndTimestamp | None, old_raw: bytes | None) -> bool:
        """Put the value, unless the stored value is equal and only the timestamp would increase.

        Returns:
            Whether it was put.
        """
        raw = self.serdes.raw_value(value)
        if values_are_same_and_time_is_increasing(old_raw, raw):
            return False
        self.wrapped.put(self.serdes.raw_key(key), raw)
        return True


class ChangeDeserializer:
    """Converts a flushed record with a change of bytes into one of keys and values."""

    __slots__ = ("_listener", "_store")

    def __init__(self, store: Any, listener: Callable[[Record[Any, Change]], Any]) -> None:
        self._store = store
        self._listener = listener

    def __call__(self, record: Record[bytes, Change]) -> None:
        serdes = self._store.serdes
        new, old, is_latest = record.value
        change = Change(
            None if new is None else serdes.value_from(new), None if old is None else serdes.value_from(old), is_latest
        )
        self._listener(Record(self._key(record.key), change, record.timestamp, record.headers))

    def _key(self, raw: bytes) -> Any:
        return self._store.serdes.key_from(raw)


def null_key() -> TypeError:
    """Return the error for a key of None."""
    return TypeError("key cannot be null")
