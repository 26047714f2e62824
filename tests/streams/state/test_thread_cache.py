"""The record cache: sizes, order, and iterators over it and a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.streams.records import RecordContext
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.thread_cache import DirtyEntries, LRUCacheEntry, NamedCache, ThreadCache
from tests.streams.state.fake_task import FakeTask

CONTEXT = RecordContext(5, 6, 0, "in", [("k", b"12"), ("n", None)])


def cache(size: int) -> tuple[ThreadCache, NamedCache, list[DirtyEntries]]:
    whole = ThreadCache(size)
    named = whole.named("0_0-store")
    flushed: list[DirtyEntries] = []
    named.listener = flushed.append
    return whole, named, flushed


def dirty(value: bytes | None) -> LRUCacheEntry:
    return LRUCacheEntry(value, CONTEXT, True)


def test_sizes_are_javas() -> None:
    assert LRUCacheEntry(b"abc").size == 1 + 3 + 20
    assert dirty(b"abc").size == 1 + 3 + 20 + 2 + 1 + 2 + 1
    assert LRUCacheEntry(None, RecordContext(0, 0, 0, "\U0001f600", [])).size == 1 + 20 + 2
    whole, named, _ = cache(1000)
    named.put(b"key", LRUCacheEntry(b"abc"))
    assert (whole.size_bytes, named.size_bytes, len(whole)) == (51, 51, 1)
    named.put(b"key", LRUCacheEntry(b""))
    assert whole.size_bytes == 48


def test_dirty_entries_go_on_in_the_order_of_their_last_put() -> None:
    _, named, flushed = cache(1000)
    for key, value in [(b"b", b"1"), (b"a", b"2"), (b"b", b"3"), (b"c", None)]:
        named.put(key, dirty(value))
    named.put(b"clean", LRUCacheEntry(b"x"))
    named.flush()
    assert [[(key, entry.value) for key, entry in entries] for entries in flushed] == [
        [(b"a", b"2"), (b"b", b"3"), (b"c", None)]
    ]
    assert named.get(b"c") is None
    named.flush()
    assert len(flushed) == 1


def test_the_entry_that_was_not_used_for_the_longest_time_leaves_first() -> None:
    whole, named, flushed = cache(0)
    size = 24 + 1 + dirty(b"1").size
    whole.resize(3 * size)
    for key in (b"a", b"b", b"c"):
        named.put(key, dirty(b"1"))
    named.get(b"a")
    named.put(b"d", dirty(b"1"))
    # all dirty entries go on, the evicted one first
    assert [[key for key, _ in entries] for entries in flushed] == [[b"b", b"a", b"c", b"d"]]
    assert named.get(b"b") is None
    named.put(b"e", LRUCacheEntry(b"1" * 20))
    assert len(flushed) == 1, "clean entries leave without a word"
    assert whole.size_bytes <= whole.max_size_bytes


def test_a_clean_entry_never_replaces_a_dirty_one() -> None:
    _, named, _ = cache(1000)
    named.put(b"a", dirty(b"1"))
    with pytest.raises(RuntimeError):
        named.put(b"a", LRUCacheEntry(b"1"))


def test_a_cache_without_a_listener_can_not_flush() -> None:
    with pytest.raises(ValueError, match="No listener"):
        ThreadCache(10).named("0_0-store").flush()


def test_smaller_caches_evict_in_turn() -> None:
    whole = ThreadCache(1000)
    for name in ("0_0-x", "0_0-y"):
        named = whole.named(name)
        named.listener = lambda entries: None
        for key in (b"a", b"b"):
            named.put(key, LRUCacheEntry(b""))
    whole.resize(whole.size_bytes // 2)
    assert [len(whole.named(name)) for name in ("0_0-x", "0_0-y")] == [1, 1]
    whole.close("0_0-x")
    assert whole.size_bytes == whole.named("0_0-y").size_bytes


def test_entries_that_are_looked_at_count_as_used() -> None:
    _, named, _ = cache(1000)
    for key in (b"a", b"b", b"c"):
        named.put(key, LRUCacheEntry(b""))
    entries = named.keys(b"a", b"b", True)
    assert entries.peek() is not None
    entries.advance()
    named.evict()
    assert [key for key in (b"a", b"b", b"c") if named.get(key)] == [b"a", b"c"]
    assert entries.peek() is None


def test_deletions_hide_entries_of_the_store(tmp_path: Path) -> None:
    """Backwards not always, as in Kafka 3.9.1."""
    task = FakeTask(tmp_path)
    made = Stores.key_value_store_builder(Stores.in_memory_key_value_store("kv"), Serdes.string(), Serdes.long())
    store = task.started(made.with_caching_enabled().build())
    for key in ("a", "b", "c"):
        store.put(key, 1)
    store.flush_cache()
    store.clear_cache()
    store.put("a", None)
    assert [key for key, _ in store.all()] == ["b", "c"]
    store.clear_cache()
    store.put("b", None)
    assert list(store.all()) == [("a", 1), ("c", 1)]
    assert list(store.reverse_all()) == [("c", 1), ("b", 1), ("a", 1)]
    store.put("bb", None)
    assert list(store.all()) == [("a", 1), ("c", 1)]
    assert list(store.reverse_range("a", "bb")) == [("bb", None), ("a", 1)]
    store.put("a", 2)
    store.put("d", 4)
    assert list(store.all()) == [("a", 2), ("c", 1), ("d", 4)]


def test_puts_of_listeners_are_counted_as_java_does(tmp_path: Path) -> None:
    """A put in the same cache, by a listener, changes the size twice."""
    whole, named, _ = cache(1000)
    named.listener = lambda entries: named.put(b"x", LRUCacheEntry(b""))
    named.put(b"a", dirty(b"1"))
    before = whole.size_bytes
    named.flush()
    assert named.size_bytes - before == 24 + 1 + 21
    assert whole.size_bytes - before == 2 * (24 + 1 + 21)
