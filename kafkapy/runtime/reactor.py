"""The reactor of a broker: one of Twisted's, with a shorter way from an event to a connection."""

from __future__ import annotations

import gc
from collections import deque
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

from kafkapy.runtime.clock import TURN_SECONDS
from kafkapy.runtime.event_turns import PROOFS, EventTurns
from kafkapy.runtime.pollers import Pollers, best_pollers
from kafkapy.runtime.run_queue import RunQueue
from kafkapy.runtime.served import Served
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter

log = Logger("kafkapy.network.BrokerReactor")

LONGEST_SECONDS = 0.001
"""Timers are due, too, so a turn that goes on ends after so long."""

_LONGEST_WAIT_SECONDS = 1_000_000.0
"""A poller takes milliseconds in 32 bits, so the wait for a timer of later begins anew after so long."""


@implementer(IReactorFDSet)
class BrokerReactor(PosixReactorBase, _PollLikeMixin):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted's `EPollReactor`, whatever the system polls with, but for one thing:

    A call without delay belongs to somebody who has more to do and gives way. Such calls wait in one queue, `_gave_way`. After
    all events of a turn were served, those in front go on, for `TURN_SECONDS` together, and at least one of them. If there are
    connections that wait for their turn, too (`EventTurns`), every second one is theirs.

    Invariant: `_selectables` are those that are watched, by descriptor; `_reads` and `_writes` are the descriptors of those
    that are watched for reading and for writing.
    """

    _newTimedCalls: list[Any]
    _pendingTimedCalls: list[Any]

    def __init__(self, pollers: Pollers | None = None) -> None:
        """`pollers` None: the best that the system has."""
        self._pollers = pollers = pollers or best_pollers()
        self._POLL_IN, self._POLL_OUT, self._POLL_DISCONNECTED = pollers.readable, pollers.writable, pollers.broken
        self._selectables: dict[int, Any] = {}
        self._reads: set[int] = set()
        self._writes: set[int] = set()
        self._run_queue = RunQueue()
        self.meter = StallMeter(queued=self._run_queue.seconds)
        self._turns = EventTurns(
            self.meter,
            pollers.readable,
            pollers.writable,
            pollers.end,
            self._serve_in_context,
            self._disconnectSelectable,
            self._show_again,
        )
        self._gave_way: deque[DelayedCall] = deque()
        self._others_next = False
        """Is it the turn of connections that wait, or of those who gave way?"""
        super().__init__()

    @property
    def poller_name(self) -> str:
        """For the log."""
        return self._pollers.name

    def doIteration(self, delay: float | None) -> None:
        self._take_turn(-1 if delay is None else delay)

    def _take_turn(self, timeout: float) -> None:
        turns = self._turns
        if not self._gave_way:
            turns.take(self._pollers, self._selectables, timeout, True)
            return
        self._others_next = not self._others_next
        turns.take(self._pollers, self._selectables, 0, self._others_next)
        if not turns.others_were_served:
            self._go_on()
            turns.ended = monotonic()

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
        self._take_turn(-1 if delay is None else delay)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            seconds = -1.0
            if self._pendingTimedCalls:
                seconds = self._pendingTimedCalls[0].time - self.seconds()
                if seconds <= 0:
                    return  # a timer is due
                if seconds > _LONGEST_WAIT_SECONDS:
                    seconds = _LONGEST_WAIT_SECONDS
            self._take_turn(seconds)

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
            if isinstance(selectable, Served) and selectable.quick_events < PROOFS:
                self._pollers.waiting.add(fd)
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

    # --- those who gave way

    def goes_on(self, late_seconds: float = 0.0) -> bool:
        """A turn should have been over so long ago: is there nobody for whom it would end? Then who works may go on, for
        another one."""
        now, meter = monotonic(), self.meter
        if now > meter.woke + LONGEST_SECONDS + late_seconds or self._gave_way or self._pollers.poll(0, 1):
            return False
        meter.turn_ends = now + TURN_SECONDS - late_seconds
        return True

    def _go_on(self) -> None:
        calls, meter = self._gave_way, self.meter
        meter.turn_ends = monotonic() + TURN_SECONDS
        while calls:
            call = calls.popleft()
            if not call.active():
                continue
            if call.delayed_time > 0:  # it was reset to a later time
                call.activate_delay()
                call.canceller = self._cancelCallLater
                self._newTimedCalls.append(call)
                continue
            call.called = 1
            try:
                call.func(*call.args, **call.kw)
            except BaseException:
                log.failure("A call without delay failed")
            if monotonic() >= meter.turn_ends:
                return

    def getDelayedCalls(self) -> list[Any]:
        return [*super().getDelayedCalls(), *(call for call in self._gave_way if call.active())]

    # --- timers and calls of other threads

    def runUntilCurrent(self) -> None:
        super().runUntilCurrent()
        self._turns.ended = monotonic()

    def callLater(self, delay: float, function: Callable[..., object], *args: object, **kwargs: object) -> Any:  # type: ignore[override]
        call = super().callLater(delay, self._call, function, *args, **kwargs)
        if delay == 0:
            self._newTimedCalls.pop()
            call.canceller = _left_where_it_is
            self._gave_way.append(call)
        return call

    def callFromThread(self, function: Callable[..., object], *args: object, **kwargs: object) -> None:  # type: ignore[override]
        super().callFromThread(self._call, function, *args, **kwargs)

    def _call(self, function: Callable[..., object], *args: object, **kwargs: object) -> None:
        meter, before = self.meter, monotonic()
        meter.request = meter.body = None
        try:
            function(*args, **kwargs)
        finally:
            if (seconds := monotonic() - before) > SHORT_SECONDS:
                meter.took(seconds, function)


def _left_where_it_is(_: DelayedCall) -> None:
    """A cancelled call that gave way is passed over when its turn comes."""


def install_reactor() -> None:
    """Make it the process's reactor; must come before anything imports `twisted.internet.reactor`."""
    reactor = BrokerReactor()
    gc.callbacks.append(reactor.meter.collected)
    main.installReactor(reactor)
