"""Window stores in all their layers."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkapy.streams.records import Change, Record, TimeWindow, ValueAndTimestamp, Windowed
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state import rocksdb_database
from kafkapy.streams.state.store_suppliers import RocksDbIndexedTimeOrderedWindowBytesStoreSupplier
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.window_key_schema import WindowKeySchema, time_window_for_size, to_store_key
from tests.streams.state.fake_task import FakeTask, Logged

MINUTE = 60_000


@pytest.fixture
def task(tmp_path: Path) -> FakeTask:
    task = FakeTask(tmp_path)
    task.at(7)
    return task


def plain(kind: str, retention: int = 3 * MINUTE, duplicates: bool = False, cached: bool = False) -> Any:
    make = Stores.in_memory_window_store if kind == "memory" else Stores.persistent_window_store
    made = Stores.window_store_builder(make("w", retention, 10, duplicates), Serdes.string(), Serdes.string())
    return (made.with_caching_enabled() if cached else made).build()


def by_time(has_index: bool, cached: bool, retention: int = 3 * MINUTE) -> Any:
    supplier = RocksDbIndexedTimeOrderedWindowBytesStoreSupplier.create("w", retention, 10, False, has_index)
    made = Stores.timestamped_window_store_builder(supplier, Serdes.string(), Serdes.string())
    return (made.with_caching_enabled() if cached else made).build()


def at(key: str, start: int) -> Windowed[str]:
    return Windowed(key, TimeWindow(start, start + 10))


def fill(store: Any) -> None:
    for key, start in [("b", 5), ("a", 5), ("a", 70_000), ("ab", 70_000), ("a", 6), ("b", 130_000)]:
        store.put(key, f"{key}{start}", start)


@pytest.mark.parametrize("cached", [False, True])
def test_in_memory_entries_are_in_the_order_of_time(task: FakeTask, cached: bool) -> None:
    store = task.started(plain("memory", cached=cached))
    fill(store)
    every = [at("a", 5), at("b", 5), at("a", 6), at("a", 70_000), at("ab", 70_000), at("b", 130_000)]
    assert [key for key, _ in store.all()] == every
    assert [key for key, _ in store.backward_all()] == every[::-1]
    assert [key for key, _ in store.fetch_all(6, 70_000)] == every[2:5]
    assert [key for key, _ in store.fetch_range("a", "ab", 5, 70_000)] == [every[0], *every[2:5]]


@pytest.mark.parametrize("cached", [False, True])
def test_on_disk_entries_are_in_the_order_of_segments_and_keys(task: FakeTask, cached: bool) -> None:
    """A segment has half of the retention, 90 s here; in one, keys come with their times."""
    store = task.started(plain("disk", cached=cached))
    fill(store)
    every = [at("a", 5), at("a", 6), at("a", 70_000), at("ab", 70_000), at("b", 5), at("b", 130_000)]
    assert [key for key, _ in store.all()] == every
    assert [key for key, _ in store.backward_all()] == every[::-1]
    assert [key for key, _ in store.fetch_all(6, 70_000)] == every[1:4]
    assert [key for key, _ in store.backward_fetch_all(6, 70_000)] == every[1:4][::-1]
    assert [key for key, _ in store.fetch_range("a", "ab", 6, 200_000)] == every[1:4]
    if not cached:
        # With a cache, an open end gives entries once for each segment, as in Kafka.
        assert [key for key, _ in store.fetch_range(None, "ab", 6, 200_000)] == every[1:4]
        assert [key for key, _ in store.backward_fetch_range("ab", None, 6, 200_000)] == [every[5], every[3]]


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_windows_of_a_key(task: FakeTask, kind: str, cached: bool) -> None:
    store = task.started(plain(kind, cached=cached))
    fill(store)
    assert store.fetch("a", 6) == "a6"
    assert store.fetch("a", 7) is None
    assert list(store.fetch("a", 5, 70_000)) == [(5, "a5"), (6, "a6"), (70_000, "a70000")]
    assert list(store.backward_fetch("a", 6, 100_000)) == [(70_000, "a70000"), (6, "a6")]
    store.put("a", None, 6)
    assert store.fetch("a", 6) is None
    assert list(store.fetch("a", 5, 69_999)) == [(5, "a5")]
    with pytest.raises(TypeError):
        store.put(None, "x", 0)
    with pytest.raises(TypeError):
        store.fetch(None, 0)


def test_memory_forgets_what_is_out_of_retention_at_once(task: FakeTask) -> None:
    store = task.started(plain("memory", retention=20))
    for start in (0, 10, 20):
        store.put("a", str(start), start)
    assert [start for start, _ in store.fetch("a", 0, 100)] == [10, 20]
    store.put("a", "late", 0)
    assert (task.dropped, store.fetch("a", 0)) == (1, None)


def test_disk_drops_segments_and_hides_the_rest(task: FakeTask) -> None:
    """With a retention of 20 ms, a segment has one minute."""
    store = task.started(plain("disk", retention=20))
    for start in (0, 10, 20):
        store.put("a", str(start), start)
    assert [start for start, _ in store.fetch("a", 0, 100)] == [10, 20]
    store.put("a", "late", 0)
    assert (task.dropped, store.fetch("a", 0)) == (0, None)
    store.put("a", "next", 2 * MINUTE)
    store.put("a", "late", 30)
    assert task.dropped == 1
    assert [start for start, _ in store.fetch("a", 0, 3 * MINUTE)] == [2 * MINUTE]


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_duplicates_are_kept_in_order(task: FakeTask, kind: str) -> None:
    store = task.started(plain(kind, duplicates=True, cached=True))
    for value in ("x", "y"):
        store.put("a", value, 5)
    store.put("a\0\0\0\0", "other", 5)
    store.put("a", None, 5)
    assert list(store.fetch("a", 0, 10)) == [(5, "x"), (5, "y")]
    assert list(store.backward_fetch("a", 0, 10)) == [(5, "y"), (5, "x")]
    assert [(key.key, value) for key, value in store.fetch_range("a", "a", 0, 10)] == [("a", "x"), ("a", "y")]
    assert [(logged.key, logged.value) for logged in task.logged["w"]][:2] == [
        (to_store_key(b"a", 5, 1), b"x"),
        (to_store_key(b"a", 5, 2), b"y"),
    ]
    # as in Kafka: what is not put has a number and a record
    assert task.logged["w"][3] == Logged(to_store_key(b"a", 5, 4), None, 7, [])


def test_changelogs_are_javas() -> None:
    """Of retention-expiry: the key `a` in the window from 200."""
    assert to_store_key(b"a", 200, 0).hex() == "6100000000000000c800000000"
    assert time_window_for_size(5, 2**63 - 1).end == 2**63 - 1


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_restores_the_changelog(task: FakeTask, kind: str) -> None:
    supplier = (Stores.in_memory_window_store if kind == "memory" else Stores.persistent_timestamped_window_store)(
        "w", 20, 10, False
    )
    made = Stores.timestamped_window_store_builder(supplier, Serdes.string(), Serdes.long())
    store = task.started(made.build())
    for start in (0, 10, 20):
        store.put("a", ValueAndTimestamp(start, start + 1), start)
    assert [logged.timestamp for logged in task.logged["w"]] == [1, 11, 21]
    again = FakeTask(task.state_dir)
    restored = again.started(made.build())
    again.restore(restored, task.logged["w"])
    assert list(restored.fetch("a", 0, 100)) == list(store.fetch("a", 0, 100))
    assert store.fetch("a", 20) == ValueAndTimestamp(20, 21)


def test_is_there_again_after_a_flush(task: FakeTask) -> None:
    store = task.started(plain("disk"))
    fill(store)
    store.put("z", "new", 300_000)
    before = list(store.all())
    store.flush()
    store.close()
    again = FakeTask(task.state_dir).started(plain("disk"))
    assert [entry for entry in again.all() if entry in before] == before
    again.close()


def test_the_cache_tells_the_last_value_of_each_window(task: FakeTask) -> None:
    store = task.started(plain("disk", cached=True))
    told: list[Record[Any, Any]] = []
    assert store.set_flush_listener(told.append, False)
    store.put("a", "1", 10)
    store.put("b", "2", 0)
    store.put("a", "3", 10)
    store.flush_cache()
    assert [(record.key, record.value) for record in told] == [
        (at("b", 0), Change("2", None)),
        (at("a", 10), Change("3", None)),
    ]
    assert [logged.key for logged in task.logged["w"]] == [to_store_key(b"b", 0, 0), to_store_key(b"a", 10, 0)]


@pytest.mark.parametrize("has_index", [False, True])
@pytest.mark.parametrize("cached", [False, True])
def test_time_ordered_stores(task: FakeTask, has_index: bool, cached: bool) -> None:
    store = task.started(by_time(has_index, cached))
    told: list[Record[Any, Any]] = []
    store.set_flush_listener(told.append, True)
    for key, start in [("b", 5), ("a", 5), ("a", 70_000), ("ab", 70_000), ("a", 6), ("b", 130_000)]:
        store.put(key, ValueAndTimestamp(f"{key}{start}", start), start)
    every = [at("a", 5), at("b", 5), at("a", 6), at("a", 70_000), at("ab", 70_000), at("b", 130_000)]
    assert [key for key, _ in store.all()] == every
    assert [key for key, _ in store.backward_all()] == every[::-1]
    assert [key for key, _ in store.fetch_all(6, 70_000)] == every[2:5]
    assert [start for start, _ in store.fetch("a", 0, 100_000)] == [5, 6, 70_000]
    assert [start for start, _ in store.backward_fetch("a", 0, 100_000)] == [70_000, 6, 5]
    in_range = [every[0], every[2], every[3], every[4]]
    assert sorted(map(str, (key for key, _ in store.fetch_range("a", "ab", 0, 100_000)))) == sorted(map(str, in_range))
    store.put("a", None, 6)
    store.flush_cache()
    assert store.fetch("a", 6) is None
    assert store.fetch("a", 5) == ValueAndTimestamp("a5", 5)
    assert [start for start, _ in store.fetch("a", 0, 100_000)] == [5, 70_000]
    assert len(told) == (5 if cached else 0)
    assert {logged.key for logged in task.logged["w"]} >= {to_store_key(b"a", 5, 0)}
    again = FakeTask(task.state_dir)
    restored = again.started(by_time(has_index, False))
    again.restore(restored, task.logged["w"])
    assert list(restored.all()) == list(store.all())
    assert list(restored.fetch("a", 0, 100_000)) == list(store.fetch("a", 0, 100_000))


@pytest.mark.parametrize("seed", range(10))
def test_all_kinds_agree(task: FakeTask, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a dict: what is in retention is found, whatever was written to files."""
    chosen = Random(seed)
    monkeypatch.setattr(rocksdb_database, "WRITE_BUFFER_BYTES", 2000)
    retention = 4 * MINUTE
    stores = [
        FakeTask(task.state_dir / str(number)).started(store)
        for number, store in enumerate([plain("memory", retention), plain("disk", retention)])
    ]
    model: dict[tuple[str, int], str] = {}
    now = highest = 0
    for number in range(150):
        now += chosen.choice([0, 1, MINUTE // 4])
        start = max(0, now - chosen.choice([0, 1, MINUTE]))
        highest = max(highest, start)
        key = chosen.choice(["a", "aa", "b", "\0"])
        value = None if chosen.random() < 0.1 else str(number)
        for store in stores:
            store.put(key, value, start)
        if value is None:
            model.pop((key, start), None)
        else:
            model[(key, start)] = value
    live = {which: value for which, value in model.items() if which[1] > highest - retention}
    for store in stores:
        found = {(key.key, key.window.start): value for key, value in store.all()}
        assert found == live
        for key in ("a", "aa", "b", "\0"):
            wanted = [(start, value) for (of, start), value in sorted(live.items()) if of == key]
            assert list(store.fetch(key, 0, now)) == wanted
            assert list(store.backward_fetch(key, 0, now)) == wanted[::-1]
        store.close()


def test_ranges_of_bytes_have_all_keys() -> None:
    """Keys up to a bound may be shorter or longer than it."""
    schema = WindowKeySchema()
    upper = schema.upper_range(b"b\xff", 300)
    assert upper is not None
    for key in (b"b\xff", b"b", b"a\xff\xff\xff", b"b\x00\x00\x01"):
        assert to_store_key(key, 300, 5) <= upper
