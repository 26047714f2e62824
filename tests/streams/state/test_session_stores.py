"""Session stores in all their layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy.streams.records import Change, Record, SessionWindow, Windowed
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state.session_key_schema import to_session_key
from kafkapy.streams.state.store_suppliers import RocksDbTimeOrderedSessionBytesStoreSupplier
from kafkapy.streams.state.stores import Stores
from tests.streams.state.fake_task import FakeTask, Logged

MINUTE = 60_000
KINDS = ["memory", "disk", "by time"]


@pytest.fixture
def task(tmp_path: Path) -> FakeTask:
    task = FakeTask(tmp_path)
    task.at(7)
    return task


def session_store(kind: str, retention: int = 4 * MINUTE, cached: bool = False) -> Any:
    supplier: Any
    if kind == "memory":
        supplier = Stores.in_memory_session_store("s", retention)
    elif kind == "disk":
        supplier = Stores.persistent_session_store("s", retention)
    else:
        supplier = RocksDbTimeOrderedSessionBytesStoreSupplier("s", retention, True)
    made = Stores.session_store_builder(supplier, Serdes.string(), Serdes.string())
    return (made.with_caching_enabled() if cached else made).build()


def of(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, SessionWindow(start, end))


SESSIONS = [("a", 0, 10), ("a", 5, 10), ("b", 3, 20), ("a", 30, 40), ("a", 130_000, 130_010)]


def fill(store: Any) -> None:
    for key, start, end in SESSIONS:
        store.put(of(key, start, end), f"{key}{start}")


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_finds_sessions(task: FakeTask, kind: str, cached: bool) -> None:
    store = task.started(session_store(kind, cached=cached and kind != "by time"))
    fill(store)
    # the latest start of one end comes first in memory
    together = [of("a", 5, 10), of("a", 0, 10)] if kind == "memory" and not cached else [of("a", 0, 10), of("a", 5, 10)]
    if kind == "memory" and cached:
        together = [key for key, _ in store.fetch("a")][:2]
    every = [*together, of("a", 30, 40), of("a", 130_000, 130_010)]
    assert [key for key, _ in store.fetch("a")] == every
    assert [key for key, _ in store.backward_fetch("a")] == every[::-1]
    assert [key for key, _ in store.find_sessions("a", 11, 100)] == [of("a", 30, 40)]
    assert [key for key, _ in store.find_sessions("a", 10, 4)] == [of("a", 0, 10)]
    assert store.fetch_session("a", 30, 40) == "a30"
    assert store.fetch_session("a", 30, 41) is None
    assert {str(key) for key, _ in store.fetch_range(None, None)} == {str(of(*session)) for session in SESSIONS}
    assert [key for key, _ in store.fetch_range("b", None)] == [of("b", 3, 20)]
    store.remove(of("a", 5, 10))
    store.put(of("a", 0, 10), None)
    assert [key for key, _ in store.find_sessions("a", 0, 100)] == [of("a", 30, 40)]


@pytest.mark.parametrize("kind", ["memory", "by time"])
def test_finds_sessions_of_all_keys_by_their_ends(task: FakeTask, kind: str) -> None:
    store = task.started(session_store(kind))
    fill(store)
    assert {str(key) for key, _ in store.find_sessions_by_end(11, 130_009)} == {
        str(of("b", 3, 20)),
        str(of("a", 30, 40)),
    }


def test_stores_by_key_can_not(task: FakeTask) -> None:
    store = task.started(session_store("disk"))
    with pytest.raises(NotImplementedError):
        list(store.find_sessions_by_end(0, 10))


@pytest.mark.parametrize("kind", KINDS)
def test_nulls_are_refused(task: FakeTask, kind: str) -> None:
    store = task.started(session_store(kind))
    for wrong in (None, of(None, 0, 1), Windowed("a", None)):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            store.put(wrong, "x")
        with pytest.raises(TypeError):
            store.remove(wrong)
    for read in (store.fetch, store.backward_fetch):
        with pytest.raises(TypeError):
            read(None)
    with pytest.raises(TypeError):
        store.find_sessions(None, 0, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_changelog_is_restored(task: FakeTask, kind: str) -> None:
    store = task.started(session_store(kind))
    fill(store)
    store.remove(of("a", 0, 10))
    assert task.logged["s"][0] == Logged(to_session_key(b"a", 0, 10), b"a0", 7, [])
    assert task.logged["s"][0].key.hex() == "61" + "000000000000000a" + "0000000000000000"
    assert task.logged["s"][-1] == Logged(to_session_key(b"a", 0, 10), None, 7, [])
    again = FakeTask(task.state_dir)
    restored = again.started(session_store(kind))
    again.restore(restored, task.logged["s"])
    assert list(restored.fetch("a")) == list(store.fetch("a"))


def test_memory_forgets_what_is_out_of_retention(task: FakeTask) -> None:
    store = task.started(session_store("memory", retention=20))
    store.put(of("a", 0, 5), "x")
    store.put(of("a", 0, 25), "y")
    assert [value for _, value in store.fetch("a")] == ["y"]
    store.put(of("a", 0, 5), "late")
    assert task.dropped == 1


def test_the_cache_tells_old_values(task: FakeTask) -> None:
    store = task.started(session_store("disk", cached=True))
    told: list[Record[Any, Any]] = []
    store.set_flush_listener(told.append, True)
    store.put(of("a", 0, 5), "x")
    store.flush_cache()
    store.remove(of("a", 0, 5))
    store.put(of("a", 0, 8), "y")
    store.remove(of("z", 0, 8))
    store.flush_cache()
    assert [(record.key, record.value) for record in told] == [
        (of("a", 0, 5), Change("x", None)),
        (of("a", 0, 5), Change(None, "x")),
        (of("a", 0, 8), Change("y", None)),
    ]


def test_cached_sessions_are_found_over_segments(task: FakeTask) -> None:
    """A segment has two minutes; those after the first are looked at, too."""
    store = task.started(session_store("disk", cached=True))
    fill(store)
    store.flush_cache()
    store.put(of("a", 131_000, 250_000), "late")
    found = [key for key, _ in store.find_sessions("a", 0, 200_000)]
    assert found[-1] == of("a", 131_000, 250_000)
    assert len(found) == 5
    assert [key for key, _ in store.backward_find_sessions("a", 0, 200_000)][-1] == of("a", 0, 10)
