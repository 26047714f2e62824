"""The reactor of a broker: one of Twisted's, with a shorter way from an event to a connection."""

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

from kafkapy.runtime.feedback_queue import IN_A_ROW, FeedbackQueue
from kafkapy.runtime.garbage import report_collections
from kafkapy.runtime.pollers import Pollers, best_pollers
from kafkapy.runtime.run_queue import RunQueue
from kafkapy.runtime.served import Served
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.runtime.time_slice import TimeSlice

log = Logger("kafkapy.network.BrokerReactor")

_LONGEST_WAIT_SECONDS = 1_000_000.0
"""A poller takes milliseconds in 32 bits, so the wait for a timer of later begins anew after so long."""


@implementer(IReactorFDSet)
class BrokerReactor(PosixReactorBase, _PollLikeMixin):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted's `EPollReactor`, whatever the system polls with, but for one thing: a call without delay is the rest
    of a request that gave way at a checkpoint, and waits in `FeedbackQueue.suspended`.

    Invariant: `_selectables` are those that are watched, by descriptor; `_reads` and `_writes` are the descriptors of those
    that are watched for reading and for writing.
    """

    _newTimedCalls: list[Any]
    _pendingTimedCalls: list[Any]

    def __init__(self, pollers: Pollers | None = None, now: Callable[[], float] = monotonic) -> None:
        """`pollers` None: the best that the system has. `now`: a clock that never goes back, seconds."""
        self._pollers = pollers = pollers or best_pollers()
        self._POLL_IN, self._POLL_OUT, self._POLL_DISCONNECTED = pollers.readable, pollers.writable, pollers.broken
        self._selectables: dict[int, Any] = {}
        self._reads: set[int] = set()
        self._writes: set[int] = set()
        self._run_queue = RunQueue()
        self._now = now
        self.meter = StallMeter(now, queued=self._run_queue.seconds)
        self.time_slice = TimeSlice(self.meter, now, self._others_wait)
        self._queue = FeedbackQueue(
            self.time_slice,
            pollers,
            self._selectables,
            self._serve_in_context,
            self._disconnectSelectable,
            self._show_again,
            self._resume,
        )
        super().__init__()

    @property
    def poller_name(self) -> str:
        """For the log."""
        return self._pollers.name

    def doIteration(self, delay: float | None) -> None:
        self._queue.take_turn(-1 if delay is None else delay)

    def _show_again(self, selectable: Any) -> None:
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
        """Serve events until something else is to be done."""
        self._queue.take_turn(-1 if delay is None else delay)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            seconds = -1.0
            if self._pendingTimedCalls:
                seconds = self._pendingTimedCalls[0].time - self.seconds()
                if seconds <= 0:
                    return  # a timer is due
                if seconds > _LONGEST_WAIT_SECONDS:
                    seconds = _LONGEST_WAIT_SECONDS
            self._queue.take_turn(seconds)

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
            if isinstance(selectable, Served) and selectable.quick_events < IN_A_ROW:
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
        group.remove(fd)

    def removeAll(self) -> list[Any]:
        removed: list[Any] = self._removeAll(self.getReaders(), self.getWriters())
        return removed

    def getReaders(self) -> list[Any]:
        return [self._selectables[fd] for fd in self._reads]

    def getWriters(self) -> list[Any]:
        return [self._selectables[fd] for fd in self._writes]

    # --- requests that gave way

    def _others_wait(self) -> bool:
        return self._queue.has_work()

    def _resume(self, call: DelayedCall) -> bool:
        """Call one that gave way. False if it was cancelled or put off."""
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
            call.canceller = _left_where_it_is
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
                meter.took(seconds, function)


def _left_where_it_is(_: DelayedCall) -> None:
    """A cancelled call that gave way is passed over when its turn comes."""


def install_reactor() -> None:
    """Make it the process's reactor; must come before anything imports `twisted.internet.reactor`."""
    reactor = BrokerReactor()
    report_collections(reactor.meter.collected)
    main.installReactor(reactor)
