"""A store's RocksDB, with a write buffer in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from kafkapy.streams.errors import InvalidStateStoreException, ProcessorStateException
from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import next_prefix
from kafkapy.streams.state.sorted_bytes import SortedBytes

if TYPE_CHECKING:
    from rocksdict import Options, Rdict

WRITE_BUFFER_BYTES: Final = 16 << 20
"""Size of the write buffer, as in each of Kafka's RocksDBs."""
ENTRY_OVERHEAD: Final = 200
"""Bytes of an entry in memory in addition to key and value."""
_DELETED: Final = bytes(bytearray(b"deleted"))
"""Marks in the buffer a key that is deleted; compared by identity."""


class RocksDatabase:
    """The files of a store, and its tables.

    Invariant: a key's entry in a table's buffer is newer than the one in RocksDB. Without a `_db` there are no files,
    and buffers have all entries.

    A write-ahead log would be useless, since entries after the last checkpoint are restored from the changelog. So
    unflushed entries are kept in dicts, which is faster, and a store that is never flushed needs no files.
    """

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name
        self._path: Path | None = None
        self._config: dict[str, Any] = {}
        self._db: Rdict | None = None
        self._tables: list[Table] = []
        self._buffered_bytes = 0
        self._iterators: WeakSet[StoredEntries] = WeakSet()
        self.is_open = False

    def open(self, context: TaskContext) -> None:
        """Open the files, if they exist.

        Raises:
            ProcessorStateException: They can't be opened.
        """
        self._path = context.state_dir / "rocksdb" / self._store_name
        self._config = context.config
        self.is_open = True
        if (self._path / "CURRENT").exists():
            self._open_db()

    def table(self, prefix: bytes) -> Table:
        """Return the part of the database with the keys that begin with the prefix."""
        table = Table(self, prefix)
        self._tables.append(table)
        return table

    def drop_table(self, table: Table) -> None:
        """Delete a part with all its entries."""
        self._tables.remove(table)
        self._buffered_bytes -= table.buffered_bytes
        table.clear()
        end = next_prefix(table.prefix)
        if self._db is not None and end is not None:
            try:
                self._db.delete_range(table.prefix, end)
            except Exception as error:
                raise self._failed("Error while removing a segment from store") from error

    def prefixes(self, size: int) -> list[bytes]:
        """Return the prefixes of a size that occur in the files."""
        found: list[bytes] = []
        if self._db is None:
            return found
        iterator = self._db.iter()
        iterator.seek_to_first()
        while iterator.valid():
            prefix = iterator.key()[:size]
            found.append(prefix)
            end = next_prefix(prefix)
            if end is None:
                break
            iterator.seek(end)
        return found

    @property
    def has_files(self) -> bool:
        return self._db is not None

    def stored(self, key: bytes) -> bytes | None:
        """Return a key's value in the files."""
        if self._db is None:
            return None
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:
            raise self._failed("Error while getting value from store") from error
        return value

    def stored_entries(
        self, prefix: bytes, key_from: bytes, key_to: bytes | None, forward: bool, include_to: bool
    ) -> StoredEntries:
        """Return the files' entries between two keys, without the prefix."""
        assert self._db is not None
        if forward:
            items = self._db.items(from_key=key_from)
        elif key_to is None:
            items = self._db.items(backwards=True)
        else:
            items = self._db.items(backwards=True, from_key=key_to)
        entries = StoredEntries(self._store_name, items, len(prefix), key_from, key_to, forward, include_to)
        self._iterators.add(entries)
        return entries

    def grew(self, by: int) -> None:
        """Count bytes put into a table; write the buffers when they are full."""
        self._buffered_bytes += by
        if self._buffered_bytes > WRITE_BUFFER_BYTES:
            self._write_buffers()

    def flush(self) -> None:
        """Write all puts durably.

        Raises:
            ProcessorStateException: It can't be written.
        """
        if not self.is_open or (self._db is None and not any(len(table.buffer) for table in self._tables)):
            return
        self._write_buffers()
        assert self._db is not None
        try:
            self._db.flush(True)
        except Exception as error:
            raise self._failed("Error while executing flush from store") from error

    def close(self) -> None:
        """Close the files and all iterators."""
        self.is_open = False
        for entries in list(self._iterators):
            entries.close()
        for table in self._tables:
            table.clear()
        self._tables.clear()
        self._buffered_bytes = 0
        if self._db is not None:
            self._db.close()
            self._db = None

    def check_open(self) -> None:
        """Raises:
        InvalidStateStoreException: It is closed.
        """
        if not self.is_open:
            raise InvalidStateStoreException(f"Store {self._store_name} is currently closed")

    def approximate_num_entries(self) -> int:
        buffered = sum(len(table.buffer) for table in self._tables)
        if self._db is None:
            return buffered
        return buffered + (self._db.property_int_value("rocksdb.estimate-num-keys") or 0)

    def _write_buffers(self) -> None:
        from rocksdict import WriteBatch

        if self._db is None:
            self._open_db()
        assert self._db is not None
        batch = WriteBatch(raw_mode=True)
        for table in self._tables:
            for key, value in table.take_buffer():
                if value is _DELETED:
                    batch.delete(table.prefix + key)
                else:
                    batch.put(table.prefix + key, value)
        self._buffered_bytes = 0
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._failed("Error writing batch to store") from error

    def _open_db(self) -> None:
        assert self._path is not None
        try:
            from rocksdict import Rdict, WriteOptions
        except ImportError as error:
            message = 'Persistent stores need rocksdict: pip install "kafkapy[streams]"'
            raise ProcessorStateException(message) from error
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(str(self._path), self._options())
        except Exception as error:
            raise self._failed("Error opening store") from error
        write_options = WriteOptions()
        write_options.disable_wal = True  # type: ignore[method-assign, assignment]  # its stubs say that it is a method
        self._db.set_write_options(write_options)

    def _options(self) -> Options:
        from rocksdict import BlockBasedOptions, DBCompactionStyle, DBCompressionType, Options

        table_options = BlockBasedOptions()
        table_options.set_bloom_filter(10, True)
        table_options.set_block_size(4096)
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_block_based_table_factory(table_options)
        options.set_compression_type(DBCompressionType.none())
        options.set_compaction_style(DBCompactionStyle.universal())
        options.set_write_buffer_size(WRITE_BUFFER_BYTES)
        options.set_keep_log_file_num(1)
        options.set_max_log_file_size(1 << 20)
        options.set_stats_dump_period_sec(0)
        options.set_stats_persist_period_sec(0)
        options.set_manifest_preallocation_size(64 << 10)
        setter = self._config.get("rocksdb.config.setter")
        if setter is not None:
            setter(self._store_name, options, self._config)
        return options

    def _failed(self, what: str) -> ProcessorStateException:
        return ProcessorStateException(f"{what} {self._store_name} at location {self._path}")


class Table:
    """The keys of a database that begin with a prefix; its users don't see the prefix."""

    __slots__ = ("_database", "buffer", "buffered_bytes", "prefix")

    def __init__(self, database: RocksDatabase, prefix: bytes) -> None:
        self._database = database
        self.prefix = prefix
        self.buffer: SortedBytes[bytes] = SortedBytes()
        self.buffered_bytes = 0

    def get(self, key: bytes) -> bytes | None:
        value = self.buffer.get(key)
        if value is not None:
            return None if value is _DELETED else value
        return self._database.stored(self.prefix + key) if self._database.has_files else None

    def put(self, key: bytes, value: bytes | None) -> None:
        """Set the value; None deletes the key."""
        if value is not None:
            self.buffer.put(key, value)
            size = len(key) + len(value) + ENTRY_OVERHEAD
        elif self._database.has_files:
            self.buffer.put(key, _DELETED)
            size = len(key) + ENTRY_OVERHEAD
        else:
            self.buffer.pop(key)
            return
        self.buffered_bytes += size
        self._database.grew(size)

    def range(
        self, key_from: bytes | None, key_to: bytes | None, forward: bool, include_to: bool = True
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return a snapshot of the entries from one key to another; a bound of None is open."""
        buffered = self.buffer.items(key_from, key_to, forward, include_to)
        if not self._database.has_files:
            return buffered
        prefix = self.prefix
        low = prefix if key_from is None else prefix + key_from
        if key_to is None:
            high, include_to = next_prefix(prefix), False
        else:
            high = prefix + key_to
        if high is not None and low > high:
            return iter(())
        stored = self._database.stored_entries(prefix, low, high, forward, include_to)
        return _merge(buffered, stored, forward)

    def take_buffer(self) -> Iterator[tuple[bytes, bytes]]:
        """Remove and return the buffered entries for writing; open iterators keep the old buffer."""
        entries = self.buffer.items()
        self.buffer = SortedBytes()
        self.buffered_bytes = 0
        return entries

    def clear(self) -> None:
        self.buffer.clear()
        self.buffered_bytes = 0


class StoredEntries:
    """An iterator over the files; it must be released before they are closed, as RocksDB holds its lock until then."""

    __slots__ = (
        "__weakref__",
        "_forward",
        "_include_to",
        "_items",
        "_key_from",
        "_key_to",
        "_prefix_size",
        "_store_name",
    )

    def __init__(
        self,
        store_name: str,
        items: Iterator[Any],
        prefix_size: int,
        key_from: bytes,
        key_to: bytes | None,
        forward: bool,
        include_to: bool,
    ) -> None:
        self._store_name = store_name
        self._items: Iterator[Any] | None = items
        self._prefix_size = prefix_size
        self._key_from = key_from
        self._key_to = key_to
        self._forward = forward
        self._include_to = include_to

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return self

    def __next__(self) -> tuple[bytes, bytes]:
        if self._items is None:
            raise InvalidStateStoreException(f"RocksDB iterator for store {self._store_name} has closed")
        entry: Any = next(self._items)
        key: bytes = entry[0]
        if self._forward:
            if self._is_after(key):
                raise StopIteration
        else:
            while self._is_after(key):
                entry = next(self._items)
                key = entry[0]
            if key < self._key_from:
                raise StopIteration
        return key[self._prefix_size :], entry[1]

    def _is_after(self, key: bytes) -> bool:
        return self._key_to is not None and (key > self._key_to or (key == self._key_to and not self._include_to))

    def close(self) -> None:
        self._items = None


def _merge(
    buffered: Iterator[tuple[bytes, bytes]], stored: Iterator[tuple[bytes, bytes]], forward: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Merge entries in order; a buffered one takes precedence."""
    new = next(buffered, None)
    old = next(stored, None)
    while new is not None or old is not None:
        if new is None or (old is not None and new[0] != old[0] and (old[0] < new[0]) is forward):
            assert old is not None
            yield old
            old = next(stored, None)
            continue
        if old is not None and old[0] == new[0]:
            old = next(stored, None)
        if new[1] is not _DELETED:
            yield new
        new = next(buffered, None)
