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
"""How long `close` waits for the current event, which may be blocked on an unreachable ZooKeeper."""


def _nothing() -> None:
    pass


class TimeSpent:
    """Count and total time of an operation. Written by one thread, read by any."""

    __slots__ = ("count", "ms")

    def __init__(self) -> None:
        self.count = 0
        self.ms = 0

    def add(self, ms: int) -> None:
        self.ms += ms
        self.count += 1


@dataclass(eq=False, slots=True)
class ControllerEvent:
    """An event for the controller.

    `process` does the work, on the controller thread. `preempt` is called instead, on any thread, if the event is
    dropped; it answers waiting callers. `finished` is set after either.
    """

    name: str
    process: Callable[[], object]
    preempt: Callable[[], object] = _nothing
    finished: threading.Event = field(default_factory=threading.Event)
    put_ms: int = 0
    """When the event was queued, in ms of the monotonic clock."""

    def drop(self) -> None:
        self.preempt()
        self.finished.set()


class ControllerEventManager:
    """Processes events one after the other, in the order of the queue.

    Invariant: a queued event is either processed or preempted, exactly once; events are processed on one thread: the
    manager's own after `start`, or the caller's of `process_all` in tests. The lock is not held while an event is
    processed.
    """

    def __init__(
        self, process: Callable[[ControllerEvent], object], time: Time, name: str = "controller-event-thread"
    ) -> None:
        """`process` processes one event and never raises."""
        self._process = process
        self._time = time
        self._changed = threading.Condition()
        self._queue: deque[ControllerEvent] = deque()
        self._later: list[tuple[int, int, ControllerEvent]] = []
        self._order = itertools.count()
        self._closed = False
        self.current = ""
        """The name of the current event; empty: none."""
        self.waited = TimeSpent()
        """Times from `put` to the start of processing."""
        self.spent: dict[str, TimeSpent] = {}
        """Times of processing, by name of the event."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Preempt queued events and wait for the current one, for at most `CLOSE_TIMEOUT_SECONDS`: it may be blocked
        on ZooKeeper."""
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
        """Preempt all queued events, and queue `event`."""
        self._drop_all()
        return self.put(event)

    def put_delayed(self, event: ControllerEvent, delay_ms: int) -> None:
        """Queue `event` after `delay_ms`, unless `cancel_later` is called before."""
        with self._changed:
            heapq.heappush(self._later, (self.now_ms() + delay_ms, next(self._order), event))
            self._changed.notify()

    def now_ms(self) -> int:
        """The monotonic clock of `put_delayed`."""
        return self._time.monotonic_ms()

    def cancel_later(self) -> None:
        """Drop the events of `put_delayed` that are not due yet."""
        with self._changed:
            self._later.clear()

    def process_all(self) -> None:
        """Process all queued and due events, and the ones that these add, on this thread. For tests."""
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
            del event  # it may be large, and the next event may come much later

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
