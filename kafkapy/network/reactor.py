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

from kafkapy.common.clock import TURN_SECONDS
from kafkapy.network.event_turns import EventTurns
from kafkapy.network.stall_meter import SHORT_SECONDS, StallMeter

log = Logger("kafkapy.network.BrokerReactor")

_END: Final = select.EPOLLRDHUP
"""The peer sends no more."""

_LONGEST_SECONDS = 1_000_000.0
"""A poller takes milliseconds in 32 bits, so the wait for a timer of later begins anew after so long."""


class BrokerReactor(EPollReactor):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted, but for one thing:

    A call without delay belongs to somebody who has more to do and gives way. Such calls wait in one queue, `_gave_way`. After
    all events of a turn were served, those in front go on, for `TURN_SECONDS` together, and at least one of them.
    """

    _selectables: dict[int, Any]
    _newTimedCalls: list[Any]
    _pendingTimedCalls: list[Any]

    def __init__(self) -> None:
        self.meter = StallMeter()
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
        super().__init__()

    def doPoll(self, timeout: float | None) -> None:
        self._take_turn(-1 if timeout is None else timeout)

    def _take_turn(self, timeout: float) -> None:
        if not self._gave_way:
            self._turns.take(self._poller, self._selectables, timeout)
        else:
            self._turns.take(self._poller, self._selectables, 0)
            self._go_on()
            self._turns.ended = monotonic()

    def _show_again(self, selectable: Any) -> None:
        if selectable.fileno() in self._reads:
            self.removeReader(selectable)
            self.addReader(selectable)

    def _serve_in_context(self, selectable: Any, fd: int, event: int) -> None:
        callWithLogger(selectable, self._doReadOrWrite, selectable, fd, event)

    doIteration = doPoll

    def mainLoop(self) -> None:
        self.doIteration = self._serve  # type: ignore[method-assign]
        self.meter.start()
        super().mainLoop()

    def _serve(self, timeout: float | None) -> None:
        """Serve events until something else is to be done."""
        self.doPoll(timeout)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            seconds = -1.0
            if self._pendingTimedCalls:
                seconds = self._pendingTimedCalls[0].time - self.seconds()
                if seconds <= 0:
                    return  # a timer is due
                if seconds > _LONGEST_SECONDS:
                    seconds = _LONGEST_SECONDS
            self._take_turn(seconds)

    def _add(self, xer: Any, primary: set[int], other: set[int], selectables: Any, event: int, antievent: int) -> None:
        super()._add(xer, primary, other, selectables, _with_end(event), _with_end(antievent))

    def _remove(
        self, xer: Any, primary: set[int], other: set[int], selectables: Any, event: int, antievent: int
    ) -> None:
        super()._remove(xer, primary, other, selectables, _with_end(event), _with_end(antievent))

    # --- those who gave way

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
