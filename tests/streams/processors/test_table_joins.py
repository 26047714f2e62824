"""Joins of tables by their keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.processors.ktable_ktable_inner_join import KTableKTableInnerJoin
from kafkapy.streams.processors.ktable_ktable_join import KTableKTableAbstractJoin
from kafkapy.streams.processors.ktable_ktable_join_merger import KTableKTableJoinMerger
from kafkapy.streams.processors.ktable_ktable_left_join import KTableKTableLeftJoin
from kafkapy.streams.processors.ktable_ktable_outer_join import KTableKTableOuterJoin
from kafkapy.streams.processors.ktable_ktable_right_join import KTableKTableRightJoin
from kafkapy.streams.records import ValueAndTimestamp
from tests.streams.processors.fakes import Driven, FakeContext, FakeTable, TimestampedKeyValueStore


def pair(left: Any, right: Any) -> str:
    return f"{left}+{right}"


def reverse_pair(right: Any, left: Any) -> str:
    return f"{left}+{right}"


def driven(kind: type[KTableKTableAbstractJoin], other: Any = None, *, send_old_values: bool = True) -> Driven:
    supplier = kind(FakeTable("one"), FakeTable("two"), pair)
    if send_old_values:
        supplier.enable_sending_old_values()
    store = TimestampedKeyValueStore()
    if other is not None:
        store.put("a", ValueAndTimestamp(other, 50))
    return Driven(supplier, FakeContext(two=store))


ALL = [KTableKTableInnerJoin, KTableKTableLeftJoin, KTableKTableRightJoin, KTableKTableOuterJoin]


@pytest.mark.parametrize("kind", ALL)
def test_null_keys_and_out_of_order_updates_of_versioned_tables_are_dropped(
    kind: type[KTableKTableAbstractJoin],
) -> None:
    supplier = kind(FakeTable("one"), FakeTable("two"), pair)
    supplier.use_versioned_semantics = True
    join = Driven(supplier, FakeContext(two=TimestampedKeyValueStore()))
    assert join.update(None, 1, None, 5) == join.update("a", 1, None, 5, is_latest=False) == []
    assert join.context.dropped == 2
    join.processor.close()


@pytest.mark.parametrize("kind", ALL)
def test_with_both_values_a_result_has_the_later_time(kind: type[KTableKTableAbstractJoin]) -> None:
    join = driven(kind, "x")
    assert join.update("a", 2, 1, 5) == [("a", "2+x", "1+x", 50)]
    assert join.update("a", 2, 1, 60) == [("a", "2+x", "1+x", 60)]
    assert driven(kind, "x", send_old_values=False).update("a", 2, 1, 5) == [("a", "2+x", None, 50)]


def test_an_inner_join_has_no_result_without_the_other_value() -> None:
    assert driven(KTableKTableInnerJoin).update("a", 2, 1, 5) == []
    assert driven(KTableKTableInnerJoin, "x").update("a", None, 1, 5) == [("a", None, "1+x", 50)]
    assert driven(KTableKTableInnerJoin, "x").update("a", None, None, 5) == [("a", None, None, 50)]


def test_a_left_join_has_a_result_without_the_other_value() -> None:
    assert driven(KTableKTableLeftJoin).update("a", 2, 1, 5) == [("a", "2+None", "1+None", 5)]
    assert driven(KTableKTableLeftJoin).update("a", None, 1, 5) == [("a", None, "1+None", 5)]
    assert driven(KTableKTableLeftJoin).update("a", None, None, 5) == []
    assert driven(KTableKTableLeftJoin, "x").update("a", None, None, 5) == [("a", None, None, 50)]


def test_a_right_side_joins_deletions() -> None:
    assert driven(KTableKTableRightJoin).update("a", 2, 1, 5) == []
    assert driven(KTableKTableRightJoin, "x").update("a", None, 1, 5) == [("a", "None+x", "1+x", 50)]
    right = driven(KTableKTableRightJoin, "x", send_old_values=False)
    assert right.update("a", 1, None, 5) == [("a", "1+x", None, 50)]


def test_an_outer_join_has_a_result_with_either_value() -> None:
    assert driven(KTableKTableOuterJoin).update("a", 2, None, 5) == [("a", "2+None", None, 5)]
    assert driven(KTableKTableOuterJoin).update("a", None, 1, 5) == [("a", None, "1+None", 5)]
    assert driven(KTableKTableOuterJoin).update("a", None, None, 5) == []
    assert driven(KTableKTableOuterJoin, "x").update("a", None, 1, 5) == [("a", "None+x", "1+x", 50)]
    assert driven(KTableKTableOuterJoin, "x").update("a", None, None, 5) == [("a", "None+x", "None+x", 50)]


VIEWS = {
    KTableKTableInnerJoin: [None, None, None, "1+2"],
    KTableKTableLeftJoin: [None, "1+None", None, "1+2"],
    KTableKTableRightJoin: [None, None, "None+2", "1+2"],
    KTableKTableOuterJoin: [None, "1+None", "None+2", "1+2"],
}


@pytest.mark.parametrize("kind", ALL)
def test_a_view_joins_what_the_tables_have(kind: type[KTableKTableAbstractJoin]) -> None:
    view = kind(FakeTable("one"), FakeTable("two"), pair).view()
    assert view.store_names() == ["one", "two"]
    found = []
    for one, two in (None, None), (1, None), (None, 2), (1, 2):
        stores = TimestampedKeyValueStore(), TimestampedKeyValueStore()
        stores[0].put("a", one and ValueAndTimestamp(one, 5))
        stores[1].put("a", two and ValueAndTimestamp(two, 7))
        getter = view()
        getter.init(FakeContext(one=stores[0], two=stores[1]))
        assert not getter.is_versioned()
        value = getter.get("a")
        found.append(value and value.value)
        if value is not None:
            assert value.timestamp == (7 if two else 5)
        getter.close()
    assert found == VIEWS[kind]


def test_a_merger_passes_results_on() -> None:
    merger = KTableKTableJoinMerger(
        KTableKTableInnerJoin(FakeTable("one"), FakeTable("two"), pair),
        KTableKTableInnerJoin(FakeTable("two"), FakeTable("one"), reverse_pair),
    )
    assert Driven(merger, FakeContext()).update("a", 1, 2, 3) == [("a", 1, None, 3)]
    assert merger.view().store_names() == ["one", "two"]
    merger.enable_sending_old_values()
    assert Driven(merger, FakeContext()).update("a", 1, 2, 3) == [("a", 1, 2, 3)]


def test_a_merger_with_a_store() -> None:
    one, two = FakeTable("one"), FakeTable("two")
    parents = KTableKTableInnerJoin(one, two, pair), KTableKTableInnerJoin(two, one, reverse_pair)
    merger = KTableKTableJoinMerger(*parents, "s")
    merger.enable_sending_old_values()
    assert parents[0].send_old_values and parents[1].send_old_values and one.sends_old_values
    store = TimestampedKeyValueStore()
    assert Driven(merger, FakeContext(s=store)).update("a", 1, 2, 3) == [("a", 1, 2, 3)]
    assert store.get("a") == ValueAndTimestamp(1, 3)
    assert merger.view().store_names() == ["s"]


SIDES: dict[str, tuple[type[KTableKTableAbstractJoin], type[KTableKTableAbstractJoin]]] = {
    "inner": (KTableKTableInnerJoin, KTableKTableInnerJoin),
    "left": (KTableKTableLeftJoin, KTableKTableRightJoin),
    "outer": (KTableKTableOuterJoin, KTableKTableOuterJoin),
}


@given(
    st.sampled_from(sorted(SIDES)),
    st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.none() | st.integers(1, 9)), max_size=20),
)
def test_the_result_is_the_join_of_the_tables(kind: str, updates: list[tuple[bool, str, int | None]]) -> None:
    stores = {"one": TimestampedKeyValueStore(), "two": TimestampedKeyValueStore()}
    context = FakeContext(**stores)
    tables = FakeTable("one"), FakeTable("two")
    suppliers = SIDES[kind][0](*tables, pair), SIDES[kind][1](tables[1], tables[0], reverse_pair)
    sides = [Driven(supplier, context) for supplier in suppliers]
    result: dict[str, Any] = {}
    for time, (is_left, key, value) in enumerate(updates):
        store = stores["one" if is_left else "two"]
        old = store.get(key)
        store.put(key, None if value is None else ValueAndTimestamp(value, time))
        for _, new, _, _ in sides[not is_left].update(key, value, old and old.value, time):
            result[key] = new
    getter = suppliers[0].view()()
    getter.init(context)
    for key in "ab":
        expected = getter.get(key)
        assert result.get(key) == (expected and expected.value)
