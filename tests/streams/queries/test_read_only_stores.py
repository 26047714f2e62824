"""Questions to stores: parts of tasks seen as one, values with and without times, pages of large stores."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import pytest

from kafkapy.streams import Serdes, Stores, ValueAndTimestamp
from kafkapy.streams.errors import InvalidStateStoreException
from kafkapy.streams.queries import read_only_stores
from kafkapy.streams.queries.read_only_stores import (
    ReadOnlyKeyValueStore,
    ReadOnlySessionStore,
    ReadOnlyWindowStore,
    StorePart,
)
from kafkapy.streams.queries.store_query import QueryableStoreTypes, StoreQueryParameters, type_of
from kafkapy.streams.records import Window, Windowed


class _Store:
    """Sorted entries, of which the methods of a key-value store are made."""

    def __init__(self, entries: dict[str, Any], is_open: bool = True) -> None:
        self.entries = entries
        self.open = is_open

    def name(self) -> str:
        return "counts"

    def is_open(self) -> bool:
        return self.open

    def get(self, key: str) -> Any:
        return self.entries.get(key)

    def range(self, key_from: str | None, key_to: str | None) -> Any:
        keys = sorted(self.entries)
        return iter(
            [
                (key, self.entries[key])
                for key in keys
                if (key_from is None or key >= key_from) and (key_to is None or key <= key_to)
            ]
        )

    def reverse_range(self, key_from: str | None, key_to: str | None) -> Any:
        return reversed(list(self.range(key_from, key_to)))

    def approximate_num_entries(self) -> int:
        return len(self.entries)


def _view(*stores: _Store, plain: bool = True) -> ReadOnlyKeyValueStore[str, Any]:
    return ReadOnlyKeyValueStore(lambda: [StorePart(store, nullcontext()) for store in stores], plain)


def test_parts_are_one_store() -> None:
    view = _view(_Store({"a": 1, "c": 3}), _Store({"b": 2}))
    assert [view.get(key) for key in "abcd"] == [1, 2, 3, None]
    assert list(view.all()) == [("a", 1), ("c", 3), ("b", 2)]
    assert list(view.reverse_all()) == [("c", 3), ("a", 1), ("b", 2)]
    assert list(view.range("b", None)) == [("c", 3), ("b", 2)]
    assert view.approximate_num_entries() == 3


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 7, 9])
def test_a_large_store_is_read_in_pages(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(read_only_stores, "_ENTRIES_AT_A_TIME", 3)
    entries = {f"{number:02}": number for number in range(size)}
    view = _view(_Store(entries))
    assert list(view.all()) == list(entries.items())
    assert list(view.reverse_all()) == list(reversed(entries.items()))
    assert list(view.range("02", "05")) == [(key, value) for key, value in entries.items() if "02" <= key <= "05"]


def test_the_task_may_go_on_between_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_only_stores, "_ENTRIES_AT_A_TIME", 2)
    lock = threading.Lock()
    store = _Store({"a": 1, "b": 2, "c": 3})
    view: ReadOnlyKeyValueStore[str, int] = ReadOnlyKeyValueStore(lambda: [StorePart(store, lock)], True)
    entries = view.all()
    assert next(entries) == ("a", 1)
    assert lock.acquire(blocking=False)
    store.entries["d"] = 4
    lock.release()
    assert list(entries) == [("b", 2), ("c", 3), ("d", 4)]


def test_values_come_with_or_without_their_times() -> None:
    store = _Store({"a": ValueAndTimestamp(1, 42)})
    assert _view(store).get("a") == 1
    assert list(_view(store).all()) == [("a", 1)]
    assert _view(store, plain=False).get("a") == ValueAndTimestamp(1, 42)


def test_a_store_of_a_task_that_moved_is_not_read() -> None:
    with pytest.raises(InvalidStateStoreException, match="re-discover"):
        _view(_Store({"a": 1}, is_open=False)).get("a")


def test_types_of_stores() -> None:
    string, long = Serdes.string(), Serdes.long()
    plain = Stores.key_value_store_builder(Stores.in_memory_key_value_store("kv"), string, long).build()
    timed = Stores.timestamped_key_value_store_builder(Stores.in_memory_key_value_store("t"), string, long).build()
    windows = Stores.window_store_builder(Stores.in_memory_window_store("w", 60_000, 1000, False), string, long).build()
    sessions = Stores.session_store_builder(Stores.in_memory_session_store("s", 60_000), string, long).build()
    types = QueryableStoreTypes
    assert [type_of(store).name for store in (plain, timed, windows, sessions)] == [
        "KeyValueStoreType",
        "KeyValueStoreType",
        "WindowStoreType",
        "SessionStoreType",
    ]
    assert types.timestamped_key_value_store().accepts(timed)
    assert not types.timestamped_key_value_store().accepts(plain)
    assert not types.window_store().accepts(plain)
    assert type_of(windows).view is ReadOnlyWindowStore
    assert type_of(sessions).view is ReadOnlySessionStore
    with pytest.raises(TypeError, match="cannot be queried"):
        type_of(_Store({}))


def test_parameters_are_made_step_by_step() -> None:
    type = QueryableStoreTypes.key_value_store()
    parameters = StoreQueryParameters.from_name_and_type("counts", type).with_partition(2).enable_stale_stores()
    assert parameters == StoreQueryParameters("counts", type, 2, True)


class _Windows:
    """A window store with one key."""

    def name(self) -> str:
        return "windows"

    def is_open(self) -> bool:
        return True

    def fetch(self, key: str, time_from: int, time_to: int | None = None) -> Any:
        if time_to is None:
            return ValueAndTimestamp(7, 1) if (key, time_from) == ("a", 0) else None
        return iter([(0, ValueAndTimestamp(7, 1)), (10, ValueAndTimestamp(8, 11))] if key == "a" else [])

    def all(self) -> Any:
        return iter([(Windowed("a", Window(0, 10)), ValueAndTimestamp(7, 1))])


def test_windows() -> None:
    view: ReadOnlyWindowStore[str, int] = ReadOnlyWindowStore(lambda: [StorePart(_Windows(), nullcontext())], True)
    assert view.fetch("a", 0) == 7
    assert view.fetch("b", 0) is None
    assert list(view.fetch("a", 0, 20)) == [(0, 7), (10, 8)]
    assert list(view.fetch("b", 0, 20)) == []
    assert list(view.all()) == [(Windowed("a", Window(0, 10)), 7)]
