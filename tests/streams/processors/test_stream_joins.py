"""Joins of streams with streams and tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.processors.kstream_global_ktable_join import KStreamGlobalKTableJoin
from kafkapy.streams.processors.kstream_join_window import KStreamJoinWindow
from kafkapy.streams.processors.kstream_kstream_join import KStreamKStreamJoinLeftSide, KStreamKStreamJoinRightSide
from kafkapy.streams.processors.kstream_kstream_self_join import KStreamKStreamSelfJoin
from kafkapy.streams.processors.kstream_ktable_join import KStreamKTableJoin
from kafkapy.streams.processors.materialized_getter import KTableMaterializedValueGetterSupplier
from kafkapy.streams.processors.time_tracker import TimeTrackerSupplier
from kafkapy.streams.records import RecordContext, ValueAndTimestamp
from kafkapy.streams.windows import JoinWindows
from tests.streams.processors.fakes import (
    Buffer,
    Driven,
    FakeContext,
    TimestampedKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)


def pair(key: Any, left: Any, right: Any) -> str:
    return f"{left}+{right}"


def reverse_pair(key: Any, right: Any, left: Any) -> str:
    return f"{left}+{right}"


class WaitingRecords(TimestampedKeyValueStore):
    """In the order of their bytes."""

    def all(self) -> Iterator[tuple[Any, Any]]:
        return iter(sorted(self.entries.items(), key=lambda item: (item[0].timestamp, item[0].is_left, item[0].key)))


class StreamJoin:
    """Both sides of a join, each behind its window."""

    def __init__(self, windows: JoinWindows, left_outer: bool, right_outer: bool, interval_ms: int = 0) -> None:
        self.waiting = WaitingRecords()
        self.context = FakeContext(
            left=WindowStore(duplicates=True), right=WindowStore(duplicates=True), outer=self.waiting
        )
        self.context.config["__emit.interval.ms.kstreams.outer.join.spurious.results.fix__"] = str(interval_ms)
        times = TimeTrackerSupplier()
        outer = "outer" if left_outer else None
        left = KStreamKStreamJoinLeftSide("right", windows, pair, left_outer, outer, times)
        right = KStreamKStreamJoinRightSide("left", windows, reverse_pair, right_outer, outer, times)
        self._sides = {"left": Driven(left, self.context), "right": Driven(right, self.context)}

    def pipe(self, side: str, key: Any, value: Any, timestamp: int) -> list[tuple[Any, ...]]:
        results = self._sides[side].pipe(key, value, timestamp)
        if key is not None:
            self.context.stores[side].put(key, value, timestamp)
        return results

    def close(self) -> None:
        for side in self._sides.values():
            side.processor.close()


WINDOWS = JoinWindows.of_time_difference_with_no_grace(10)


def test_an_inner_join_has_the_later_time() -> None:
    join = StreamJoin(WINDOWS, False, False)
    assert join.pipe("left", "a", "l1", 10) == []
    assert join.pipe("right", "a", "r1", 20) == [("a", "l1+r1", 20)]
    assert join.pipe("right", "a", "r2", 0) == [("a", "l1+r2", 10)]
    assert join.pipe("left", "a", "l2", 31) == []
    assert join.pipe("left", "a", "l3", 5) == [("a", "l3+r2", 5)]
    join.close()


@pytest.mark.parametrize("key, value", [(None, "x"), ("a", None), (None, None)])
def test_nulls_are_dropped_by_an_inner_join(key: Any, value: Any) -> None:
    join = StreamJoin(WINDOWS, False, False)
    assert join.pipe("left", key, value, 10) == []
    assert join.context.dropped == 1


def test_a_null_key_has_a_result_on_the_outer_side() -> None:
    join = StreamJoin(WINDOWS, True, False)
    assert join.pipe("left", None, "l1", 10) == [(None, "l1+None", 10)]
    assert join.pipe("right", None, "r1", 10) == join.pipe("left", None, None, 10) == []
    assert join.context.dropped == 2


def test_a_left_result_waits_until_its_window_is_closed() -> None:
    join = StreamJoin(JoinWindows.of_time_difference_and_grace(10, 5), True, False)
    assert join.pipe("left", "a", "l1", 10) == []
    assert join.pipe("left", "b", "l2", 12) == []
    assert join.pipe("right", "b", "r1", 20) == [("b", "l2+r1", 20)]
    assert join.pipe("right", "x", "r2", 25) == []
    assert join.pipe("right", "x", "r3", 26) == [("a", "l1+None", 10)]
    assert join.waiting.entries == {}


def test_an_outer_join_emits_both_sides() -> None:
    join = StreamJoin(JoinWindows.of_time_difference_with_no_grace(10).before(0).after(5), True, True)
    join.pipe("left", "a", "l1", 10)
    join.pipe("right", "b", "r1", 11)
    assert join.pipe("left", "c", "l2", 100) == [("a", "l1+None", 10), ("b", "None+r1", 11)]


def test_a_late_record_without_a_partner_has_its_result_at_once() -> None:
    join = StreamJoin(WINDOWS, True, False)
    join.pipe("right", "b", "r1", 100)
    assert join.pipe("left", "a", "l1", 89) == [("a", "l1+None", 89)]
    assert join.pipe("left", "a", "l2", 90) == []
    assert len(join.waiting.entries) == 1


def test_waiting_records_are_looked_for_by_the_wall_clock() -> None:
    join = StreamJoin(WINDOWS, True, False, interval_ms=1000)
    join.pipe("left", "a", "l1", 0)
    assert join.pipe("right", "x", "r1", 50) == []
    join.context.now = 1000
    assert join.pipe("right", "x", "r2", 51) == [("a", "l1+None", 0)]
    join.pipe("left", "b", "l2", 60)
    join.context.now = 1999
    assert join.pipe("right", "x", "r3", 100) == []
    join.context.now = 2000
    assert join.pipe("right", "x", "r4", 101) == [("b", "l2+None", 60)]


def test_records_that_wait_after_a_restart_are_found() -> None:
    join = StreamJoin(WINDOWS, True, False)
    join.pipe("left", "a", "l1", 10)
    again = StreamJoin(WINDOWS, True, False)
    again.waiting.entries.update(join.waiting.entries)
    assert again.pipe("right", "x", "r1", 20) == []
    assert again.pipe("right", "x", "r2", 51) == [("a", "l1+None", 10)]


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["left", "right"])), max_size=12, unique=True))
def test_in_order_an_outer_join_gives_each_pair_and_each_lonely_record_once(input: list[tuple[int, str]]) -> None:
    records = [(side, timestamp) for timestamp, side in sorted(input)]
    join = StreamJoin(JoinWindows.of_time_difference_and_grace(10, 1000), True, True)
    results = []
    for number, (side, timestamp) in enumerate(records):
        results += [value for _, value, _ in join.pipe(side, "a", str(number), timestamp)]
    results += [value for _, value, _ in join.pipe("left", "b", "end", 100_000)]
    numbered = list(enumerate(records))
    expected = []
    for left, (side, timestamp) in numbered:
        others = [n for n, (other, time) in numbered if other != side and abs(time - timestamp) <= 10]
        if side == "left":
            expected += [f"{left}+{right}" for right in others] or [f"{left}+None"]
        elif not others:
            expected.append(f"None+{left}")
    assert sorted(results) == sorted(expected)


def test_the_window_of_a_join_forwards_before_it_stores() -> None:
    store = WindowStore(duplicates=True)
    driven = Driven(KStreamJoinWindow("w"), FakeContext(w=store))
    assert driven.pipe("a", 1, 5) == [("a", 1, 5)]
    assert driven.pipe(None, 1, 5) == [(None, 1, 5)]
    assert list(store.fetch("a", 0, 9)) == [(5, 1)]


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(0, 10), st.integers(0, 10))
def test_a_self_join_gives_what_two_streams_would(times: list[int], before: int, after: int) -> None:
    windows = JoinWindows.of_time_difference_and_grace(0, 1000).before(before).after(after)
    store = WindowStore(duplicates=True)
    alone = Driven(KStreamKStreamSelfJoin("w", windows, pair, 10_000), FakeContext(w=store))
    two = StreamJoin(windows, False, False)
    for number, time in enumerate(times):
        results = alone.pipe("a", number, time)
        store.put("a", number, time)
        assert sorted(results) == sorted(two.pipe("left", "a", number, time) + two.pipe("right", "a", number, time))


def test_a_self_join_drops_nulls_and_leaves_out_what_is_too_old() -> None:
    driven = Driven(KStreamKStreamSelfJoin("w", WINDOWS, pair, 20), FakeContext(w=WindowStore(duplicates=True)))
    assert driven.pipe(None, 1, 5) == driven.pipe("a", None, 5) == []
    assert driven.context.dropped == 2
    assert driven.pipe("a", 1, 100) == [("a", "1+1", 100)]
    assert driven.pipe("a", 2, 82) == [("a", "2+2", 82)]
    assert driven.pipe("a", 3, 81) == []


def of_store(name: str = "t") -> KTableMaterializedValueGetterSupplier:
    return KTableMaterializedValueGetterSupplier(name)


def table(**values: Any) -> TimestampedKeyValueStore:
    store = TimestampedKeyValueStore()
    for key, value in values.items():
        store.put(key, ValueAndTimestamp(value, 99))
    return store


def test_a_stream_is_joined_with_what_the_table_has_now() -> None:
    inner = Driven(KStreamKTableJoin(of_store(), pair, False, None, None), FakeContext(t=table(a="A")))
    assert inner.pipe("a", 1, 5) == [("a", "1+A", 5)]
    assert inner.pipe("b", 1, 5) == inner.pipe(None, 1, 5) == inner.pipe("a", None, 5) == []
    assert inner.context.dropped == 2
    left = Driven(KStreamKTableJoin(of_store(), pair, True, None, None), FakeContext(t=table(a="A")))
    assert left.pipe("b", 1, 5) == [("b", "1+None", 5)]
    assert left.pipe(None, 1, 5) == [(None, "1+None", 5)]
    assert left.pipe("a", None, 5) == left.pipe(None, None, 5) == []
    assert left.context.dropped == 2
    left.processor.close()


def test_a_global_table_is_looked_up_by_a_mapped_key() -> None:
    def mapper(key: Any, value: Any) -> Any:
        return value

    inner = Driven(KStreamGlobalKTableJoin(of_store(), pair, mapper, False), FakeContext(t=table(a="A")))
    assert inner.pipe(None, "a", 5) == [(None, "a+A", 5)]
    assert inner.pipe("k", None, 5) == []
    left = Driven(KStreamGlobalKTableJoin(of_store(), pair, lambda key, value: None, True), FakeContext(t=table()))
    assert left.pipe("k", 1, 5) == []
    assert left.context.dropped == 1
    assert left.pipe(None, 1, 5) == [(None, "1+None", 5)]


def test_a_versioned_table_is_asked_for_the_time_of_the_record() -> None:
    store = VersionedKeyValueStore(1000)
    store.put("a", "old", 10)
    store.put("a", "new", 20)
    driven = Driven(KStreamKTableJoin(of_store(), pair, True, None, None), FakeContext(t=store))
    assert driven.pipe("a", 1, 15) == [("a", "1+old", 15)]
    assert driven.pipe("a", 1, 9) == [("a", "1+None", 9)]


def test_with_a_grace_period_records_wait() -> None:
    store = VersionedKeyValueStore(1000)
    context = FakeContext(t=store, b=Buffer(10))
    driven = Driven(KStreamKTableJoin(of_store(), pair, True, 10, "b"), context)
    assert driven.pipe("a", 1, 15) == []
    store.put("a", "A", 14)
    assert driven.pipe("a", 2, 25, [("h", b"x")]) == [("a", "1+A", 15)]
    assert driven.pipe("a", 3, 14) == [("a", "3+A", 14)]
    assert driven.pipe("a", 4, 35) == [("a", "2+A", 25)]
    assert context.forwarded[-1].headers == [("h", b"x")]
    origin = context.origins[-1]
    assert isinstance(origin, RecordContext) and origin.timestamp == 25
    assert context.record_context is not None and context.record_context.timestamp == 35


def test_a_grace_period_needs_a_versioned_table() -> None:
    with pytest.raises(ValueError, match="must be versioned"):
        Driven(KStreamKTableJoin(of_store(), pair, True, 10, "b"), FakeContext(t=table(), b=Buffer(10)))
