"""The clock of tests: what is due runs when time passes, in order."""

from __future__ import annotations

import asyncio

from kafkapy.runtime.clock import MockClock, forgotten, some_of, taken


def test_time_passes_and_what_is_due_runs_on_the_way() -> None:
    clock = MockClock()
    start, seen = clock.monotonic_ms(), []
    clock.later(20, lambda: seen.append(("late", clock.monotonic_ms() - start)))
    clock.schedule("often", lambda: seen.append(("often", clock.monotonic_ms() - start)), 5, 10)
    clock.later(1, lambda: seen.append(("never", 0))).cancel()
    clock.advance(20)
    assert seen == [("often", 5), ("often", 15), ("late", 20)]
    assert clock.pending == 1


def test_what_is_for_a_thread_runs_at_once() -> None:
    clock = MockClock()
    seen: list[int] = []
    clock.from_thread(seen.append, 1)
    assert asyncio.run(clock.in_thread(len, "ab")) == 2
    assert seen == [1]


def test_some_of_what_cannot_be_cut() -> None:
    for count in (0, 1, 50, 51, 149):
        found = list(some_of(dict.fromkeys(range(count))))
        assert [n for some in found for n in some] == list(range(count))
        assert all(0 < len(some) <= 50 for some in found)


def test_a_list_is_emptied_a_part_at_a_time() -> None:
    items = list(range(120))
    left = []
    for _ in forgotten(items):
        left.append(len(items))
    assert left == [70, 20, 0]


def test_what_was_taken_is_gone() -> None:
    items = {"b": 1, "a": 2, "c": 3}
    assert [(*item, len(items)) for item in taken(items)] == [("b", 1, 2), ("a", 2, 1), ("c", 3, 0)]
