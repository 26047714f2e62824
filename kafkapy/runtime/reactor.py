"""The reactor of a broker: Twisted's own for epoll, with a shorter way from an event to a connection."""

from __future__ import annotations

import gc
import select
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from twisted.internet import main
from twisted.internet.base import DelayedCall
from twisted.internet.epollreactor import EPollReactor
from twisted.logger import Logger
from twisted.python.log import callWithLogger

from kafkapy.runtime.clock import TURN_SECONDS
from kafkapy.runtime.event_turns import PROOFS, EventTurns
from kafkapy.runtime.pollers import Pollers
from kafkapy.runtime.run_queue import RunQueue
from kafkapy.runtime.served import Served
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter

log = Logger("kafkapy.network.BrokerReactor")

_END: Final = select.EPOLLRDHUP
"""The peer sends no more."""

LONGEST_SECONDS = 0.001
"""Timers are due, too, so a turn that goes on ends after so long."""

_LONGEST_WAIT_SECONDS = 1_000_000.0
"""A poller takes milliseconds in 32 bits, so the wait for a timer of later begins anew after so long."""


class BrokerReactor(EPollReactor):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted, but for one thing:

    A call without delay belongs to somebody who has more to do and gives way. Such calls wait in one queue, `_gave_way`. After
    all events of a turn were served, those in front go on, for `TURN_SECONDS` together, and at least one of them. If there are
    connections that wait for their turn, too (`EventTurns`), every second one is theirs.
    """

    _selectables: dict[int, Any]
    _newTimedCalls: list[Any]
    _pendingTimedCalls: list[Any]

    def __init__(self) -> None:
        self._run_queue = RunQueue()
        self.meter = StallMeter(queued=self._run_queue.seconds)
        self._turns = EventTurns(
            self.meter,
            self._POLL_IN,
            self._POLL_OUT,
            _END,
            self._serve_in_context,
            self._disconnectSelectable,
            self._show_again,
        )
        self._gave_way: deque[DelayedCall] = deque()
        self._others_next = False
        """Is it the turn of connections that wait, or of those who gave way?"""
        super().__init__()
        self._poller = self._pollers = Pollers(self._poller)

    def doPoll(self, timeout: float | None) -> None:
        self._take_turn(-1 if timeout is None else timeout)

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

    doIteration = doPoll

    def mainLoop(self) -> None:
        self.doIteration = self._serve  # type: ignore[method-assign]
        self._run_queue.open()
        try:
            self.meter.start()
            super().mainLoop()
        finally:
            self._run_queue.close()

    def _serve(self, timeout: float | None) -> None:
        """Serve events until something else is to be done."""
        self.doPoll(timeout)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            seconds = -1.0
            if self._pendingTimedCalls:
                seconds = self._pendingTimedCalls[0].time - self.seconds()
                if seconds <= 0:
                    return  # a timer is due
                if seconds > _LONGEST_WAIT_SECONDS:
                    seconds = _LONGEST_WAIT_SECONDS
            self._take_turn(seconds)

    def _add(self, xer: Any, primary: set[int], other: set[int], selectables: Any, event: int, antievent: int) -> None:
        if isinstance(xer, Served) and xer.quick_events < PROOFS:
            fd = xer.fileno()
            if fd not in primary and fd not in other:
                self._pollers.waiting.add(fd)
        super()._add(xer, primary, other, selectables, _with_end(event), _with_end(antievent))

    def _remove(
        self, xer: Any, primary: set[int], other: set[int], selectables: Any, event: int, antievent: int
    ) -> None:
        super()._remove(xer, primary, other, selectables, _with_end(event), _with_end(antievent))

    # --- those who gave way

    def goes_on(self, late_seconds: float = 0.0) -> bool:
        """A turn should have been over so long ago: is there nobody for whom it would end? Then who works may go on, for
        another one."""
        now, meter = monotonic(), self.meter
        if now > meter.woke + LONGEST_SECONDS + late_seconds or self._gave_way or self._pollers.soon.poll(0, 1):
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


def _with_end(event: int) -> int:
    """Who reads is told of the peer's end."""
    return event | _END if event == select.EPOLLIN else event


def _left_where_it_is(_: DelayedCall) -> None:
    """A cancelled call that gave way is passed over when its turn comes."""


def install_reactor() -> None:
    """Make it the process's reactor; must come before anything imports `twisted.internet.reactor`."""
    reactor = BrokerReactor()
    gc.callbacks.append(reactor.meter.collected)
    main.installReactor(reactor)
