"""A turn of the reactor: wait for events, then serve them one after the other. This is machine code where there is any."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from twisted.logger import Logger

from kafkapy.runtime.clock import TURN_SECONDS
from kafkapy.runtime.pollers import Pollers
from kafkapy.runtime.served import Served
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter

EVENTS_PER_TURN: Final = 1024

DEAR_SECONDS: Final = 0.0005
"""An event of a connection that takes longer is dear. Time in which the reactor had no core does not count."""

PROOFS: Final = 4
"""So many events in a row that were dear make a connection wait; as many that were not bring it back."""

_FORGIVEN_SECONDS: Final = 0.1

log = Logger("kafkapy.network.BrokerReactor")


class EventTurns:
    """Plain connections are read and written here; any other descriptor is served by `other`, as Twisted does.

    Where there is much to do, small requests shall not wait for large ones. What a connection will ask for nobody knows, so it
    is judged by what it has asked for: those whose events take long (`DEAR_SECONDS`) wait, until they have proved to be quick,
    and so do those of which nothing is known yet. In each turn all are served that need not wait, then those that do, one after
    the other, until the turn should be over; at least one, and for as long as the others took, so nobody starves. Requests of
    one connection are always served in their order.

    Ten thousand connections may end at once. So when there are others, those that end are set aside; they are served
    after all others, at least one of them in each turn.

    Invariants: `ended` is when the last item of the present turn had ended, all of which `meter` is told of. `_dear` counts
    dear events in a row of connections that do not wait, as far as they are to be remembered (`_forget_at`). Of those in
    `_aside` the pollers show nothing, unless others have changed what they show.
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
        with others: its client sends no more; 0 if the system does not tell.
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
        self._dear: dict[int, int] = {}
        self._forget_at = 0.0
        self._aside: deque[tuple[int, Any]] = deque()
        self.others_were_served = False
        """Of those that wait, in the present turn."""

    def take(self, pollers: Pollers, selectables: dict[int, Any], timeout: float, others_too: bool) -> None:
        """Wait for at most so many seconds, without end if they are negative. `others_too`: is it the turn of those that wait?"""
        meter, before = self._meter, self.ended
        if before - meter.woke > SHORT_SECONDS:
            meter.turn_ended(before)
        meter.request = meter.body = None
        at_most = min(len(selectables) + 1, EVENTS_PER_TURN)
        events: list[tuple[int, int]] = pollers.poll(0.0 if self._aside else timeout, at_most)
        woke = monotonic()
        meter.idle_seconds += woke - before
        meter.woke = before = woke
        meter.turn_ends = before + TURN_SECONDS
        meter.turns += 1
        if before > meter.cpu_due:
            meter.read_cpu()
        others_wait = False
        for fd, event in events:
            selectable = selectables.get(fd)
            if selectable is None:  # closed by the handler of an earlier event, or no connection
                others_wait = others_wait or fd == pollers.fileno
                continue
            if event & self._end and before > meter.turn_ends and isinstance(selectable, Served):
                self._set_aside(selectable, fd, pollers)
                continue
            lost = meter.lost_seconds
            self._serve(selectable, fd, event)
            now = monotonic()
            if now - before > DEAR_SECONDS:
                self._took_long(before, now, lost, selectable, fd, pollers)
            elif self._dear:
                self._dear.pop(fd, None)
            before = now
        self.others_were_served = others_wait and others_too
        if self.others_were_served:
            before = self._serve_those_waiting(pollers, selectables, before)
        if self._aside:
            before = self._serve_those_aside(selectables, before)
        self.ended = before

    def _took_long(self, began: float, now: float, lost: float, selectable: Any, fd: int, pollers: Pollers) -> None:
        """An event of one that need not wait; so much time had been lost before it began."""
        if now - began > SHORT_SECONDS:
            self._meter.took(now - began, selectable)
        if self._own_seconds(began, now, lost) <= DEAR_SECONDS:
            self._dear.pop(fd, None)
            return
        if self._meter.woke > self._forget_at:
            self._dear.clear()
            self._forget_at = self._meter.woke + _FORGIVEN_SECONDS
        if not isinstance(selectable, Served):
            return
        times = self._dear.get(fd, 0) + 1
        if times < PROOFS:
            self._dear[fd] = times
        else:
            self._dear.pop(fd, None)
            selectable.quick_events = 0
            pollers.let_wait(fd)

    def _own_seconds(self, began: float, now: float, lost: float) -> float:
        """How long the reactor has worked since then."""
        self._meter.lost(now)
        return now - began - (self._meter.lost_seconds - lost)

    def _serve_those_waiting(self, pollers: Pollers, selectables: dict[int, Any], before: float) -> float:
        """When it ended."""
        meter = self._meter
        ends, lost_at_first = max(meter.turn_ends, 2 * before - meter.woke), meter.lost_seconds
        while shown := pollers.poll_waiting(0, 1):
            lost = meter.lost_seconds
            fd, event = shown[0]
            selectable = selectables.get(fd)
            if selectable is None:
                continue
            if event & self._end and isinstance(selectable, Served):
                self._set_aside(selectable, fd, pollers)
            else:
                self._serve(selectable, fd, event)
            now = monotonic()
            seconds = now - before
            if seconds > SHORT_SECONDS:
                meter.took(seconds, selectable)
            if isinstance(selectable, Served):
                is_dear = seconds > DEAR_SECONDS and self._own_seconds(before, now, lost) > DEAR_SECONDS
                selectable.quick_events = quick_events = 0 if is_dear else selectable.quick_events + 1
                if quick_events >= PROOFS and selectables.get(fd) is selectable:
                    pollers.prefer(fd)
            before = now
            if now >= ends + meter.lost_seconds - lost_at_first:
                break
        return before

    def _set_aside(self, connection: Any, fd: int, pollers: Pollers) -> None:
        pollers.modify(fd, 0)
        self._aside.append((fd, connection))

    def _serve_those_aside(self, selectables: dict[int, Any], before: float) -> float:
        """When it ended."""
        aside = self._aside
        while aside:
            fd, connection = aside.popleft()
            if selectables.get(fd) is connection:
                self._serve(connection, fd, self._readable)
                if selectables.get(fd) is connection:  # it had sent something before its end
                    self._show_again(connection)
            before = monotonic()
            if before > self._meter.turn_ends:
                break
        return before

    def _serve(self, selectable: Any, fd: int, event: int) -> None:
        event &= ~self._end
        reading = event == self._readable
        if not (reading or event == self._writable) or not isinstance(selectable, Served):
            self._other(selectable, fd, event)
            return
        try:
            why = selectable.doRead() if reading else selectable.doWrite()
        except BaseException as failed:
            why = failed
            log.failure("A connection failed while it was read or written")
        if why is not None:
            self._disconnect(selectable, why, reading)
