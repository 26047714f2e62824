"""When Python's collector of cyclic garbage works, and when it is paused. Other modules leave `gc` to this one."""

from __future__ import annotations

import gc
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

YOUNG_THRESHOLD: Final = 10_000
"""Containers made beyond those freed, before a collection of the young generation (Python: 700, 3.13: 2,000). A request that
names 1,000 partitions began some ten collections while it was answered, a third of its time."""

MIDDLE_THRESHOLD: Final = 3
"""Young collections before one of the middle generation (Python: 10): fewer objects are visited by each."""

NEVER: Final = 1 << 30
"""Middle collections before Python begins a full one by itself."""

CHECK_INTERVAL_MS: Final = 600_000
"""How often `FullCollections.check` is due: a full collection of a million committed offsets takes 400 ms, 0.07 % of that."""

MIN_GROWTH_BLOCKS: Final = 250_000
"""Growth that no full collection is worth: some 20 MB."""

log = logging.getLogger("kafkapy.server.GarbageCollector")

LONGEST_REST_SECONDS = 60.0
"""Bounds what a stream of large requests can keep the collector from."""

_resting: set[int] = set()
_began = 0.0


class Rest:
    """While there is one, nobody looks for garbage: a walk that meets a list of 300,000 visits all of them, which took 70 ms.

    What a large request leaves goes by its reference counts. After a minute no rest begins before the collector has worked again.
    """

    def __init__(self) -> None:
        global _began
        now = time.monotonic()
        if not _resting:
            _began = now
        if now - _began <= LONGEST_REST_SECONDS:
            _resting.add(id(self))
            gc.disable()

    def __del__(self) -> None:
        """In whichever thread; should a new one begin just now, that one is of no use, and nothing else happens."""
        if id(self) in _resting:
            _resting.discard(id(self))
            if not _resting:
                gc.enable()


@contextmanager
def paused() -> Iterator[None]:
    """No collection begins in the block; then the collector is as it was before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def pause() -> None:
    """No collection begins before `resume` or `settle`."""
    gc.disable()


def resume() -> None:
    gc.enable()


def report_collections(heard: Callable[[str, dict[str, int]], object]) -> None:
    """Call it when a collection begins and ends, on the thread that collects (as `gc.callbacks`)."""
    gc.callbacks.append(heard)


def freeze() -> None:
    """No later collection visits what is alive now."""
    gc.freeze()


def settle(middle_before_full: int = NEVER) -> None:
    """Take what start-up has made out of the collector's way, and let collections begin later.

    What a request leaves is freed by its reference counts, and so are partitions, groups, sessions and connections: tests
    count that none of them leaves a cycle. Full collections are left to `FullCollections`: one that visits a million
    committed offsets takes 400 ms. From Python 3.14 on a full collection is done in increments, and is left to Python.

    Args:
        middle_before_full: Collections of the middle generation before Python begins a full one by itself.
    """
    freeze()
    resume()
    if sys.version_info < (3, 14):
        gc.set_threshold(YOUNG_THRESHOLD, MIDDLE_THRESHOLD, middle_before_full)
    else:
        gc.set_threshold(YOUNG_THRESHOLD)


class FullCollections:
    """Bounds what cycles can cost that survive young collections, should some part of the process make them all the same.

    Invariant: after `check` the process has at most twice the memory blocks (and `MIN_GROWTH_BLOCKS`) that were alive after
    the last full collection. A process that does not grow does no full collection.

    Args:
        blocks: How many blocks Python's allocator has given out.
        collect: Does a full collection; returns how many unreachable objects it has found.
    """

    def __init__(
        self, blocks: Callable[[], int] = sys.getallocatedblocks, collect: Callable[[], int] = gc.collect
    ) -> None:
        self._blocks = blocks
        self._collect = collect
        self._alive = blocks()

    def check(self) -> None:
        """Do a full collection if the process has doubled since the last one."""
        if self._blocks() < 2 * self._alive + MIN_GROWTH_BLOCKS:
            return
        began = time.monotonic()
        found = self._collect()
        self._alive = self._blocks()
        log.info(
            "A full garbage collection took %d ms and found %d unreachable objects; %d memory blocks are in use",
            (time.monotonic() - began) * 1000,
            found,
            self._alive,
        )
