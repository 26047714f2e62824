"""Tables that are read from a topic."""

from __future__ import annotations

from kafkapy.streams.processors.ktable_source import KTableSource
from kafkapy.streams.records import Change, Record, ValueAndTimestamp
from tests.streams.processors.fakes import Driven, FakeContext, TimestampedKeyValueStore, VersionedKeyValueStore


def test_without_a_store_updates_have_no_old_value() -> None:
    driven = Driven(KTableSource("s", None), FakeContext())
    assert driven.update_of("a", 1, 5) == [("a", 1, None, 5)]
    assert driven.update_of("a", None, 6) == [("a", None, None, 6)]


def test_a_null_key_is_dropped() -> None:
    driven = Driven(KTableSource("s", None), FakeContext())
    assert driven.update_of(None, 1, 5) == []
    assert driven.context.dropped == 1


def test_old_values_force_a_store() -> None:
    source = KTableSource("s", None)
    assert not source.enable_sending_old_values(False)
    assert not source.materialized
    assert source.enable_sending_old_values(True)
    assert source.queryable_name == "s"
    driven = Driven(source, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update_of("a", 1, 5) == [("a", 1, None, 5)]
    assert driven.update_of("a", 2, 3) == [("a", 2, 1, 3)]
    assert driven.update_of("a", None, 4) == [("a", None, 2, 4)]


def test_old_values_are_left_out_unless_wanted() -> None:
    driven = Driven(KTableSource("s", "s"), FakeContext(s=TimestampedKeyValueStore()))
    driven.update_of("a", 1, 5)
    assert driven.update_of("a", 2, 6) == [("a", 2, None, 6)]


def test_a_view_materializes() -> None:
    source = KTableSource("s", None)
    view = source.view()
    assert view.store_names() == ["s"]
    store = TimestampedKeyValueStore()
    context = FakeContext(s=store)
    Driven(source, context).pipe("a", 1, 5)
    getter = view()
    getter.init(context)
    assert getter.get("a") == ValueAndTimestamp(1, 5)
    assert not getter.is_versioned()


def test_a_versioned_store_says_what_is_latest_and_what_is_too_old() -> None:
    source = KTableSource("s", "s")
    source.enable_sending_old_values()
    context = FakeContext(s=VersionedKeyValueStore(10))
    driven = Driven(source, context)
    assert driven.pipe("a", 1, 100) == [("a", Change(1, None, True), 100)]
    assert driven.pipe("a", 2, 95) == [("a", Change(2, 1, False), 95)]
    assert driven.pipe("a", 3, 80) == []
    assert context.dropped == 0
    getter = source.view()()
    getter.init(context)
    assert getter.is_versioned()
    assert getter.get_as_of("a", 99) == ValueAndTimestamp(2, 95)


def test_with_a_cache_updates_come_when_it_is_flushed() -> None:
    store = TimestampedKeyValueStore()
    store.caching = True
    context = FakeContext(s=store)
    driven = Driven(KTableSource("s", "s"), context)
    assert driven.pipe("a", 1, 5) == []
    context.node = "another"
    flushed = Change(ValueAndTimestamp(1, 5), ValueAndTimestamp(0, 4), True)
    store.listener(Record("a", flushed, 9, [("h", b"x")]))
    assert context.node == "another"
    assert context.forwarded == [Record("a", Change(1, 0, True), 5, [("h", b"x")])]
    store.listener(Record("a", Change(None, None, True), 9))
    assert context.forwarded[1] == Record("a", Change(None, None, True), 9)
