"""The broker's reactor: a Twisted reactor with a shorter path from an event to a connection."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from twisted.internet import main
from twisted.internet.base import DelayedCall
from twisted.internet.interfaces import IReactorFDSet
from twisted.internet.posixbase import PosixReactorBase, _PollLikeMixin
from twisted.logger import Logger
from twisted.python.log import callWithLogger
from zope.interface import implementer

from kafkapy.runtime.direct_descriptor import DirectDescriptor
from kafkapy.runtime.feedback_queue import EVENTS_TO_RECLASSIFY, FeedbackQueue
from kafkapy.runtime.garbage import report_collections
from kafkapy.runtime.pollers import Pollers, best_pollers
from kafkapy.runtime.run_queue import RunQueue
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.runtime.time_slice import TimeSlice

log = Logger("kafkapy.network.BrokerReactor")

_LONGEST_WAIT_SECONDS = 1_000_000.0
"""Longest wait in one poll, because pollers take milliseconds as 32-bit integers. Later timers wait several times."""


@implementer(IReactorFDSet)
class BrokerReactor(PosixReactorBase, _PollLikeMixin):
    """A poll reactor that serves the broker's connections without Twisted's overhead.

    Three things differ from Twisted's `EPollReactor`:

    - Reads and writes of `DirectDescriptor` connections run without a logging context, because they log failures
      themselves.
    - Timers and calls of other threads are looked for only if there are any.
    - A call without delay resumes a request that yielded at a checkpoint; it waits in `FeedbackQueue.suspended`.

    Invariant: `_selectables` has the watched objects by descriptor; `_reads` and `_writes` are the descriptors watched
    for reading and for writing.
    """

    _newTimedCalls: list[Any]
    _pendingTimedCalls: list[Any]

    def __init__(self, pollers: Pollers | None = None, now: Callable[[], float] = monotonic) -> None:
        """`pollers`: by default the best that the system has. `now`: a monotonic clock, seconds."""
        self._pollers = pollers = pollers or best_pollers()
        self._POLL_IN, self._POLL_OUT, self._POLL_DISCONNECTED = pollers.readable, pollers.writable, pollers.broken
        self._selectables: dict[int, Any] = {}
        self._reads: set[int] = set()
        self._writes: set[int] = set()
        self._run_queue = RunQueue()
        self._now = now
        self.meter = StallMeter(now, queued=self._run_queue.seconds)
        self.time_slice = TimeSlice(self.meter, now, self._has_other_work)
        self._queue = FeedbackQueue(
            self.time_slice,
            pollers,
            self._selectables,
            self._serve_in_context,
            self._disconnectSelectable,
            self._restore_mask,
            self._resume,
        )
        super().__init__()

    @property
    def poller_name(self) -> str:
        """The name of the poller, for the log."""
        return self._pollers.name

    def doIteration(self, delay: float | None) -> None:
        self._queue.run_once(-1 if delay is None else delay)

    def _restore_mask(self, selectable: Any) -> None:
        if selectable.fileno() in self._reads:
            self.removeReader(selectable)
            self.addReader(selectable)

    def _serve_in_context(self, selectable: Any, fd: int, event: int) -> None:
        callWithLogger(selectable, self._doReadOrWrite, selectable, fd, event)

    def mainLoop(self) -> None:
        self.doIteration = self._serve  # type: ignore[method-assign]
        self._run_queue.open()
        try:
            self.meter.start()
            super().mainLoop()
        finally:
            self._run_queue.close()

    def _serve(self, delay: float | None) -> None:
        """Serve events until a timer or a call of another thread is due."""
        self._queue.run_once(-1 if delay is None else delay)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            seconds = -1.0
            if self._pendingTimedCalls:
                seconds = self._pendingTimedCalls[0].time - self.seconds()
                if seconds <= 0:
                    return  # a timer is due
                if seconds > _LONGEST_WAIT_SECONDS:
                    seconds = _LONGEST_WAIT_SECONDS
            self._queue.run_once(seconds)

    # --- what is watched

    def addReader(self, reader: Any) -> None:
        self._add(reader, self._reads, self._writes, self._pollers.readable | self._pollers.end, self._pollers.writable)

    def addWriter(self, writer: Any) -> None:
        self._add(writer, self._writes, self._reads, self._pollers.writable, self._pollers.readable | self._pollers.end)

    def removeReader(self, reader: Any) -> None:
        self._remove(reader, self._reads, self._writes, self._pollers.writable)

    def removeWriter(self, writer: Any) -> None:
        self._remove(writer, self._writes, self._reads, self._pollers.readable | self._pollers.end)

    def _add(self, selectable: Any, group: set[int], other: set[int], events: int, others_events: int) -> None:
        fd = selectable.fileno()
        if fd in group:
            return
        if fd in other:
            self._pollers.modify(fd, events | others_events)
        else:
            if isinstance(selectable, DirectDescriptor) and selectable.quick_events < EVENTS_TO_RECLASSIFY:
                self._pollers.second.add(fd)
            self._pollers.register(fd, events)
        group.add(fd)
        self._selectables[fd] = selectable

    def _remove(self, selectable: Any, group: set[int], other: set[int], others_events: int) -> None:
        fd = selectable.fileno()
        if fd == -1:  # it was closed
            fd = next((fd for fd, each in self._selectables.items() if each is selectable), -1)
        if fd not in group:
            return
        if fd in other:
            self._pollers.modify(fd, others_events)
        else:
            del self._selectables[fd]
            self._pollers.unregister(fd)
            self._queue.unwatched(fd)
        group.remove(fd)

    def removeAll(self) -> list[Any]:
        removed: list[Any] = self._removeAll(self.getReaders(), self.getWriters())
        return removed

    def getReaders(self) -> list[Any]:
        return [self._selectables[fd] for fd in self._reads]

    def getWriters(self) -> list[Any]:
        return [self._selectables[fd] for fd in self._writes]

    def close_one(self) -> None:
        """Close one of the connections whose peers have closed them, if any are deferred (`FeedbackQueue`)."""
        self._queue.close_one()

    # --- requests that yielded

    def _has_other_work(self) -> bool:
        return self._queue.has_work()

    def _resume(self, call: DelayedCall) -> bool:
        """Resume a request that yielded. Returns False if its call was cancelled or postponed."""
        if not call.active():
            return False
        if call.delayed_time > 0:  # it was reset to a later time
            call.activate_delay()
            call.canceller = self._cancelCallLater
            self._newTimedCalls.append(call)
            return False
        call.called = 1
        try:
            call.func(*call.args, **call.kw)
        except BaseException:
            log.failure("A call without delay failed")
        return True

    def getDelayedCalls(self) -> list[Any]:
        return [*super().getDelayedCalls(), *(call for call in self._queue.suspended if call.active())]

    # --- timers and calls of other threads

    def runUntilCurrent(self) -> None:
        super().runUntilCurrent()
        self._queue.ended = self._now()

    def callLater(self, delay: float, function: Callable[..., object], *args: object, **kwargs: object) -> Any:  # type: ignore[override]
        call = super().callLater(delay, self._call, function, *args, **kwargs)
        if delay == 0:
            self._newTimedCalls.pop()
            call.canceller = _leave_queued
            self._queue.suspended.append(call)
        return call

    def callFromThread(self, function: Callable[..., object], *args: object, **kwargs: object) -> None:  # type: ignore[override]
        super().callFromThread(self._call, function, *args, **kwargs)

    def _call(self, function: Callable[..., object], *args: object, **kwargs: object) -> None:
        meter, before = self.meter, self._now()
        meter.request = meter.body = None
        try:
            function(*args, **kwargs)
        finally:
            if (seconds := self._now() - before) > SHORT_SECONDS:
                meter.record_item(seconds, function)


def _leave_queued(_: DelayedCall) -> None:
    """Do nothing: a cancelled call stays in `suspended` and is skipped there."""


def install_reactor() -> None:
    """Install it as the process's reactor. Must run before anything imports `twisted.internet.reactor`."""
    reactor = BrokerReactor()
    report_collections(reactor.meter.on_gc_event)
    main.installReactor(reactor)
