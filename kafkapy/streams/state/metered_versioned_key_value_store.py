"""The outermost layer of versioned stores, with the serdes, which processors use."""

from __future__ import annotations

from typing import Any, TypeVar

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import VersionedRecord
from kafkapy.streams.serdes import Serde
from kafkapy.streams.state.bytes_stores import VersionedBytesStore, WrappedStore
from kafkapy.streams.state.metered_key_value_store import null_key
from kafkapy.streams.state.state_serdes import StateSerdes, prepare_serdes
from kafkapy.streams.state.state_store import StateStore, VersionedKeyValueStore
from kafkapy.streams.state.value_and_timestamp import raw_value_of, timestamp_of

K = TypeVar("K")
V = TypeVar("V")


class MeteredVersionedKeyValueStore(WrappedStore, VersionedKeyValueStore[K, V]):
    """Converts keys and values to bytes and back. As in Kafka, results have no end of validity."""

    def __init__(
        self, wrapped: VersionedBytesStore, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None
    ) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped
        self._key_serde = key_serde
        self._value_serde = value_serde
        self.serdes: StateSerdes

    def init(self, context: TaskContext, root: StateStore) -> None:
        self.serdes = prepare_serdes(context, self.name(), self._key_serde, self._value_serde)
        self.wrapped.init(context, root)

    def set_flush_listener(self, listener: Any, send_old_values: bool) -> bool:
        """Return False: there is no record cache of versions."""
        return False

    def get(self, key: K, as_of_timestamp: int | None = None) -> VersionedRecord | None:
        if key is None:
            raise null_key()
        raw = self.serdes.raw_key(key)
        return self._record(
            self.wrapped.get(raw) if as_of_timestamp is None else self.wrapped.get_as_of(raw, as_of_timestamp)
        )

    def versions(self, key: K, time_from: int, time_to: int) -> list[VersionedRecord]:
        """The versions that were valid in a span, the latest first.

        Args:
            key: Not None.
            time_from: ms.
            time_to: ms, included.
        """
        if key is None:
            raise null_key()
        found = self.wrapped.versions(self.serdes.raw_key(key), time_from, time_to)
        return [
            VersionedRecord(self.serdes.value_from(value), valid_from, valid_to)
            for value, valid_from, valid_to in found
        ]

    def put(self, key: K, value: V | None, timestamp: int) -> int:
        if key is None:
            raise null_key()
        return self.wrapped.put(self.serdes.raw_key(key), self.serdes.raw_value(value), timestamp)

    def delete(self, key: K, timestamp: int) -> VersionedRecord | None:
        if key is None:
            raise null_key()
        return self._record(self.wrapped.delete(self.serdes.raw_key(key), timestamp))

    def _record(self, raw: bytes | None) -> VersionedRecord | None:
        if raw is None:
            return None
        return VersionedRecord(self.serdes.value_from(raw_value_of(raw) or b""), timestamp_of(raw))
