"""Windows: which ones a point in time is in, and what is none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.records import TimeWindow, UnlimitedWindow
from kafkapy.streams.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


def test_tumbling() -> None:
    windows = TimeWindows.of_size_with_no_grace(timedelta(seconds=1))
    assert windows.windows_for(1999) == {1000: TimeWindow(1000, 2000)}
    assert (windows.size_ms, windows.advance_ms, windows.grace_period_ms) == (1000, 1000, 0)


def test_hopping() -> None:
    windows = TimeWindows.of_size_and_grace(12, 3).advance_by(5)
    assert windows.windows_for(21) == {10: TimeWindow(10, 22), 15: TimeWindow(15, 27), 20: TimeWindow(20, 32)}
    assert list(windows.windows_for(0)) == [0]
    assert windows.grace_period_ms == 3


@given(st.integers(1, 50), st.data(), st.integers(0, 1000))
def test_hopping_windows_are_all_that_have_the_time(size: int, data: st.DataObject, timestamp: int) -> None:
    advance = data.draw(st.integers(1, size))
    windows = TimeWindows(size, advance, 0)
    starts = [start for start in range(0, timestamp + 1, advance) if start <= timestamp < start + size]
    assert list(windows.windows_for(timestamp)) == starts


def test_unlimited() -> None:
    windows = UnlimitedWindows.of().start_on(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert windows.windows_for(999) == {}
    assert windows.windows_for(5000) == {1000: UnlimitedWindow(1000)}
    assert not windows.have_an_end


def test_join_windows() -> None:
    windows = JoinWindows.of_time_difference_and_grace(10, 5).before(0)
    assert (windows.before_ms, windows.after_ms, windows.grace_period_ms, windows.size_ms) == (0, 10, 5, 10)
    assert JoinWindows.of_time_difference_with_no_grace(10).after(-5).size_ms == 5
    with pytest.raises(NotImplementedError):
        windows.windows_for(0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TimeWindows.of_size_with_no_grace(0),
        lambda: TimeWindows.of_size_and_grace(1, -1),
        lambda: TimeWindows.of_size_with_no_grace(10).advance_by(0),
        lambda: TimeWindows.of_size_with_no_grace(10).advance_by(11),
        lambda: UnlimitedWindows.of().start_on(-1),
        lambda: JoinWindows.of_time_difference_with_no_grace(5).before(-6),
        lambda: JoinWindows.of_time_difference_and_grace(5, -1),
        lambda: SlidingWindows.of_time_difference_with_no_grace(-1),
        lambda: SlidingWindows.of_time_difference_and_grace(1, -1),
        lambda: SessionWindows.of_inactivity_gap_with_no_grace(0),
        lambda: SessionWindows.of_inactivity_gap_and_grace(1, -1),
    ],
)
def test_no_windows(make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_equal_by_value() -> None:
    assert TimeWindows.of_size_with_no_grace(5) == TimeWindows.of_size_and_grace(5, 0)
    assert SessionWindows.of_inactivity_gap_with_no_grace(5) != SessionWindows.of_inactivity_gap_and_grace(5, 1)
    assert SlidingWindows.of_time_difference_with_no_grace(0) == SlidingWindows.of_time_difference_with_no_grace(
        timedelta()
    )
