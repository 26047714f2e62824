"""A key-value store that adds to the values of a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, WrappedStore
from kafkapy.streams.state.caching_key_value_store import CachingKeyValueStore
from kafkapy.streams.state.change_logging_stores import ChangeLoggingListValueBytesStore
from kafkapy.streams.state.metered_key_value_store import MeteredKeyValueStore
from kafkapy.streams.state.record_context_bytes import BufferReader, nullable_array
from kafkapy.streams.state.store_builders import KeyValueStoreBuilder

_VARIABLE_SIZE: Final = b"\x01"
"""Marks a list whose entries have no fixed size: each has its length as prefix."""


class ListValueStore(WrappedStore, KeyValueBytesStore):
    """A list of values for each key, in the order of puts; `range` yields an entry for each value."""

    def __init__(self, wrapped: KeyValueBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped

    def put(self, key: bytes, value: bytes | None) -> None:
        """Add the value; None deletes all of them."""
        if value is None:
            self.wrapped.put(key, None)
            return
        old = self.wrapped.get(key)
        self.wrapped.put(key, write_list([value] if old is None else [*read_list(old), value]))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        """Add the value if the key already has one (as in Kafka)."""
        if self.wrapped.get(key) is not None:
            self.put(key, value)
        return None

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        raise NotImplementedError("putAll not supported")

    def delete(self, key: bytes) -> bytes | None:
        raise NotImplementedError("delete not supported")

    def get(self, key: bytes) -> bytes | None:
        return self.wrapped.get(key)

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        if key_from is not None or key_to is not None or not forward:
            raise NotImplementedError("range not supported")
        return _each_value(self.wrapped.range(None, None, True))

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        raise NotImplementedError("prefixScan not supported")

    def approximate_num_entries(self) -> int:
        return self.wrapped.approximate_num_entries()


def _each_value(entries: Iterator[Entry]) -> Iterator[Entry]:
    for key, values in entries:
        # None for a key that was deleted since.
        for value in read_list(values) if values is not None else ():
            yield key, value


def write_list(values: list[bytes]) -> bytes:
    """Serialize a list of bytes like Kafka's ListSerializer."""
    return _VARIABLE_SIZE + len(values).to_bytes(4, "big") + b"".join(nullable_array(value) for value in values)


def read_list(data: bytes) -> list[bytes]:
    """Parse the values of such a list."""
    reader = BufferReader(data)
    reader.take(1)
    values = [reader.nullable_array() for _ in range(reader.integer())]
    return [value for value in values if value is not None]


class ListValueStoreBuilder(KeyValueStoreBuilder):
    """Builds key-value stores that add to the values of a key."""

    def build(self, config: Mapping[str, Any] | None = None) -> MeteredKeyValueStore[Any, Any]:
        store: KeyValueBytesStore = ListValueStore(self._supplier.get())
        if self.logging_enabled:
            store = ChangeLoggingListValueBytesStore(store)
        if self.caching_enabled:
            store = CachingKeyValueStore(store)
        return MeteredKeyValueStore(store, self._key_serde, self._value_serde)
