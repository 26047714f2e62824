"""The controller's one queue and one thread (Kafka's `ControllerEventManager`)."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from kafkapy.common.time import Time

CLOSE_TIMEOUT_SECONDS = 5
"""Of a stop: an event that is under way may wait for a ZooKeeper that does not answer."""


def _nothing() -> None:
    pass


class TimeSpent:
    """How often something was done, and how long that took together. Written by one thread, read by any."""

    __slots__ = ("count", "ms")

    def __init__(self) -> None:
        self.count = 0
        self.ms = 0

    def add(self, ms: int) -> None:
        self.ms += ms
        self.count += 1


@dataclass(eq=False, slots=True)
class ControllerEvent:
    """Something the controller has to look at.

    `process` does the work, on the controller thread. `preempt` is called instead, on whatever thread, if the event is
    dropped unprocessed; it answers callers that wait for the event. `finished` is set after either.
    """

    name: str
    process: Callable[[], object]
    preempt: Callable[[], object] = _nothing
    finished: threading.Event = field(default_factory=threading.Event)
    put_ms: int = 0
    """When it was put; the monotonic clock's ms."""

    def drop(self) -> None:
        self.preempt()
        self.finished.set()


class ControllerEventManager:
    """Runs events one after the other, in the order they came.

    Invariant: an event that was put is either processed or preempted, once; all processing happens on one thread: the
    manager's own after `start`, that of the caller of `process_all` in tests. The lock is not held while an event runs.
    """

    def __init__(
        self, process: Callable[[ControllerEvent], object], time: Time, name: str = "controller-event-thread"
    ) -> None:
        """`process` runs one event and lets no exception out."""
        self._process = process
        self._time = time
        self._changed = threading.Condition()
        self._queue: deque[ControllerEvent] = deque()
        self._later: list[tuple[int, int, ControllerEvent]] = []
        self._order = itertools.count()
        self._closed = False
        self.current = ""
        """The name of the event that is being processed; empty: none."""
        self.waited = TimeSpent()
        """From `put` until processing began."""
        self.spent: dict[str, TimeSpent] = {}
        """On processing, by name of the event."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Preempt what is queued and wait for the event under way, but not for ever: it may wait for ZooKeeper."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._drop_all()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(CLOSE_TIMEOUT_SECONDS)

    def put(self, event: ControllerEvent) -> ControllerEvent:
        """Queue an event; after `close` it is preempted at once."""
        with self._changed:
            closed = self._closed
            if not closed:
                event.put_ms = self.now_ms()
                self._queue.append(event)
                self._changed.notify()
        if closed:
            event.drop()
        return event

    @property
    def queue_size(self) -> int:
        return len(self._queue)

    def clear_and_put(self, event: ControllerEvent) -> ControllerEvent:
        """Preempt everything that waits and put `event` in its place."""
        self._drop_all()
        return self.put(event)

    def put_later(self, event: ControllerEvent, delay_ms: int) -> None:
        """Put `event` when `delay_ms` have passed, unless `cancel_later` comes first."""
        with self._changed:
            heapq.heappush(self._later, (self.now_ms() + delay_ms, next(self._order), event))
            self._changed.notify()

    def now_ms(self) -> int:
        """The monotonic clock of `put_later`."""
        return self._time.monotonic_ms()

    def cancel_later(self) -> None:
        """Forget the events that `put_later` has not put yet."""
        with self._changed:
            self._later.clear()

    def process_all(self) -> None:
        """Process, on this thread, all events that are there or due and all that these bring about. For tests."""
        while (event := self._next_event()) is not None:
            self._handle(event)

    def _drop_all(self) -> None:
        with self._changed:
            dropped, self._queue = self._queue, deque()
        for event in dropped:
            event.drop()

    def _run(self) -> None:
        while True:
            with self._changed:
                while (event := self._next_event()) is None:
                    if self._closed:
                        return
                    self._changed.wait(self._seconds_to_next())
            self._handle(event)
            del event  # what it has in it may be large, and the next one may come late

    def _handle(self, event: ControllerEvent) -> None:
        began = self.now_ms()
        self.waited.add(began - event.put_ms)
        self.current = event.name
        try:
            self._process(event)
        finally:
            self.current = ""
            self.spent.setdefault(event.name, TimeSpent()).add(self.now_ms() - began)
            event.finished.set()

    def _next_event(self) -> ControllerEvent | None:
        with self._changed:
            now = self.now_ms()
            while self._later and self._later[0][0] <= now:
                due_ms, _, event = heapq.heappop(self._later)
                event.put_ms = due_ms
                self._queue.append(event)
            return self._queue.popleft() if self._queue else None

    def _seconds_to_next(self) -> float | None:
        return max(0, self._later[0][0] - self.now_ms()) / 1000 if self._later else None
