"""The reactor of a broker: Twisted's own for epoll, with a shorter way from an event to a connection."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import monotonic
from typing import Any

from twisted.internet import main
from twisted.internet.epollreactor import EPollReactor
from twisted.logger import Logger
from twisted.python.log import callWithLogger

from kafkapy.network.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.network.transport import PlaintextTransport

log = Logger("kafkapy.network.BrokerReactor")


class BrokerReactor(EPollReactor):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted.

    Invariant: `_ended` is when the last item of the present turn had ended, all of which `meter` is told of.
    """

    _selectables: dict[int, Any]
    _newTimedCalls: list[Any]

    def __init__(self) -> None:
        self.meter = StallMeter()
        self._ended = monotonic()
        super().__init__()

    def doPoll(self, timeout: float | None) -> None:
        meter, ended = self.meter, self._ended
        if ended - meter.woke > SHORT_SECONDS:
            meter.turn_ended(ended)
        meter.request = meter.body = None
        events = self._poller.poll(-1 if timeout is None else timeout, len(self._selectables))
        before = meter.woke = monotonic()
        meter.idle_seconds += before - ended
        meter.turns += 1
        if before > meter.cpu_due:
            meter.read_cpu()
        selectables = self._selectables
        for fd, event in events:
            selectable = selectables.get(fd)
            if selectable is None:
                continue  # closed by the handler of an earlier event
            reading = event == self._POLL_IN
            if (reading or event == self._POLL_OUT) and type(selectable) is PlaintextTransport:
                try:
                    why = selectable.doRead() if reading else selectable.doWrite()
                except BaseException as failed:
                    why = failed
                    log.failure("A connection failed while it was read or written")
                if why is not None:
                    self._disconnectSelectable(selectable, why, reading)
            else:
                callWithLogger(selectable, self._doReadOrWrite, selectable, fd, event)
            now = monotonic()
            if now - before > SHORT_SECONDS:
                meter.took(now - before, selectable)
            before = now
        self._ended = before

    doIteration = doPoll

    def mainLoop(self) -> None:
        self.doIteration = self._serve  # type: ignore[method-assign]
        self.meter.start()
        super().mainLoop()

    def _serve(self, timeout: float | None) -> None:
        """Serve events until something else is to be done."""
        self.doPoll(timeout)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            timeout = self.timeout()
            if timeout == 0:
                return  # a timer is due
            self.doPoll(timeout)

    # --- timers and calls of other threads

    def runUntilCurrent(self) -> None:
        super().runUntilCurrent()
        self._ended = monotonic()

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
