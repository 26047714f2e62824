"""The clock of tests: what is due runs when time passes, in order."""

from __future__ import annotations

import asyncio

from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import MockClock


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


def test_chunks_have_all_items_in_order() -> None:
    for count in (0, 1, 50, 51, 149):
        for items in (list(range(count)), tuple(range(count)), range(count), dict.fromkeys(range(count))):
            found = list(chunks(items))
            assert [n for chunk in found for n in chunk] == list(range(count))
            assert all(0 < len(chunk) <= 50 for chunk in found)
