"""Controls Python's cyclic garbage collector. No other module uses `gc`."""

from __future__ import annotations

import gc
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

YOUNG_THRESHOLD: Final = 10_000
"""Net allocations of containers that start a young collection (Python's default: 700; 3.13: 2,000).

Higher than the default, because the objects of one request that names 1,000 partitions would start ten collections.
"""

MIDDLE_THRESHOLD: Final = 3
"""Young collections before one of the middle generation (Python's default: 10).

A lower number visits fewer objects each time."""

NEVER: Final = 1 << 30
"""Middle collections before Python starts a full one: in effect, it never does."""

CHECK_INTERVAL_MS: Final = 600_000
"""How often to call `FullCollections.check`."""

MIN_GROWTH_BLOCKS: Final = 250_000
"""Growth too small for a full collection: about 20 MB."""

log = logging.getLogger("kafkapy.server.GarbageCollector")

MAX_PAUSE_SECONDS = 60.0
"""Limit of consecutive pauses, so that a stream of large requests cannot keep the collector off."""

_pauses: set[int] = set()
_began = 0.0


class GcPause:
    """Pauses the garbage collector while the object lives.

    For large requests: a collection would visit all objects of a list of 300,000. What the request leaves is freed by
    its reference counts. After `MAX_PAUSE_SECONDS` without a collection, new objects of this class have no effect
    until the others are gone.
    """

    def __init__(self) -> None:
        global _began
        now = time.monotonic()
        if not _pauses:
            _began = now
        if now - _began <= MAX_PAUSE_SECONDS:
            _pauses.add(id(self))
            gc.disable()

    def __del__(self) -> None:
        """Resume the collector.

        Runs on any thread; if a pause starts on another thread just then, that pause may have no effect."""
        if id(self) in _pauses:
            _pauses.discard(id(self))
            if not _pauses:
                gc.enable()


@contextmanager
def paused() -> Iterator[None]:
    """Pause the collector for the block, then restore its state."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def pause() -> None:
    """Pause the collector until `resume` or `configure`."""
    gc.disable()


def resume() -> None:
    gc.enable()


def report_collections(callback: Callable[[str, dict[str, int]], object]) -> None:
    """Call the function at the start and end of each collection, on the collecting thread, with the arguments of
    `gc.callbacks`."""
    gc.callbacks.append(callback)


def freeze() -> None:
    """Exclude all objects that exist now from later collections."""
    gc.freeze()


def configure(middle_before_full: int = NEVER) -> None:
    """Exclude the objects made at start-up from collections, set the thresholds, and enable the collector.

    Requests, partitions, groups, sessions and connections leave no reference cycles (tests check that), so they are
    freed by reference counts. Full collections are left to `FullCollections`, because one that visits a million
    committed offsets takes hundreds of milliseconds. From Python 3.14 on full collections are incremental, and are left
    to Python.

    Args:
        middle_before_full: Collections of the middle generation before Python starts a full one.
    """
    freeze()
    resume()
    if sys.version_info < (3, 14):
        gc.set_threshold(YOUNG_THRESHOLD, MIDDLE_THRESHOLD, middle_before_full)
    else:
        gc.set_threshold(YOUNG_THRESHOLD)


class FullCollections:
    """Does a full collection whenever the process has doubled, in case something leaves cycles.

    Invariant: after `check` the process has at most twice the memory blocks (plus `MIN_GROWTH_BLOCKS`) that were alive
    after the last full collection. A process that does not grow does no full collection.

    Args:
        blocks: Returns the number of blocks that Python's allocator has handed out.
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
