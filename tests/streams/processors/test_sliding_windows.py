"""Aggregations over sliding windows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.processors.kstream_sliding_window_aggregate import KStreamSlidingWindowAggregate
from kafkapy.streams.records import TimeWindow, Windowed
from kafkapy.streams.windows import SlidingWindows
from tests.streams.processors.fakes import Driven, FakeContext, WindowStore

DIFFERENCE = 10


def sliding(grace: int = 1000, *, on_close: bool = False) -> KStreamSlidingWindowAggregate:
    windows = SlidingWindows.of_time_difference_and_grace(DIFFERENCE, grace)
    emit = EmitStrategy.on_window_close() if on_close else EmitStrategy.on_window_update()
    return KStreamSlidingWindowAggregate(windows, "s", emit, lambda: "", lambda key, value, agg: f"{agg}{value}")


def window(start: int) -> Windowed[str]:
    return Windowed("a", TimeWindow(start, start + DIFFERENCE))


def test_a_record_makes_its_left_window_and_the_right_one_of_the_record_before() -> None:
    supplier = sliding()
    supplier.enable_sending_old_values()
    driven = Driven(supplier, FakeContext(s=WindowStore()))
    assert driven.update_of("a", 1, 20) == [(window(10), "1", "", 20)]
    assert driven.update_of("a", 2, 25) == [(window(21), "2", "", 25), (window(15), "12", "1", 25)]
    assert driven.update_of("a", 3, 22) == [
        (window(21), "23", "2", 25),
        (window(15), "123", "12", 25),
        (window(12), "13", "1", 22),
        (window(23), "2", None, 25),
    ]


@pytest.mark.parametrize("key, value", [(None, 1), ("a", None)])
def test_null_keys_and_values_are_dropped(key: Any, value: Any) -> None:
    driven = Driven(sliding(), FakeContext(s=WindowStore()))
    assert driven.pipe(key, value, 1) == []
    assert driven.context.dropped == 1


def test_late_records_are_dropped_from_closed_windows() -> None:
    context = FakeContext(s=WindowStore())
    driven = Driven(sliding(5), context)
    driven.pipe("b", 1, 40)
    assert driven.pipe("a", 2, 24) == []
    assert context.dropped == 1
    assert driven.pipe("a", 2, 25) == []
    assert context.dropped == 2
    driven.pipe("a", 3, 36)
    assert driven.update_of("a", 4, 30) == [
        (window(26), "34", None, 36),
        (window(31), "3", None, 36),
    ]
    assert context.dropped == 3


def test_closed_windows_are_emitted() -> None:
    context = FakeContext(s=WindowStore(DIFFERENCE))
    context.config["__emit.interval.ms.kstreams.windowed.aggregation__"] = 0
    driven = Driven(sliding(0, on_close=True), context)
    assert driven.pipe("a", 1, 20) == []
    assert driven.update_of("a", 2, 25) == [(window(10), "1", None, 20)]
    assert driven.update_of("a", 3, 50) == [(window(15), "12", None, 25), (window(21), "2", None, 25)]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=15), st.booleans())
def test_all_windows_are_right_whatever_the_order(times: list[int], backwards: bool) -> None:
    store = WindowStore(backwards=backwards)
    driven = Driven(sliding(), FakeContext(s=store))
    for time in times:
        driven.pipe("a", f"{time},", time)
    starts = {max(0, time - DIFFERENCE) for time in times} | {time + 1 for time in times}
    expected = {}
    for start in starts:
        inside = sorted(time for time in times if start <= time <= start + DIFFERENCE)
        if inside:
            expected[start] = (inside, inside[-1])
    found = {
        start: (sorted(int(time) for time in value.value.split(",") if time), value.timestamp)
        for (start, _, _), value in store.entries.items()
    }
    assert found == expected
