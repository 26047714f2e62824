"""Files, and what is in memory before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.streams.errors import InvalidStateStoreException, ProcessorStateException
from kafkapy.streams.state import rocksdb_database
from kafkapy.streams.state.rocksdb_database import RocksDatabase
from kafkapy.streams.state.rocksdb_store import RocksDBStore
from tests.streams.state.fake_task import FakeTask


def started(path: Path) -> RocksDBStore:
    store = RocksDBStore("kv")
    FakeTask(path).started(store)
    return store


def test_there_are_no_files_before_a_flush(tmp_path: Path) -> None:
    store = started(tmp_path)
    store.put(b"a", b"1")
    store.delete(b"a")
    store.flush()
    assert list(tmp_path.iterdir()) == []
    store.put(b"a", b"1")
    store.flush()
    assert (tmp_path / "rocksdb" / "kv" / "CURRENT").exists()
    store.close()


def test_what_was_flushed_is_there_again(tmp_path: Path) -> None:
    store = started(tmp_path)
    for key in (b"a", b"b", b"c"):
        store.put(key, key)
    store.flush()
    store.put(b"b", None)
    store.put(b"d", b"d")
    store.flush()
    store.put(b"late", b"")
    store.close()
    again = started(tmp_path)
    assert list(again.range(None, None, True)) == [(b"a", b"a"), (b"c", b"c"), (b"d", b"d")]
    assert (again.get(b"b"), again.get(b"late")) == (None, None)
    again.close()


def test_iterators_see_what_was_there_when_they_were_made(tmp_path: Path) -> None:
    store = started(tmp_path)
    for key in (b"a", b"b", b"c"):
        store.put(key, b"old")
    store.flush()
    store.put(b"d", b"old")
    forward, backward = store.range(None, None, True), store.range(None, b"c", False)
    seen = [next(forward), next(backward)]
    store.put(b"b", None)
    store.put(b"d", b"new")
    store.flush()
    store.put(b"e", b"new")
    assert [*seen, *forward, *backward] == [
        (b"a", b"old"),
        (b"c", b"old"),
        (b"b", b"old"),
        (b"c", b"old"),
        (b"d", b"old"),
        (b"b", b"old"),
        (b"a", b"old"),
    ]
    store.close()


def test_an_iterator_in_use_does_not_keep_the_files(tmp_path: Path) -> None:
    """RocksDB would not give its lock back."""
    store = started(tmp_path)
    for key in (b"a", b"b", b"c"):
        store.put(key, key)
    store.flush()
    entries = store.range(None, None, True)
    next(entries)
    store.close()
    started(tmp_path).close()
    with pytest.raises(InvalidStateStoreException):
        list(entries)


def test_broken_files_are_told(tmp_path: Path) -> None:
    store = started(tmp_path)
    store.put(b"a", b"1")
    store.flush()
    store.close()
    (tmp_path / "rocksdb" / "kv" / "CURRENT").write_text("garbage")
    with pytest.raises(ProcessorStateException, match="Error opening store kv"):
        started(tmp_path)


def test_tables_share_the_files_and_are_dropped_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocksdb_database, "WRITE_BUFFER_BYTES", 1)
    database = RocksDatabase("tables")
    database.open(FakeTask(tmp_path))
    tables = [database.table(bytes((number,))) for number in range(3)]
    for table in tables:
        table.put(b"k", table.prefix)
        table.put(b"", b"")
    assert [list(table.range(None, None, False)) for table in tables] == [
        [(b"k", table.prefix), (b"", b"")] for table in tables
    ]
    assert database.prefixes(1) == [b"\0", b"\1", b"\2"]
    database.drop_table(tables[1])
    assert database.prefixes(1) == [b"\0", b"\2"]
    assert list(tables[2].range(b"j", b"k", True)) == [(b"k", b"\2")]
    assert list(tables[2].range(b"j", b"k", True, include_to=False)) == []
    database.close()


def test_options_may_be_set(tmp_path: Path) -> None:
    task = FakeTask(tmp_path)
    named: list[str] = []
    task.config["rocksdb.config.setter"] = lambda name, options, config: named.append(name)
    store = RocksDBStore("kv")
    task.started(store)
    store.put(b"a", b"")
    store.flush()
    store.close()
    assert named == ["kv"]
