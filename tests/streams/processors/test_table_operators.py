"""Operators that make a table of a table."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processor import ProcessorContext, ValueTransformerWithKey
from kafkapy.streams.processors.ktable_filter import KTableFilter
from kafkapy.streams.processors.ktable_map_values import KTableMapValues
from kafkapy.streams.processors.ktable_repartition_map import KTableRepartitionMap
from kafkapy.streams.processors.ktable_to_stream import KTableToStream
from kafkapy.streams.processors.ktable_transform_values import KTableTransformValues
from kafkapy.streams.records import ValueAndTimestamp
from tests.streams.processors.fakes import Driven, FakeContext, FakeTable, TimestampedKeyValueStore


def is_even(_: Any, value: int) -> bool:
    return value % 2 == 0


def with_key(key: str, value: int) -> str:
    return f"{key}{value}"


def test_a_filter_without_old_values_forwards_each_update() -> None:
    driven = Driven(KTableFilter(FakeTable(materialized=False), is_even, False, None), FakeContext())
    assert driven.update("a", 2, None, 1) == [("a", 2, None, 1)]
    assert driven.update("a", 3, 2, 1) == [("a", None, None, 1)]


def test_a_filter_with_old_values_forwards_what_changes_something() -> None:
    driven = Driven(KTableFilter(FakeTable(), is_even, False, None), FakeContext())
    assert driven.update("a", 1, None, 1) == []
    assert driven.update("a", 2, 1, 2) == [("a", 2, None, 2)]
    assert driven.update("a", 3, 2, 3) == [("a", None, 2, 3)]
    assert driven.update("a", None, 3, 4) == []


def test_filter_not() -> None:
    driven = Driven(KTableFilter(FakeTable(), is_even, True, None), FakeContext())
    assert driven.update("a", 1, None, 1) == [("a", 1, None, 1)]


def test_a_filter_of_a_versioned_table_forwards_each_update() -> None:
    supplier = KTableFilter(FakeTable(), is_even, False, None)
    supplier.use_versioned_semantics = True
    assert Driven(supplier, FakeContext()).update("a", 1, None, 1) == [("a", None, None, 1)]


def test_a_materialized_filter_reads_old_values_from_its_store() -> None:
    supplier = KTableFilter(FakeTable(), is_even, False, "s")
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update("a", 2, None, 1) == [("a", 2, None, 1)]
    assert driven.update("a", 3, 99, 2) == [("a", None, 2, 2)]
    assert driven.update("a", 5, 3, 3) == []
    assert supplier.view().store_names() == ["s"]


def test_a_filter_asks_its_parent_for_old_values() -> None:
    parent = FakeTable(materialized=False)
    supplier = KTableFilter(parent, is_even, False, None)
    assert not supplier.enable_sending_old_values(False)
    assert supplier.enable_sending_old_values(True)
    assert parent.sends_old_values
    assert KTableMapValues(FakeTable(materialized=False), with_key, "s").enable_sending_old_values(False)
    assert not KTableMapValues(FakeTable(materialized=False), with_key, None).enable_sending_old_values(False)


def test_a_view_of_a_filter_tests_the_parents_value() -> None:
    store = TimestampedKeyValueStore()
    store.put("a", ValueAndTimestamp(2, 7))
    store.put("b", ValueAndTimestamp(3, 7))
    view = KTableFilter(FakeTable("p"), is_even, False, None).view()
    assert view.store_names() == ["p"]
    getter = view()
    getter.init(FakeContext(p=store))
    assert [getter.get(key) for key in "abc"] == [ValueAndTimestamp(2, 7), None, None]
    assert not getter.is_versioned()
    with pytest.raises(NotImplementedError):
        getter.get_as_of("a", 1)
    getter.close()


def test_map_values_maps_both_values() -> None:
    supplier = KTableMapValues(FakeTable(), with_key, None)
    assert Driven(supplier, FakeContext()).update("a", 1, 2, 3) == [("a", "a1", None, 3)]
    assert supplier.enable_sending_old_values(False)
    assert Driven(supplier, FakeContext()).update("a", 1, 2, 3) == [("a", "a1", "a2", 3)]
    assert Driven(supplier, FakeContext()).update("a", None, None, 3) == [("a", None, None, 3)]


def test_materialized_map_values() -> None:
    supplier = KTableMapValues(FakeTable(), with_key, "s")
    supplier.enable_sending_old_values(False)
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update("a", 1, None, 3) == [("a", "a1", None, 3)]
    assert driven.update("a", 2, 99, 4) == [("a", "a2", "a1", 4)]


def test_a_view_of_map_values() -> None:
    store = TimestampedKeyValueStore()
    store.put("a", ValueAndTimestamp(2, 7))
    getter = KTableMapValues(FakeTable("p"), with_key, None).view()()
    getter.init(FakeContext(p=store))
    assert getter.get("a") == ValueAndTimestamp("a2", 7)
    assert getter.get("b") is None


class Remembers(ValueTransformerWithKey):
    """Gives the value and the time that it sees."""

    def init(self, context: ProcessorContext) -> None:
        self.context = context
        self.closed = False

    def transform(self, key: Any, value: Any) -> Any:
        metadata = self.context.record_metadata()
        assert metadata is not None
        return f"{value}@{metadata.topic}"

    def close(self) -> None:
        self.closed = True


def test_transform_values_sees_deletions() -> None:
    supplier = KTableTransformValues(FakeTable(), Remembers, None)
    driven = Driven(supplier, FakeContext())
    assert driven.update("a", None, 1, 3) == [("a", "None@topic", None, 3)]
    supplier.enable_sending_old_values(False)
    assert Driven(supplier, FakeContext()).update("a", 2, None, 3) == [("a", "2@topic", "None@topic", 3)]


def test_materialized_transform_values() -> None:
    supplier = KTableTransformValues(FakeTable(), Remembers, "s")
    supplier.enable_sending_old_values(False)
    driven = Driven(supplier, FakeContext(s=TimestampedKeyValueStore()))
    assert driven.update("a", 1, None, 3) == [("a", "1@topic", None, 3)]
    assert driven.update("a", 2, 7, 3) == [("a", "2@topic", "1@topic", 3)]
    driven.processor.close()


def test_a_transformer_in_a_view_sees_no_topic() -> None:
    store = TimestampedKeyValueStore()
    store.put("a", ValueAndTimestamp(2, 7))
    context = FakeContext(p=store)
    view = KTableTransformValues(FakeTable("p"), Remembers, None).view()
    assert view.store_names() == ["p"]
    getter = view()
    getter.init(context)
    assert getter.get("a") == ValueAndTimestamp("2@None", 7)
    assert getter.get("b") == ValueAndTimestamp("None@None", -1)
    assert context.record_context is None
    getter.close()


def test_a_transformer_can_not_forward() -> None:
    class Forwards(Remembers):
        def transform(self, key: Any, value: Any) -> Any:
            self.context.forward(value)

    with pytest.raises(StreamsException, match="not supported"):
        Driven(KTableTransformValues(FakeTable(), Forwards, None), FakeContext()).update("a", 1, None, 3)


def swapped(key: Any, value: Any) -> Any:
    return None if value == "none" else (value, key)


def test_a_new_key_is_told_apart_from_an_old_one() -> None:
    driven = Driven(KTableRepartitionMap(FakeTable(), swapped), FakeContext())
    assert driven.update("a", 1, None, 3) == [(1, "a", None, 3)]
    assert driven.update("a", 2, 1, 4) == [(1, None, "a", 4), (2, "a", None, 4)]
    assert driven.update("a", 2, 2, 5) == [(2, "a", "a", 5)]
    assert driven.update("a", None, 2, 6) == [(2, None, "a", 6)]
    assert driven.update("a", "none", None, 6) == driven.update("a", None, None, 6) == []


def test_while_an_older_version_runs_a_record_has_one_value() -> None:
    context = FakeContext()
    context.config["upgrade.from"] = "3.4"
    driven = Driven(KTableRepartitionMap(FakeTable(), swapped), context)
    assert driven.update("a", 2, 2, 5) == [(2, None, "a", 5), (2, "a", None, 5)]


def test_grouping_a_versioned_table_leaves_out_what_is_not_the_latest() -> None:
    supplier = KTableRepartitionMap(FakeTable(), swapped)
    supplier.use_versioned_semantics = True
    assert Driven(supplier, FakeContext()).update("a", 1, 2, 3, is_latest=False) == []


def test_grouping_fails_at_a_null_key_and_has_no_stores() -> None:
    supplier = KTableRepartitionMap(FakeTable("p"), swapped)
    with pytest.raises(StreamsException, match="should not be null"):
        Driven(supplier, FakeContext()).update(None, 1, 2, 3)
    with pytest.raises(StreamsException, match="not accessible due to repartitioning"):
        supplier.view().store_names()
    with pytest.raises(RuntimeError):
        supplier.enable_sending_old_values(True)
    store = TimestampedKeyValueStore()
    store.put("a", ValueAndTimestamp(2, 7))
    getter = supplier.view()()
    getter.init(FakeContext(p=store))
    assert getter.get("a") == ValueAndTimestamp((2, "a"), 7)


def test_to_stream_forwards_new_values() -> None:
    assert Driven(KTableToStream(), FakeContext()).pipe_update("a", None, 1, 3) == [("a", None, 3)]
