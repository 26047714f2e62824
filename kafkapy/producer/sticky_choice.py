"""The uniform sticky choice of a partition for records without key (KIP-480, KIP-794; Kafka's `BuiltInPartitioner`)."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate


class StickyChoice:
    """The current sticky partition of one topic.

    Invariant: the partition changes when `batch_size` bytes were sent to it since it was chosen, or when it isn't
    available any more. In the long run partitions get equal bytes, and fewer where batches pile up.
    """

    def __init__(self, batch_size: int, rng: random.Random | None = None) -> None:
        self._batch_size = batch_size
        self._random = rng or random.Random()
        self._chosen: int | None = None
        self._bytes = 0

    def add(self, size: int) -> None:
        """Count `size` bytes for the current partition."""
        self._bytes += size

    def partition(self, available: list[int], loads: Callable[[], list[int]], size: int = 0) -> int:
        """Return the partition for a record of `size` bytes.

        `loads` returns how many batches wait for each available partition; it is called only when the partition
        changes.
        """
        if self._chosen is None or self._bytes + size > self._batch_size or self._chosen not in available:
            self._chosen = self._choose(available, loads)
            self._bytes = 0
        return self._chosen

    def _choose(self, available: list[int], loads: Callable[[], list[int]]) -> int:
        if len(available) == 1:
            return available[0]
        waiting = loads()
        most = max(waiting) + 1
        weights = list(accumulate(most - load for load in waiting))
        return available[bisect_right(weights, self._random.randrange(weights[-1]))]
