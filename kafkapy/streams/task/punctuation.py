"""Punctuations: functions that are called at regular intervals of stream time or wall-clock time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.java_priority_queue import JavaPriorityQueue
from kafkapy.streams.processor import Cancellable


class Punctuation(Cancellable):
    """A function of a node that is called at each multiple of an interval.

    Attributes:
        rank: The time of the next call.
        node: The node whose processor has scheduled it.
        punctuator: Called with the current time.
    """

    def __init__(self, node: Any, start: int, interval: int, punctuator: Callable[[int], Any]) -> None:
        self.rank = start
        self.node = node
        self.punctuator = punctuator
        self.cancelled = False
        self._interval = interval

    def cancel(self) -> None:
        self.cancelled = True

    def advance(self, now: int) -> None:
        """Set the next call to the next multiple of the interval; missed calls are skipped."""
        missed = max(0, (now - self.rank) // self._interval)
        self.rank += (missed + 1) * self._interval


class PunctuationQueue:
    """The punctuations by one kind of time.

    Invariant: the queue contains each active punctuation once; a punctuation's rank changes only while it is not in
    the queue.
    """

    def __init__(self) -> None:
        self._queue: JavaPriorityQueue[Punctuation] = JavaPriorityQueue()

    def schedule(self, punctuation: Punctuation) -> Cancellable:
        self._queue.add(punctuation)
        return punctuation

    def punctuate(self, now: int, call: Callable[[Punctuation, int], None]) -> bool:
        """Call each due punctuation once; return whether there was one."""
        punctuated = False
        while (top := self._queue.peek()) is not None and top.rank <= now:
            self._queue.poll()
            if top.cancelled:
                continue
            call(top, now)
            if not top.cancelled:
                top.advance(now)
                self._queue.add(top)
            punctuated = True
        return punctuated

    def next_time(self) -> int | None:
        """Return the time of the next call; None if nothing is scheduled."""
        top = self._queue.peek()
        return None if top is None else top.rank

    def clear(self) -> None:
        self._queue.clear()
