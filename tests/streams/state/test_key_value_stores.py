"""Key-value stores in all their layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkapy.streams.errors import InvalidStateStoreException, StreamsException
from kafkapy.streams.records import Change, Record, ValueAndTimestamp
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state import rocksdb_database
from kafkapy.streams.state.store_builders import StoreBuilder
from kafkapy.streams.state.store_suppliers import StoreSupplier
from kafkapy.streams.state.stores import Stores
from tests.streams.state.fake_task import FakeTask, Logged

SUPPLIERS: dict[str, Callable[[str], StoreSupplier]] = {
    "memory": Stores.in_memory_key_value_store,
    "disk": Stores.persistent_key_value_store,
    "lru": lambda name: Stores.lru_map(name, 100),
}


def builder(kind: str, cached: bool = False) -> StoreBuilder:
    made = Stores.key_value_store_builder(SUPPLIERS[kind]("kv"), Serdes.string(), Serdes.long())
    return made.with_caching_enabled() if cached else made


@pytest.fixture
def task(tmp_path: Path) -> FakeTask:
    task = FakeTask(tmp_path)
    task.at(7)
    return task


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("kind", SUPPLIERS)
def test_puts_gets_deletes_and_ranges(task: FakeTask, kind: str, cached: bool) -> None:
    store = task.started(builder(kind, cached).build())
    store.put("b", 2)
    store.put_all([("a", 1), ("c", 3)])
    assert store.put_if_absent("c", 9) == 3
    assert store.put_if_absent("d", 4) is None
    assert [store.get("b"), store.get("x")] == [2, None]
    assert store.delete("b") == 2
    assert store.delete("b") is None
    assert list(store.all()) == [("a", 1), ("c", 3), ("d", 4)]
    assert list(store.reverse_all()) == [("d", 4), ("c", 3), ("a", 1)]
    assert list(store.range("b", "c")) == [("c", 3)]
    assert list(store.range(None, "c")) == [("a", 1), ("c", 3)]
    assert list(store.reverse_range("c", None)) == [("d", 4), ("c", 3)]
    assert list(store.range("c", "a")) == []
    store.put("aa", 5)
    assert list(store.prefix_scan("a", Serdes.string().serializer())) == [("a", 1), ("aa", 5)]
    store.flush_cache()
    assert store.approximate_num_entries() == 4


@pytest.mark.parametrize("method", ["get", "delete"])
def test_a_null_key_is_refused(task: FakeTask, method: str) -> None:
    store = task.started(builder("memory").build())
    with pytest.raises(TypeError):
        getattr(store, method)(None)
    for put in (store.put, store.put_if_absent):
        with pytest.raises(TypeError):
            put(None, 1)
    with pytest.raises(TypeError):
        store.put_all([(None, 1)])
    with pytest.raises(TypeError):
        store.prefix_scan(None, Serdes.string().serializer())


def test_a_value_of_another_type_is_told_by_name(task: FakeTask) -> None:
    store = task.started(builder("memory").build())
    with pytest.raises(StreamsException, match="value type: str"):
        store.put("a", "text")


def test_a_serde_that_nobody_gave_is_missed_at_the_start(task: FakeTask) -> None:
    store = Stores.key_value_store_builder(Stores.in_memory_key_value_store("kv"), None, Serdes.long()).build()
    with pytest.raises(StreamsException, match="Failed to initialize key serdes for store kv"):
        task.started(store)
    task.default_key_serde = Serdes.string()
    task.started(store).put("a", 1)
    assert store.get("a") == 1


def test_the_changelog_has_the_records_time(task: FakeTask) -> None:
    store = task.started(builder("memory").build())
    store.put("a", 1)
    task.at(3)
    store.delete("a")
    store.put_if_absent("a", 2)
    store.put_if_absent("a", 3)
    assert task.logged["kv"] == [
        Logged(b"a", bytes(7) + b"\1", 7, []),
        Logged(b"a", None, 3, []),
        Logged(b"a", bytes(7) + b"\2", 3, []),
    ]


def test_what_an_lru_store_evicts_is_deleted_in_the_changelog(task: FakeTask) -> None:
    made = Stores.key_value_store_builder(Stores.lru_map("kv", 2), Serdes.string(), Serdes.long())
    store = task.started(made.build())
    for key in ("a", "b"):
        store.put(key, 1)
    store.get("a")
    store.put("c", 1)
    assert [key for key, _ in store.all()] == ["a", "c"]
    assert [(logged.key, logged.value is None) for logged in task.logged["kv"][2:]] == [(b"b", True), (b"c", False)]


def timestamped(kind: str, cached: bool = False) -> Any:
    supplier = {
        "memory": Stores.in_memory_key_value_store,
        "disk": Stores.persistent_timestamped_key_value_store,
        "plain disk": Stores.persistent_key_value_store,
    }[kind]("kv")
    made = Stores.timestamped_key_value_store_builder(supplier, Serdes.string(), Serdes.long())
    return (made.with_caching_enabled() if cached else made).build()


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_timestamped_values_are_restored_with_the_times_of_the_changelog(task: FakeTask, kind: str) -> None:
    store = task.started(timestamped(kind))
    store.put("a", ValueAndTimestamp(1, 50))
    store.put("b", ValueAndTimestamp(2, 60))
    store.put("b", None)
    assert task.logged["kv"] == [
        Logged(b"a", bytes(7) + b"\1", 50, []),
        Logged(b"b", bytes(7) + b"\2", 60, []),
        Logged(b"b", None, 7, []),
    ]
    again = FakeTask(task.state_dir)
    restored = again.started(timestamped(kind))
    again.restore(restored, task.logged["kv"])
    assert list(restored.all()) == [("a", ValueAndTimestamp(1, 50))]


def test_a_store_without_timestamps_gives_none(task: FakeTask) -> None:
    store = task.started(timestamped("plain disk"))
    store.put("a", ValueAndTimestamp(1, 50))
    assert store.get("a") == ValueAndTimestamp(1, -1)
    assert task.logged["kv"][0].timestamp == 50


def test_an_update_with_the_same_value_and_a_later_time_is_not_put(task: FakeTask) -> None:
    store = task.started(timestamped("memory"))
    store.put("a", ValueAndTimestamp(1, 50))
    raw, value = store.get_with_binary("a")
    assert value == ValueAndTimestamp(1, 50)
    assert not store.put_if_different_values("a", ValueAndTimestamp(1, 51), raw)
    assert store.put_if_different_values("a", ValueAndTimestamp(1, 49), raw)
    assert store.put_if_different_values("a", ValueAndTimestamp(2, 60), raw)
    assert store.get("a") == ValueAndTimestamp(2, 60)


def test_the_cache_holds_back_all_but_the_last_update(task: FakeTask) -> None:
    store = task.started(timestamped("memory", cached=True))
    told: list[Record[Any, Any]] = []
    origins: list[int] = []

    def listen(record: Record[Any, Any]) -> None:
        assert task.record_context is not None
        told.append(record)
        origins.append(task.record_context.offset)

    assert store.set_flush_listener(listen, True)
    for offset, (key, value) in enumerate([("b", 1), ("a", 2), ("b", 3)]):
        task.at(100 + offset, offset, headers=[("h", b"")])
        store.put(key, ValueAndTimestamp(value, 100 + offset))
    assert "kv" not in task.logged
    store.flush_cache()
    assert [(record.key, record.value, record.timestamp) for record in told] == [
        ("a", Change(ValueAndTimestamp(2, 101), None), 101),
        ("b", Change(ValueAndTimestamp(3, 102), None), 102),
    ]
    assert (origins, told[0].headers) == ([1, 2], [("h", b"")])
    assert [logged.key for logged in task.logged["kv"]] == [b"a", b"b"]
    assert task.record_context is not None and task.record_context.offset == 2
    store.put("b", None)
    store.put("new", ValueAndTimestamp(1, 1))
    store.put("new", None)
    store.flush_cache()
    assert [(record.key, record.value) for record in told[2:]] == [("b", Change(None, ValueAndTimestamp(3, 102)))]


def test_a_cleared_cache_is_forgotten(task: FakeTask) -> None:
    store = task.started(timestamped("memory", cached=True))
    store.put("a", ValueAndTimestamp(1, 1))
    store.clear_cache()
    store.flush_cache()
    assert store.get("a") is None
    assert task.cache.size_bytes == 0


@pytest.mark.parametrize("seed", range(12))
def test_disk_is_as_memory(task: FakeTask, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers that are written in between make no difference."""
    chosen = Random(seed)
    monkeypatch.setattr(rocksdb_database, "WRITE_BUFFER_BYTES", 1000 if seed % 2 else 1 << 20)
    disk, memory = (task.started(builder(kind).with_logging_disabled().build()) for kind in ("disk", "memory"))
    for _ in range(200):
        key, other = (chosen.choice(["a", "ab", "b", "ba", "c", "", None]) for _ in range(2))
        if key is not None and chosen.random() < 0.5:
            value = chosen.randrange(9)
            disk.put(key, value)
            memory.put(key, value)
        elif key is not None and chosen.random() < 0.5:
            assert disk.get(key) == memory.get(key)
            assert disk.delete(key) == memory.delete(key)
        else:
            assert list(disk.range(key, other)) == list(memory.range(key, other))
            assert list(disk.reverse_range(key, other)) == list(memory.reverse_range(key, other))
    disk.close()


def test_a_closed_store_on_disk_says_so(task: FakeTask) -> None:
    store = task.started(builder("disk").build())
    store.put("a", 1)
    store.close()
    assert not store.is_open()
    with pytest.raises(InvalidStateStoreException):
        store.get("a")
