"""The buffer of a suppression."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Change, Headers, Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.buffer_value import BufferValue, read_changelog_record
from kafkapy.streams.state.java_hash_order import JavaHashSet
from kafkapy.streams.state.state_serdes import serde_or_default
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.store_builders import StoreBuilder
from kafkapy.streams.state.time_ordered_buffer import Eviction, TimeOrderedKeyValueBuffer
from kafkapy.streams.state.window_key_schema import LONG_MAX

CHANGELOG_HEADERS: Final[Headers] = [("v", b"\x03")]
_TIME_SIZE: Final = 8


class InMemoryTimeOrderedKeyValueChangeBuffer(TimeOrderedKeyValueBuffer):
    """The last change of each key, in the order of the times at which keys were first buffered.

    Invariant: `_values` has a value for each (time, key) of `_index`, and `_order` has those pairs in order; pairs of
    `_order` before `_first` were evicted. `_size` is the sum of the values' estimates. The changelog has all keys that
    are not in `_dirty`.
    """

    def __init__(
        self, name: str, logging_enabled: bool, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        self._name = name
        self._logging_enabled = logging_enabled
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._index: dict[bytes, int] = {}
        self._values: dict[bytes, BufferValue] = {}
        self._order: list[tuple[int, bytes]] = []
        self._first = 0
        self._dirty = JavaHashSet()
        self._size = 0
        self._min_timestamp = LONG_MAX
        self._open = False
        self._topic = ""
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def persistent(self) -> bool:
        return False

    def is_open(self) -> bool:
        return self._open

    def set_serdes_if_null(self, context: TaskContext) -> None:
        self._key_serde = serde_or_default(context, "key", self._key_serde)
        self._value_serde = serde_or_default(context, "value", self._value_serde)

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self._topic = context.changelog_topic(self._name)
        context.register_store(root, self._restore)
        self._open = True

    def close(self) -> None:
        self._open = False
        self._index.clear()
        self._values.clear()
        self._order.clear()
        self._first = 0
        self._dirty = JavaHashSet()
        self._size = 0
        self._min_timestamp = LONG_MAX

    def flush(self) -> None:
        """Write the last change of each key to the changelog; its records have no timestamp."""
        if not self._logging_enabled or not len(self._dirty):
            return
        for key in self._dirty:
            time = self._index.get(key)
            if time is None:
                self._context.log_change(self._name, key, None, None)
            else:
                data = self._values[key].write() + time.to_bytes(_TIME_SIZE, "big", signed=True)
                self._context.log_change(self._name, key, data, None, CHANGELOG_HEADERS)
        self._dirty.clear()

    def flush_cache(self) -> None:
        self.flush()

    def _restore(self, records: list[Any]) -> None:
        for record in records:
            key = record.key
            if record.value is None:
                self._forget(key)
                continue
            buffered = self._values.get(key)
            time, value = read_changelog_record(record, None if buffered is None else buffered.prior_value)
            self._put(time, key, value)

    def _forget(self, key: bytes) -> None:
        time = self._index.pop(key, None)
        if time is None:
            return
        value = self._values.pop(key)
        del self._order[bisect_left(self._order, (time, key), self._first)]
        self._size -= _record_size(key, value)
        if time == self._min_timestamp:
            self._set_min_timestamp()

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], Any]) -> None:
        if not predicate():
            return
        while self._first < len(self._order) and predicate():
            _, key = self._order[self._first]
            value = self._values[key]
            callback(Eviction(self._typed_key(key), self._typed_change(value), value.context))
            self._first += 1
            del self._index[key]
            del self._values[key]
            if self._logging_enabled:
                self._dirty.add(key)
            self._size -= _record_size(key, value)
            self._set_min_timestamp()
        if self._first * 2 > len(self._order):
            del self._order[: self._first]
            self._first = 0

    def prior_value_for_buffered(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        buffered = self._values.get(self._raw_key(key))
        if buffered is None:
            return False, None
        prior = self._typed_value(buffered.prior_value)
        return True, None if prior is None else ValueAndTimestamp(prior, -1)

    def put(self, time: int, record: Record[Any, Change], record_context: RecordContext) -> bool:
        if record.value is None:
            raise TypeError("value cannot be null")
        if record_context is None:
            raise TypeError("recordContext cannot be null")
        key = self._raw_key(record.key)
        old, new = self._raw_value(record.value.old_value), self._raw_value(record.value.new_value)
        buffered = self._values.get(key)
        prior = old if buffered is None else buffered.prior_value
        self._put(time, key, BufferValue(prior, old, new, record_context))
        if self._logging_enabled:
            self._dirty.add(key)
        return True

    def _put(self, time: int, key: bytes, value: BufferValue) -> None:
        known = self._values.get(key)
        self._values[key] = value
        self._size += _record_size(key, value)
        if known is not None:
            self._size -= _record_size(key, known)
            return
        self._index[key] = time
        insort(self._order, (time, key), self._first)
        if time < self._min_timestamp:
            self._min_timestamp = time

    def num_records(self) -> int:
        return len(self._index)

    def buffer_size(self) -> int:
        return self._size

    def min_timestamp(self) -> int:
        return self._min_timestamp

    def _set_min_timestamp(self) -> None:
        self._min_timestamp = self._order[self._first][0] if self._first < len(self._order) else LONG_MAX

    def _raw_key(self, key: Any) -> bytes:
        assert self._key_serde is not None
        raw = self._key_serde.serializer().serialize(self._topic, key)
        assert raw is not None
        return raw

    def _typed_key(self, raw: bytes) -> Any:
        assert self._key_serde is not None
        return self._key_serde.deserializer().deserialize(self._topic, raw)

    def _raw_value(self, value: Any) -> bytes | None:
        assert self._value_serde is not None
        return None if value is None else self._value_serde.serializer().serialize(self._topic, value)

    def _typed_value(self, raw: bytes | None) -> Any:
        assert self._value_serde is not None
        return None if raw is None else self._value_serde.deserializer().deserialize(self._topic, raw)

    def _typed_change(self, value: BufferValue) -> Change:
        return Change(self._typed_value(value.new_value), self._typed_value(value.old_value))


def _record_size(key: bytes, value: BufferValue) -> int:
    return _TIME_SIZE + len(key) + value.memory_size()


class InMemoryTimeOrderedKeyValueChangeBufferBuilder(StoreBuilder):
    """Builds such buffers, which have no cache.

    Args:
        name: Name of the store.
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.
    """

    def build(self, config: Mapping[str, Any] | None = None) -> InMemoryTimeOrderedKeyValueChangeBuffer:
        return InMemoryTimeOrderedKeyValueChangeBuffer(
            self.name, self.logging_enabled, self._key_serde, self._value_serde
        )
