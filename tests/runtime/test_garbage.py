"""The collector is paused while there are large requests, and full collections come when the process has doubled."""

from __future__ import annotations

import gc
import time

import pytest

from kafkapy.runtime.garbage import MAX_PAUSE_SECONDS, MIN_GROWTH_BLOCKS, FullCollections, GcPause, paused


def test_the_collector_works_again_after_the_last_rest() -> None:
    assert gc.isenabled()
    first, second = GcPause(), GcPause()
    assert not gc.isenabled()
    del first
    assert not gc.isenabled()
    del second
    assert gc.isenabled()


def test_it_does_not_rest_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = GcPause()
    monkeypatch.setattr(time, "monotonic", lambda: now + MAX_PAUSE_SECONDS + 1)
    late = GcPause()
    del first
    assert gc.isenabled()
    del late
    third = GcPause()
    assert not gc.isenabled()
    del third
    assert gc.isenabled()


def test_a_pause_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(ValueError, match="whatever"), paused():
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise ValueError("whatever")
    assert gc.isenabled()


class Heap:
    """Blocks that are in use, and those of them that a full collection frees."""

    def __init__(self, alive: int) -> None:
        self.alive = alive
        self.unreachable = 0
        self.collections = 0

    def blocks(self) -> int:
        return self.alive + self.unreachable

    def collect(self) -> int:
        found, self.unreachable = self.unreachable, 0
        self.collections += 1
        return found


def test_a_process_that_does_not_grow_does_no_full_collection() -> None:
    heap = Heap(1_000_000)
    collections = FullCollections(heap.blocks, heap.collect)
    heap.unreachable = 900_000
    for _ in range(10):
        collections.check()
    assert heap.collections == 0


def test_cycles_are_collected_before_they_double_the_process() -> None:
    heap = Heap(1_000_000)
    collections = FullCollections(heap.blocks, heap.collect)
    for _ in range(1000):
        heap.unreachable += 10_000
        collections.check()
        assert heap.blocks() < 2 * heap.alive + MIN_GROWTH_BLOCKS
    assert 6 <= heap.collections <= 10


def test_growth_is_told_from_garbage_once_for_each_doubling() -> None:
    heap = Heap(100_000)
    collections = FullCollections(heap.blocks, heap.collect)
    for _ in range(1000):
        heap.alive += 10_000
        collections.check()
    assert heap.collections <= 5
