"""Changes of followers' logs that take long, made in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion

R = TypeVar("R")


class LogChanges:
    """The changes that one fetcher makes, one after the other; on the reactor thread.

    While one is under way nothing else should change the partition's log: that would wait for its lock, on whatever thread.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._partition: TopicPartition | None = None
        self.under_way: Completion[None] | None = None
        """Done after the fetcher has taken in what the change has come to."""

    def of(self, partition: TopicPartition) -> Completion[None] | None:
        """The change of this partition's log that is under way."""
        return self.under_way if self._partition == partition else None

    async def in_thread(self, partition: TopicPartition, change: Callable[[], R]) -> R:
        """Make the change in a thread; returns or raises what it does."""
        done: Completion[None] = Completion()
        self.under_way, self._partition = done, partition
        try:
            return await self._clock.in_thread(change)
        finally:
            self.under_way = self._partition = None
            # In a later turn: first the fetcher goes on.
            self._clock.later(0, lambda: done.set_result(None))
