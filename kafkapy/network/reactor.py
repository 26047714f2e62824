"""The reactor of a broker: Twisted's own for epoll, with a shorter way from an event to a connection."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import monotonic
from typing import Any

from twisted.internet import main
from twisted.internet.epollreactor import EPollReactor
from twisted.python.log import callWithLogger

from kafkapy.network.event_turns import EventTurns
from kafkapy.network.stall_meter import SHORT_SECONDS, StallMeter

_LONGEST_SECONDS = 1_000_000.0
"""A poller takes milliseconds in 32 bits, so the wait for a timer of later begins anew after so long."""


class BrokerReactor(EPollReactor):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted.
    """

    _selectables: dict[int, Any]
    _newTimedCalls: list[Any]
    _pendingTimedCalls: list[Any]

    def __init__(self) -> None:
        self.meter = StallMeter()
        self._turns = EventTurns(
            self.meter, self._POLL_IN, self._POLL_OUT, self._serve_in_context, self._disconnectSelectable
        )
        super().__init__()

    def doPoll(self, timeout: float | None) -> None:
        self._turns.take(self._poller, self._selectables, -1 if timeout is None else timeout)

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
            self._turns.take(self._poller, self._selectables, seconds)

    # --- timers and calls of other threads

    def runUntilCurrent(self) -> None:
        super().runUntilCurrent()
        self._turns.ended = monotonic()

    def callLater(self, delay: float, function: Callable[..., object], *args: object, **kwargs: object) -> Any:  # type: ignore[override]
        return super().callLater(delay, self._call, function, *args, **kwargs)

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


def install_reactor() -> None:
    """Make it the process's reactor; must come before anything imports `twisted.internet.reactor`."""
    reactor = BrokerReactor()
    gc.callbacks.append(reactor.meter.collected)
    main.installReactor(reactor)
