"""A key-value store on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import Entry, KeyValueBytesStore, is_empty_range, next_prefix
from kafkapy.streams.state.rocksdb_database import RocksDatabase
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import with_timestamp


class RocksDBStore(KeyValueBytesStore):
    """Values by key in one RocksDB, optionally with timestamps."""

    def __init__(self, name: str, timestamped: bool = False) -> None:
        self._name = name
        self.timestamped = timestamped
        self._database = RocksDatabase(name)
        self._table = self._database.table(b"")

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        if not self._database.is_open:
            self._database = RocksDatabase(self._name)
            self._table = self._database.table(b"")
            self._database.open(context)
        context.register_store(root, self._restore)

    def _restore(self, records: list[Any]) -> None:
        for record in records:
            value = with_timestamp(record.value, record.timestamp) if self.timestamped else record.value
            self._table.put(record.key, value)

    def get(self, key: bytes) -> bytes | None:
        self._database.check_open()
        return self._table.get(key)

    def put(self, key: bytes, value: bytes | None) -> None:
        self._database.check_open()
        self._table.put(key, value)

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        self._database.check_open()
        put = self._table.put
        for key, value in entries:
            put(key, value)

    def delete(self, key: bytes) -> bytes | None:
        self._database.check_open()
        old = self._table.get(key)
        if old is not None:
            self._table.put(key, None)
        return old

    def range(self, key_from: bytes | None, key_to: bytes | None, forward: bool) -> Iterator[Entry]:
        self._database.check_open()
        if is_empty_range(key_from, key_to):
            return iter(())
        return self._table.range(key_from, key_to, forward)

    def prefix_scan(self, prefix: bytes) -> Iterator[Entry]:
        self._database.check_open()
        return self._table.range(prefix, next_prefix(prefix), True, include_to=False)

    def approximate_num_entries(self) -> int:
        self._database.check_open()
        return self._database.approximate_num_entries()

    def flush(self) -> None:
        self._database.flush()

    def close(self) -> None:
        self._database.close()

    def persistent(self) -> bool:
        return True

    def is_open(self) -> bool:
        return self._database.is_open
