"""Aggregations over tumbling, hopping, unlimited windows and sessions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.processors.kstream_session_window_aggregate import KStreamSessionWindowAggregate
from kafkapy.streams.processors.kstream_window_aggregate import KStreamWindowAggregate
from kafkapy.streams.records import (
    Change,
    Record,
    SessionWindow,
    TimeWindow,
    UnlimitedWindow,
    ValueAndTimestamp,
    Windowed,
)
from kafkapy.streams.windows import SessionWindows, TimeWindows, UnlimitedWindows, Windows
from tests.streams.processors.fakes import Driven, FakeContext, SessionStore, WindowStore

ON_UPDATE = EmitStrategy.on_window_update()
ON_CLOSE = EmitStrategy.on_window_close()


def joined(_: Any, value: Any, aggregate: str) -> str:
    return f"{aggregate}{value}"


def windowed(windows: Windows, emit: EmitStrategy = ON_UPDATE) -> KStreamWindowAggregate:
    return KStreamWindowAggregate(windows, "s", emit, lambda: "", joined)


def in_window(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, TimeWindow(start, end))


def test_each_window_of_a_record_has_an_update() -> None:
    supplier = windowed(TimeWindows.of_size_with_no_grace(10).advance_by(5))
    supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=WindowStore()))
    assert driven.update_of("a", "x", 12) == [
        (in_window("a", 5, 15), "x", "", 12),
        (in_window("a", 10, 20), "x", "", 12),
    ]
    assert driven.update_of("a", "y", 11) == [
        (in_window("a", 5, 15), "xy", "x", 12),
        (in_window("a", 10, 20), "xy", "x", 12),
    ]


def test_a_null_value_is_aggregated_and_a_null_key_dropped() -> None:
    driven = Driven(windowed(TimeWindows.of_size_with_no_grace(10)), FakeContext(s=WindowStore()))
    assert driven.update_of("a", None, 1) == [(in_window("a", 0, 10), "None", None, 1)]
    assert driven.update_of(None, "x", 2) == []
    assert driven.context.dropped == 1


def test_each_closed_window_counts_as_dropped() -> None:
    context = FakeContext(s=WindowStore())
    driven = Driven(windowed(TimeWindows.of_size_and_grace(10, 5).advance_by(5)), context)
    driven.pipe("b", "x", 24)
    assert driven.update_of("a", "x", 11) == [(in_window("a", 10, 20), "x", None, 11)]
    assert context.dropped == 1
    assert driven.update_of("a", "x", 6) == []
    assert context.dropped == 3


def test_an_unlimited_window() -> None:
    driven = Driven(windowed(UnlimitedWindows.of().start_on(5)), FakeContext(s=WindowStore()))
    assert driven.update_of("a", "x", 4) == []
    assert driven.update_of("a", "x", 5) == [(Windowed("a", UnlimitedWindow(5)), "x", None, 5)]
    with pytest.raises(ValueError, match="ON_WINDOW_CLOSE strategy is only supported"):
        windowed(UnlimitedWindows.of(), ON_CLOSE)


def test_closed_windows_are_emitted_once() -> None:
    context = FakeContext(s=WindowStore())
    context.config["__emit.interval.ms.kstreams.windowed.aggregation__"] = "0"
    driven = Driven(windowed(TimeWindows.of_size_and_grace(10, 5), ON_CLOSE), context)
    for key, value, timestamp in ("a", "1", 1), ("b", "2", 2), ("a", "3", 14), ("b", "4", 11):
        assert driven.pipe(key, value, timestamp) == []
    assert driven.update_of("c", "5", 15) == [
        (in_window("a", 0, 10), "1", None, 1),
        (in_window("b", 0, 10), "2", None, 2),
    ]
    assert driven.pipe("c", "6", 16) == []
    assert context.metadata == {"s": 10}
    assert driven.update_of("c", "7", 40) == [
        (in_window("a", 10, 20), "3", None, 14),
        (in_window("b", 10, 20), "4", None, 11),
        (in_window("c", 10, 20), "56", None, 16),
    ]


def test_after_a_restart_emission_goes_on_where_it_was() -> None:
    store = WindowStore()
    store.put("a", ValueAndTimestamp("old", 3), 0)
    store.put("a", ValueAndTimestamp("new", 13), 10)
    context = FakeContext(s=store)
    context.metadata["s"] = 10
    driven = Driven(windowed(TimeWindows.of_size_with_no_grace(10), ON_CLOSE), context)
    assert driven.update_of("a", "x", 20) == [(in_window("a", 10, 20), "new", None, 13)]


def test_emission_waits_for_its_interval() -> None:
    context = FakeContext(s=WindowStore())
    context.now = 5000
    driven = Driven(windowed(TimeWindows.of_size_with_no_grace(10), ON_CLOSE), context)
    driven.pipe("a", "1", 1)
    context.now = 5999
    assert driven.pipe("a", "2", 100) == []
    context.now = 6000
    assert [key for key, *_ in driven.pipe("a", "3", 101)] == [in_window("a", 0, 10)]


def test_a_view_of_windows() -> None:
    context = FakeContext(s=WindowStore())
    supplier = windowed(TimeWindows.of_size_with_no_grace(10))
    Driven(supplier, context).pipe("a", "x", 12)
    getter = supplier.view()()
    getter.init(context)
    assert getter.get(in_window("a", 10, 20)) == ValueAndTimestamp("x", 12)
    assert getter.get(in_window("a", 0, 10)) is None
    assert not getter.is_versioned()
    assert supplier.view().store_names() == ["s"]


def sessions(grace: int, emit: EmitStrategy = ON_UPDATE) -> KStreamSessionWindowAggregate:
    windows = SessionWindows.of_inactivity_gap_and_grace(10, grace)
    return KStreamSessionWindowAggregate(windows, "s", emit, str, joined, lambda key, one, two: one + two)


def session(key: str, start: int, end: int) -> Windowed[str]:
    return Windowed(key, SessionWindow(start, end))


def test_sessions_are_merged_and_those_that_were_are_deleted() -> None:
    supplier = sessions(100)
    supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=SessionStore()))
    assert driven.update_of("a", 1, 10) == [(session("a", 10, 10), "1", None, 10)]
    assert driven.update_of("a", 2, 25) == [(session("a", 25, 25), "2", None, 25)]
    assert driven.update_of("a", 3, 17) == [
        (session("a", 10, 10), None, "1", 10),
        (session("a", 25, 25), None, "2", 25),
        (session("a", 10, 25), "123", None, 25),
    ]


def test_a_record_of_the_same_time_deletes_nothing() -> None:
    driven = Driven(sessions(100), FakeContext(s=SessionStore()))
    driven.pipe("a", 1, 10)
    assert driven.update_of("a", 2, 10) == [(session("a", 10, 10), "12", None, 10)]


def test_updates_of_sessions_have_no_headers() -> None:
    driven = Driven(sessions(100), FakeContext(s=SessionStore()))
    driven.pipe("a", 1, 10, [("h", b"x")])
    assert driven.context.forwarded[0].headers == []


def test_late_sessions_are_dropped_unless_they_join_one_that_is_open() -> None:
    context = FakeContext(s=SessionStore())
    driven = Driven(sessions(5), context)
    driven.pipe("a", 1, 20)
    driven.pipe("b", 2, 30)
    assert driven.update_of("a", 3, 14) == [
        (session("a", 20, 20), None, None, 20),
        (session("a", 14, 20), "13", None, 20),
    ]
    assert driven.update_of("c", 4, 14) == []
    assert driven.update_of(None, 4, 14) == []
    assert context.dropped == 2


def test_closed_sessions_are_emitted_once() -> None:
    context = FakeContext(s=SessionStore())
    context.config["__emit.interval.ms.kstreams.windowed.aggregation__"] = 0
    driven = Driven(sessions(5, ON_CLOSE), context)
    driven.pipe("a", 1, 5)
    driven.pipe("b", 2, 3)
    driven.pipe("a", 3, 9)
    assert driven.update_of("c", 4, 19) == [(session("b", 3, 3), "2", None, 3)]
    assert context.metadata == {"s": 4}
    assert driven.update_of(
        "c",
        5,
        30,
    ) == [(session("a", 5, 9), "13", None, 9)]


def test_a_view_of_sessions() -> None:
    context = FakeContext(s=SessionStore())
    supplier = sessions(5)
    Driven(supplier, context).pipe("a", "x", 12)
    getter = supplier.view()()
    getter.init(context)
    assert getter.get(session("a", 12, 12)) == ValueAndTimestamp("x", 12)
    assert getter.get(session("a", 12, 13)) is None
    assert supplier.view().store_names() == ["s"]


def test_a_flushed_session_has_its_end_as_its_time() -> None:
    store = SessionStore()
    store.caching = True
    context = FakeContext(s=store)
    assert Driven(sessions(5), context).pipe("a", "x", 12) == []
    context.node = "another"
    store.listener(Record(session("a", 1, 8), Change("x", None), 99))
    assert context.forwarded == [Record(session("a", 1, 8), Change("x", None), 8)]
    assert context.node == "another"


@given(st.lists(st.integers(0, 200), min_size=1, max_size=20))
def test_whatever_the_order_sessions_are_the_same(times: list[int]) -> None:
    store = SessionStore()
    driven = Driven(sessions(1000), FakeContext(s=store))
    for time in times:
        driven.pipe("a", "x", time)
    expected: dict[tuple[int, int], int] = {}
    start = previous = -1000
    for time in sorted(times):
        if time - previous > 10:
            start = time
        count = expected.pop((start, previous), 0)
        expected[start, time] = count + 1
        previous = time
    found = {(key.window.start, key.window.end): len(value) for key, value in store.entries.items()}
    assert found == expected
