"""Adapts stores without timestamps to the interface of timestamped stores: all timestamps are -1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkapy.streams.state.bytes_stores import (
    Entry,
    KeyValueBytesStore,
    WindowBytesStore,
    WindowEntry,
    WrappedStore,
)
from kafkapy.streams.state.value_and_timestamp import raw_value_of

_NO_TIMESTAMP: Final = b"\xff" * 8


def _with_no_timestamp(value: bytes | None) -> bytes | None:
    return None if value is None else _NO_TIMESTAMP + value


class KeyValueToTimestampedKeyValueByteStoreAdapter(WrappedStore, KeyValueBytesStore):
    """Takes timestamps away, and gives back -1."""

    def __init__(self, wrapped: KeyValueBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped

    def get(self, key: bytes) -> bytes | None:
        return _with_no_timestamp(self.wrapped.get(key))

    def put(self, key: bytes, value: bytes | None) -> None:
        self.wrapped.put(key, raw_value_of(value))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        return _with_no_timestamp(self.wrapped.put_if_absent(key, raw_value_of(value)))

    def delete(self, key: bytes) -> bytes | None:
        return _with_no_timestamp(self.wrapped.delete(key))

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        return ((key, _NO_TIMESTAMP + value) for key, value in self.wrapped.range(key_from, key_to, forward))

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        return ((key, _NO_TIMESTAMP + value) for key, value in self.wrapped.prefix_scan(prefix))

    def approximate_num_entries(self) -> int:
        return self.wrapped.approximate_num_entries()


class WindowToTimestampedWindowByteStoreAdapter(WrappedStore, WindowBytesStore):
    """Takes timestamps away, and gives back -1."""

    def __init__(self, wrapped: WindowBytesStore) -> None:
        super().__init__(wrapped)
        self.wrapped = wrapped

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        self.wrapped.put(key, raw_value_of(value), start)

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        return _with_no_timestamp(self.wrapped.fetch_at(key, start))

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        entries = self.wrapped.fetch(key, time_from, time_to, forward)
        return ((start, _NO_TIMESTAMP + value) for start, value in entries)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        return _stamped(self.wrapped.fetch_range(key_from, key_to, time_from, time_to, forward))

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]:
        return _stamped(self.wrapped.fetch_all(time_from, time_to, forward))

    def all(self, forward: bool) -> Iterator[WindowEntry]:
        return _stamped(self.wrapped.all(forward))


def _stamped(entries: Iterator[WindowEntry]) -> Iterator[WindowEntry]:
    return ((key, start, _NO_TIMESTAMP + value) for key, start, value in entries)
