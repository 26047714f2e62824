"""The outermost layer of window stores, with the serdes, which processors use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Change, Record, ValueAndTimestamp, Windowed
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.bytes_stores import WindowBytesStore, WindowEntry, WrappedStore
from kafkapy.streams.state.metered_key_value_store import ChangeDeserializer, null_key
from kafkapy.streams.state.state_serdes import StateSerdes, prepare_serde, prepare_serdes
from kafkapy.streams.state.state_store import StateStore, TimestampedWindowStore, WindowStore
from kafkapy.streams.state.value_and_timestamp import ValueAndTimestampSerde
from kafkapy.streams.state.window_key_schema import store_key, store_start, time_window_for_size

K = TypeVar("K")
V = TypeVar("V")


class MeteredWindowStore(WrappedStore, WindowStore[K, V]):
    """Converts keys and values to bytes and back, and start times to windows of the store's size."""

    def __init__(
        self, wrapped: WindowBytesStore, window_size: int, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self.window_size = window_size
        self._key_serde = key_serde
        self._value_serde = value_serde
        self.serdes: StateSerdes

    def init(self, context: TaskContext, root: StateStore) -> None:
        self.serdes = self._prepare(context)
        self.wrapped.init(context, root)

    def _prepare(self, context: TaskContext) -> StateSerdes:
        return prepare_serdes(context, self.name(), self._key_serde, self._value_serde)

    def set_flush_listener(self, listener: Callable[[Record[Any, Change]], Any], send_old_values: bool) -> bool:
        """Like `MeteredKeyValueStore.set_flush_listener`; the keys are `Windowed`."""
        return self.wrapped.set_flush_listener(WindowChangeDeserializer(self, listener), send_old_values)

    def put(self, key: K, value: V | None, window_start_timestamp: int) -> None:
        if key is None:
            raise null_key()
        self.wrapped.put(self.serdes.raw_key(key), self.serdes.raw_value(value), window_start_timestamp)

    def fetch(self, key: K, time_from: int, time_to: int | None = None, /) -> Any:
        if key is None:
            raise null_key()
        if time_to is not None:
            return self._values(self.wrapped.fetch(self.serdes.raw_key(key), time_from, time_to, True))
        raw = self.wrapped.fetch_at(self.serdes.raw_key(key), time_from)
        return None if raw is None else self.serdes.value_from(raw)

    def backward_fetch(self, key: K, time_from: int, time_to: int) -> Iterator[tuple[int, V]]:
        if key is None:
            raise null_key()
        return self._values(self.wrapped.fetch(self.serdes.raw_key(key), time_from, time_to, False))

    def fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        first, last = self._end(key_from), self._end(key_to)
        return self._typed(self.wrapped.fetch_range(first, last, time_from, time_to, True))

    def backward_fetch_range(
        self, key_from: K | None, key_to: K | None, time_from: int, time_to: int
    ) -> Iterator[tuple[Windowed[K], V]]:
        first, last = self._end(key_from), self._end(key_to)
        return self._typed(self.wrapped.fetch_range(first, last, time_from, time_to, False))

    def fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.fetch_all(time_from, time_to, True))

    def backward_fetch_all(self, time_from: int, time_to: int) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.fetch_all(time_from, time_to, False))

    def all(self) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.all(True))

    def backward_all(self) -> Iterator[tuple[Windowed[K], V]]:
        return self._typed(self.wrapped.all(False))

    def _end(self, key: K | None) -> bytes | None:
        return None if key is None else self.serdes.raw_key(key)

    def _values(self, entries: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, V]]:
        value_from = self.serdes.value_from
        for start, value in entries:
            yield start, value_from(value)

    def _typed(self, entries: Iterator[WindowEntry]) -> Iterator[tuple[Windowed[K], V]]:
        serdes = self.serdes
        for key, start, value in entries:
            window = time_window_for_size(start, self.window_size)
            yield Windowed(serdes.key_from(key), window), serdes.value_from(value)


class MeteredTimestampedWindowStore(MeteredWindowStore[K, ValueAndTimestamp], TimestampedWindowStore[K]):
    """The same with a timestamp beside each value; the serde is that of the plain value."""

    def _prepare(self, context: TaskContext) -> StateSerdes:
        return prepare_serdes(
            context,
            self.name(),
            self._key_serde,
            ValueAndTimestampSerde(prepare_serde(context, self.name(), "value", self._value_serde)),
        )


class WindowChangeDeserializer(ChangeDeserializer):
    """Converts flushed records with keys of window stores."""

    __slots__ = ()

    def _key(self, raw: bytes) -> Any:
        window = time_window_for_size(store_start(raw), self._store.window_size)
        return Windowed(self._store.serdes.key_from(store_key(raw)), window)
