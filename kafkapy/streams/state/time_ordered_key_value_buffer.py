"""The buffer of a stream-table join with a grace period."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.buffer_value import BufferValue, read_buffer_value
from kafkapy.streams.state.prefixed_key_schemas import (
    key_of_time_first_window,
    start_of_time_first_window,
    time_first_window_key,
)
from kafkapy.streams.state.record_context_bytes import BufferReader
from kafkapy.streams.state.state_serdes import serde_or_default
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.store_builders import StoreBuilder
from kafkapy.streams.state.time_ordered_buffer import Eviction, TimeOrderedKeyValueBuffer
from kafkapy.streams.state.time_ordered_segmented_bytes_store import TimeOrderedSegmentedBytesStore
from kafkapy.streams.state.window_key_schema import LONG_MAX, MAX_SEQUENCE, store_sequence

_NO_TIME = bytes(8)


class RocksDBTimeOrderedKeyValueBuffer(TimeOrderedKeyValueBuffer):
    """Records by timestamp and a unique sequence number.

    Invariant: `_num_records` and `_size` are those of the store; no sequence number is greater than `_sequence`,
    unless that has restarted at 0.
    """

    def __init__(
        self,
        name: str,
        grace_period: int,
        topic: str,
        logging_enabled: bool,
        key_serde: Serde[Any] | None,
        value_serde: Serde[Any] | None,
    ) -> None:
        self._name = name
        self._grace_period = grace_period
        self._topic = topic
        self._logging_enabled = logging_enabled
        self._store = TimeOrderedSegmentedBytesStore(name, LONG_MAX, LONG_MAX, has_index=False, sessions=False)
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._sequence = 0
        self._num_records = 0
        self._size = 0
        self._min_timestamp = LONG_MAX
        self._min_is_valid = False
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self._store.is_open()

    def set_serdes_if_null(self, context: TaskContext) -> None:
        self._key_serde = serde_or_default(context, "key", self._key_serde)
        self._value_serde = serde_or_default(context, "value", self._value_serde)

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        self._store.segments.open(context)
        for key, data in self._store.all(True):
            self._count_stored(key, data)
        context.register_store(root, self._restore)

    def _restore(self, records: list[Any]) -> None:
        # The changelog has the store's keys. Kafka 3.9.1 parses them as usual keys, and so loses the restored records.
        for record in records:
            known = self._store.get(record.key)
            if known is not None:
                self._count(-1, record.key, read_buffer_value(BufferReader(known)))
            self._store.put(record.key, None if record.value is None else record.value[: -len(_NO_TIME)])
            if record.value is not None:
                self._count_stored(record.key, record.value)

    def _count_stored(self, key: bytes, data: bytes) -> None:
        self._count(1, key, read_buffer_value(BufferReader(data)))
        self._sequence = max(self._sequence, store_sequence(key))
        self._min_timestamp = min(self._min_timestamp, start_of_time_first_window(key))
        self._store.observed_stream_time = max(self._store.observed_stream_time, start_of_time_first_window(key))

    def _count(self, number: int, key: bytes, value: BufferValue) -> None:
        self._num_records += number
        self._size += number * (len(key) + value.memory_size())

    def flush(self) -> None:
        self._store.flush()

    def close(self) -> None:
        self._store.close()

    def evict_while(self, predicate: Callable[[], bool], callback: Callable[[Eviction], Any]) -> None:
        if not predicate():
            return
        start = self._min_timestamp if self._min_is_valid else 0
        latest = self._store.observed_stream_time - self._grace_period
        for key, data in self._store.fetch_all(start, latest, True):
            if not predicate():
                break
            self._evict(key, read_buffer_value(BufferReader(data)), callback)
        if self._num_records == 0:
            self._min_timestamp = LONG_MAX
        else:
            self._min_timestamp = self._store.observed_stream_time - self._grace_period + 1

    def _evict(self, key: bytes, value: BufferValue, callback: Callable[[Eviction], Any]) -> None:
        timestamp = value.context.timestamp
        if self._min_is_valid and timestamp < self._min_timestamp:
            raise RuntimeError(
                f"minTimestamp [{self._min_timestamp}] did not match the actual min timestamp [{timestamp}]"
            )
        self._min_timestamp = timestamp
        self._min_is_valid = True
        assert self._key_serde is not None and self._value_serde is not None
        typed_key = self._key_serde.deserializer().deserialize(self._topic, key_of_time_first_window(key))
        typed_value = self._value_serde.deserializer().deserialize(self._topic, value.new_value)
        callback(Eviction(typed_key, typed_value, value.context))
        self._store.remove(key)
        if self._logging_enabled:
            self._context.log_change(self._name, key, None, None)
        self._count(-1, key, value)

    def prior_value_for_buffered(self, key: Any) -> tuple[bool, ValueAndTimestamp | None]:
        return False, None

    def put(self, time: int, record: Record[Any, Any], record_context: RecordContext) -> bool:
        if record.value is None:
            raise TypeError("value cannot be null")
        if record.key is None:
            raise TypeError("key cannot be null")
        if record_context is None:
            raise TypeError("recordContext cannot be null")
        if self._store.observed_stream_time - self._grace_period > record.timestamp:
            return False
        assert self._key_serde is not None and self._value_serde is not None
        self._sequence = (self._sequence + 1) & MAX_SEQUENCE
        raw_key = self._key_serde.serializer().serialize(self._topic, record.key)
        assert raw_key is not None
        key = time_first_window_key(raw_key, record.timestamp, self._sequence)
        value = BufferValue(
            None, None, self._value_serde.serializer().serialize(self._topic, record.value), record_context
        )
        data = value.write()
        self._store.put(key, data)
        if self._logging_enabled:
            self._context.log_change(self._name, key, data + _NO_TIME, None)
        self._count(1, key, value)
        self._min_timestamp = min(self._min_timestamp, record.timestamp)
        return True

    def num_records(self) -> int:
        return self._num_records

    def buffer_size(self) -> int:
        return self._size

    def min_timestamp(self) -> int:
        return self._min_timestamp


class RocksDBTimeOrderedKeyValueBufferBuilder(StoreBuilder):
    """Builds such buffers, which have no cache.

    Args:
        name: Name of the store.
        grace_period: Grace period of the join, ms.
        topic: The topic to pass to serializers.
        key_serde: None: `default.key.serde`.
        value_serde: None: `default.value.serde`.
    """

    def __init__(
        self,
        name: str,
        grace_period: int,
        topic: str,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
    ) -> None:
        super().__init__(name, key_serde, value_serde)
        self._grace_period = grace_period
        self._topic = topic

    def build(self, config: Mapping[str, Any] | None = None) -> RocksDBTimeOrderedKeyValueBuffer:
        return RocksDBTimeOrderedKeyValueBuffer(
            self.name, self._grace_period, self._topic, self.logging_enabled, self._key_serde, self._value_serde
        )
