"""The reactor of a broker: Twisted's own for epoll, with a shorter way from an event to a connection."""

from __future__ import annotations

import errno
from time import monotonic
from typing import Any

from twisted.internet import main
from twisted.internet.epollreactor import EPollReactor
from twisted.logger import Logger
from twisted.python.log import callWithLogger

from kafkapy.network.transport import PlaintextTransport

log = Logger("kafkapy.network.BrokerReactor")


class BrokerReactor(EPollReactor):
    """Twisted enters a logging context for every event of every descriptor, which takes as long as a tenth of a small
    produce request. A broker's connections log by themselves, so their plain reads and writes go without. And Twisted looks
    for timers and calls of other threads each time before it waits for events; here it is only asked if there are any. All
    else is as in Twisted.
    """

    _selectables: dict[int, Any]
    _newTimedCalls: list[Any]
    idle_seconds = 0.0
    """How long it has waited for something to do."""

    def doPoll(self, timeout: float | None) -> None:
        began = monotonic()
        try:
            events = self._poller.poll(-1 if timeout is None else timeout, len(self._selectables))
        except OSError as error:
            if error.errno == errno.EINTR:
                return
            raise
        self.idle_seconds += monotonic() - began
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

    doIteration = doPoll

    def mainLoop(self) -> None:
        self.doIteration = self._serve  # type: ignore[method-assign]
        super().mainLoop()

    def _serve(self, timeout: float | None) -> None:
        """Serve events until something else is to be done."""
        self.doPoll(timeout)
        while self.running and not (self.threadCallQueue or self._newTimedCalls or self._justStopped):
            timeout = self.timeout()
            if timeout == 0:
                return  # a timer is due
            self.doPoll(timeout)


def install_reactor() -> None:
    """Make it the process's reactor; must come before anything imports `twisted.internet.reactor`."""
    main.installReactor(BrokerReactor())
