"""A turn of the reactor: wait for events, then serve them one after the other. This is machine code where there is any."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, Protocol

from twisted.logger import Logger

from kafkapy.common.clock import TURN_SECONDS
from kafkapy.network.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.network.transport import PlaintextTransport

EVENTS_PER_TURN: Final = 1024

log = Logger("kafkapy.network.BrokerReactor")


class Poller(Protocol):
    """`select.epoll`."""

    def poll(self, timeout: float, maxevents: int, /) -> list[tuple[int, int]]: ...

    def modify(self, fd: int, eventmask: int, /) -> None: ...


class EventTurns:
    """Plain connections are read and written here; any other descriptor is served by `other`, as Twisted does.

    Ten thousand connections may end at once. So when a turn should be over, those that end are set aside; they are served
    after others, at least one of them in each turn.

    Invariants: `ended` is when the last item of the present turn had ended, all of which `meter` is told of. Of those in
    `_aside` the poller shows nothing, unless others have changed what it shows.
    """

    def __init__(
        self,
        meter: StallMeter,
        readable: int,
        writable: int,
        end: int,
        other: Callable[[Any, int, int], object],
        disconnect: Callable[[Any, Any, bool], object],
        show_again: Callable[[Any], object],
    ) -> None:
        """`readable`, `writable`: the poller's events of a connection that can be read or written, and nothing else. `end` comes
        with others: its client sends no more.
        `disconnect` is told of a connection, why it ends, and whether it was being read; `show_again` has the poller show a
        descriptor as before."""
        self._meter: Final = meter
        self._readable: Final = readable
        self._writable: Final = writable
        self._end: Final = end
        self._other: Final = other
        self._disconnect: Final = disconnect
        self._show_again: Final = show_again
        self.ended = monotonic()
        self._aside: deque[tuple[int, PlaintextTransport]] = deque()

    def take(self, poller: Poller, selectables: dict[int, Any], timeout: float) -> None:
        """Wait for at most so many seconds, without end if they are negative."""
        meter, before = self._meter, self.ended
        if before - meter.woke > SHORT_SECONDS:
            meter.turn_ended(before)
        meter.request = meter.body = None
        events = poller.poll(0.0 if self._aside else timeout, min(len(selectables), EVENTS_PER_TURN))
        woke = monotonic()
        meter.idle_seconds += woke - before
        meter.woke = before = woke
        meter.turn_ends = turn_ends = before + TURN_SECONDS
        meter.turns += 1
        if before > meter.cpu_due:
            meter.read_cpu()
        for fd, event in events:
            selectable = selectables.get(fd)
            if selectable is None:
                continue  # closed by the handler of an earlier event
            if event & self._end:
                if before > turn_ends and type(selectable) is PlaintextTransport:
                    poller.modify(fd, 0)
                    self._aside.append((fd, selectable))
                    continue
                event &= ~self._end
            reading = event == self._readable
            if (reading or event == self._writable) and type(selectable) is PlaintextTransport:
                self._serve(selectable, reading)
            else:
                self._other(selectable, fd, event)
            now = monotonic()
            if now - before > SHORT_SECONDS:
                meter.took(now - before, selectable)
            before = now
        if self._aside:
            before = self._serve_those_aside(selectables)
        self.ended = before

    def _serve_those_aside(self, selectables: dict[int, Any]) -> float:
        """When it ended."""
        aside, turn_ends = self._aside, self._meter.turn_ends
        while aside:
            fd, selectable = aside.popleft()
            if selectables.get(fd) is selectable:
                self._serve(selectable, True)
                if selectables.get(fd) is selectable:  # it had sent something before its end
                    self._show_again(selectable)
            if monotonic() > turn_ends:
                break
        return monotonic()

    def _serve(self, connection: PlaintextTransport, reading: bool) -> None:
        try:
            why = connection.doRead() if reading else connection.doWrite()
        except BaseException as failed:
            why = failed
            log.failure("A connection failed while it was read or written")
        if why is not None:
            self._disconnect(connection, why, reading)
