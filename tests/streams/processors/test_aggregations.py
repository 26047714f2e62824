"""Aggregations of streams and tables without windows."""

from __future__ import annotations

import pytest

from kafkapy.streams.errors import InvalidStateStoreException, StreamsException
from kafkapy.streams.processors.kstream_aggregate import KStreamAggregate
from kafkapy.streams.processors.kstream_reduce import KStreamReduce
from kafkapy.streams.processors.ktable_aggregate import KTableAggregate
from kafkapy.streams.processors.ktable_pass_through import KTablePassThrough
from kafkapy.streams.processors.ktable_reduce import KTableReduce
from kafkapy.streams.records import ValueAndTimestamp
from tests.streams.processors.fakes import Driven, FakeContext, TimestampedKeyValueStore, WindowStore, fails


def summed(_: object, value: int, aggregate: int) -> int:
    return aggregate + value


def test_an_aggregate_has_the_latest_time_of_its_records() -> None:
    store = TimestampedKeyValueStore()
    driven = Driven(KStreamAggregate("s", lambda: 0, summed), FakeContext(s=store))
    assert driven.update_of("a", 2, 10) == [("a", 2, None, 10)]
    assert driven.update_of("a", 3, 5) == [("a", 5, None, 10)]
    assert store.get("a") == ValueAndTimestamp(5, 10)


def test_the_first_old_value_of_an_aggregate_is_that_of_the_initializer() -> None:
    supplier = KStreamAggregate("s", lambda: 0, summed)
    assert supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update_of("a", 2, 10) == [("a", 2, 0, 10)]
    assert driven.update_of("a", 3, 11) == [("a", 5, 2, 11)]


def test_null_keys_and_values_are_dropped() -> None:
    for supplier in KStreamAggregate("s", lambda: 0, summed), KStreamReduce("s", lambda one, two: one + two):
        driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
        assert driven.pipe(None, 1, 1) == driven.pipe("a", None, 1) == []
        assert driven.context.dropped == 2


def test_an_aggregate_of_none_deletes_and_starts_anew() -> None:
    supplier = KStreamAggregate("s", lambda: 0, lambda key, value, aggregate: value or None)
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    driven.pipe("a", 1, 10)
    assert driven.update_of("a", 0, 4) == [("a", None, None, 10)]
    assert driven.update_of("a", 1, 4) == [("a", 1, None, 4)]


def test_the_first_value_is_its_own_reduction() -> None:
    supplier = KStreamReduce("s", lambda one, two: one - two)
    supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update_of("a", 10, 5) == [("a", 10, None, 5)]
    assert driven.update_of("a", 3, 4) == [("a", 7, 10, 5)]


def test_headers_are_those_of_the_record() -> None:
    driven = Driven(KStreamReduce("s", fails), FakeContext(s=TimestampedKeyValueStore()))
    driven.pipe("a", 10, 5, [("h", b"x")])
    assert driven.context.forwarded[0].headers == [("h", b"x")]


def test_what_a_function_raises_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        Driven(KStreamAggregate("s", lambda: 0, fails), FakeContext(s=TimestampedKeyValueStore())).pipe("a", 1, 1)


def test_a_store_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidStateStoreException, match="Got: WindowStore"):
        Driven(KStreamAggregate("s", lambda: 0, summed), FakeContext(s=WindowStore()))


def test_a_table_aggregate_takes_the_old_value_out() -> None:
    supplier = KTableAggregate("s", lambda: 100, summed, lambda key, value, aggregate: aggregate - value)
    supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update("a", None, 1, 5) == [("a", None, None, 5)]
    assert driven.update("a", 5, None, 6) == [("a", 105, None, 6)]
    assert driven.update("a", 7, 5, 3) == [("a", 107, 105, 6)]
    assert driven.update("a", None, 7, 9) == [("a", 100, 107, 9)]
    assert driven.update("a", None, None, 7) == [("a", 100, 100, 7)]
    assert supplier.view().store_names() == ["s"]


def test_a_table_aggregate_without_what_is_removed_begins_with_the_initializer() -> None:
    supplier = KTableAggregate("s", lambda: 100, summed, lambda key, value, aggregate: None)
    store = TimestampedKeyValueStore()
    driven = Driven(supplier, FakeContext(s=store))
    driven.update("a", 5, None, 6)
    assert driven.update("a", 1, 5, 7) == [("a", 101, None, 7)]
    assert driven.update("a", None, 1, 7) == [("a", None, None, 7)]
    assert store.entries == {}


def test_a_table_reduction() -> None:
    supplier = KTableReduce("s", lambda one, two: one + two, lambda one, two: one - two)
    supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update("a", None, 1, 5) == [("a", None, None, 5)]
    assert driven.update("a", 5, None, 6) == [("a", 5, None, 6)]
    assert driven.update("a", 7, None, 3) == [("a", 12, 5, 6)]
    assert driven.update("a", 2, 5, 8) == [("a", 9, 12, 8)]
    assert driven.update("a", None, 2, 7) == [("a", 7, 9, 8)]


def test_tables_fail_at_null_keys() -> None:
    aggregate = KTableAggregate("s", lambda: 0, summed, summed)
    for supplier, what in (aggregate, "aggregate"), (KTableReduce("s", fails, fails), "reduce"):
        with pytest.raises(StreamsException, match=f"KTable {what} operator with state s"):
            Driven(supplier, FakeContext(s=TimestampedKeyValueStore())).update(None, 1, None, 1)


def test_a_cogrouping_passes_updates_on() -> None:
    parents = [KStreamAggregate("s", lambda: 0, summed), KStreamAggregate("s", lambda: 0, summed)]
    supplier = KTablePassThrough(parents, "s")
    assert supplier.enable_sending_old_values()
    assert all(parent.send_old_values for parent in parents)
    assert Driven(supplier, FakeContext()).update("a", 1, 2, 3) == [("a", 1, 2, 3)]
    assert supplier.view().store_names() == ["s"]
