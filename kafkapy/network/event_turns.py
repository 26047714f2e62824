"""A turn of the reactor: wait for events, then serve them one after the other. This is machine code where there is any."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Final, Protocol

from twisted.logger import Logger

from kafkapy.network.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.network.transport import PlaintextTransport

log = Logger("kafkapy.network.BrokerReactor")


class Poller(Protocol):
    """`select.epoll`."""

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]: ...


class EventTurns:
    """Plain connections are read and written here; any other descriptor is served by `other`, as Twisted does.

    Invariant: `ended` is when the last item of the present turn had ended, all of which `meter` is told of.
    """

    def __init__(
        self,
        meter: StallMeter,
        readable: int,
        writable: int,
        other: Callable[[Any, int, int], object],
        disconnect: Callable[[Any, Any, bool], object],
    ) -> None:
        """`readable`, `writable`: the poller's events of a connection that can be read or written, and nothing else.
        `disconnect` is told of a connection, why it ends, and whether it was being read."""
        self._meter: Final = meter
        self._readable: Final = readable
        self._writable: Final = writable
        self._other: Final = other
        self._disconnect: Final = disconnect
        self.ended = monotonic()

    def take(self, poller: Poller, selectables: dict[int, Any], timeout: float) -> None:
        """Wait for at most so many seconds, without end if they are negative."""
        meter, ended = self._meter, self.ended
        if ended - meter.woke > SHORT_SECONDS:
            meter.turn_ended(ended)
        meter.request = meter.body = None
        events = poller.poll(timeout, len(selectables))
        before = monotonic()
        meter.woke = before
        meter.idle_seconds += before - ended
        meter.turns += 1
        if before > meter.cpu_due:
            meter.read_cpu()
        for fd, event in events:
            selectable = selectables.get(fd)
            if selectable is None:
                continue  # closed by the handler of an earlier event
            reading = event == self._readable
            if (reading or event == self._writable) and type(selectable) is PlaintextTransport:
                self._serve(selectable, reading)
            else:
                self._other(selectable, fd, event)
            now = monotonic()
            if now - before > SHORT_SECONDS:
                meter.took(now - before, selectable)
            before = now
        self.ended = before

    def _serve(self, connection: PlaintextTransport, reading: bool) -> None:
        try:
            why = connection.doRead() if reading else connection.doWrite()
        except BaseException as failed:
            why = failed
            log.failure("A connection failed while it was read or written")
        if why is not None:
            self._disconnect(connection, why, reading)
