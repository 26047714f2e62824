"""Long changes of followers' logs, which run in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion

R = TypeVar("R")


class LogChanges:
    """The changes of one fetcher, one after the other; on the reactor thread.

    During a change, no other code should change the partition's log: it would block on the log's lock.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._partition: TopicPartition | None = None
        self.under_way: Completion[None] | None = None
        """Completes after the fetcher has processed the change's result."""

    def of(self, partition: TopicPartition) -> Completion[None] | None:
        """Return the change of this partition's log that is running, if any."""
        return self.under_way if self._partition == partition else None

    async def in_thread(self, partition: TopicPartition, change: Callable[[], R]) -> R:
        """Run the change in a thread; return its result or raise its exception."""
        done: Completion[None] = Completion()
        self.under_way, self._partition = done, partition
        try:
            return await self._clock.in_thread(change)
        finally:
            self.under_way = self._partition = None
            # In a later iteration of the event loop: the fetcher goes on first.
            self._clock.later(0, lambda: done.set_result(None))
