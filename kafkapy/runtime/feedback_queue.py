"""The order in which a turn of the reactor serves what is ready: a two-level feedback queue. Machine code where there is any.

A small request shall not wait for large ones, but what a connection will ask for is not known before it is served. So each is
judged by what it took before, as a feedback queue does with processes (Corbató, Merwin-Daggett, Daley: An Experimental
Time-Sharing System, 1962). Two levels suffice: requests differ by a factor of a thousand, and hardly in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from twisted.logger import Logger

from kafkapy.runtime.pollers import Pollers
from kafkapy.runtime.served import Served
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.runtime.time_slice import TimeSlice

EVENTS_PER_TURN: Final = 1024

SLOW_SECONDS: Final = 0.0005
"""An event that takes longer is slow: ten times a small Produce. Time without a core does not count."""

IN_A_ROW: Final = 4
"""Slow events in a row that demote a connection; quick ones that promote it."""

_FORGET_SECONDS: Final = 0.1
"""Slow events of connections on the first level are counted for so long: rare ones do not demote."""

log = Logger("kafkapy.network.BrokerReactor")


class FeedbackQueue:
    """Serves events of connections and suspended requests, by two levels.

    - On the first level are the connections whose events are quick. All of them that are ready are served in each turn.
    - On the second level are connections that are new or whose last events were slow (`SLOW_SECONDS`), and requests that gave
      way at a checkpoint (`suspended`). After the first level they are served one after the other, connections and requests in
      alternate turns if there are both, until the time slice is over; at least one, and connections for as long as the first
      level took, so neither level starves.

    `IN_A_ROW` slow events demote a connection, and as many quick ones promote it. The requests of one connection are always
    served in their order. Ten thousand connections may end at once: when the slice is over, those that end are set aside, and
    are served after all others, at least one in each turn.

    Descriptors that are not `Served` are served by `other`, as Twisted does.

    Invariants: `ended` is when the last item of the present turn had ended, all of which the meter is told of. `_slow` counts
    slow events in a row of connections on the first level (until `_forget_at`). Of connections in `_ending` the pollers show
    nothing, unless something else has changed what they show.
    """

    def __init__(
        self,
        time_slice: TimeSlice,
        pollers: Pollers,
        selectables: dict[int, Any],
        other: Callable[[Any, int, int], object],
        disconnect: Callable[[Any, Any, bool], object],
        show_again: Callable[[Any], object],
        resume: Callable[[Any], object],
    ) -> None:
        """`selectables`: what is watched, by descriptor. `other` serves a descriptor and its events. `disconnect` is told of a
        connection, why it ends, and whether it was being read; `show_again` has the pollers show a descriptor as before;
        `resume` calls one of `suspended`."""
        self._slice: Final = time_slice
        self._meter: Final[StallMeter] = time_slice.meter
        self._pollers: Final = pollers
        self._selectables: Final = selectables
        self._readable: Final[int] = pollers.readable
        self._writable: Final[int] = pollers.writable
        self._end: Final[int] = pollers.end
        self._other: Final = other
        self._disconnect: Final = disconnect
        self._show_again: Final = show_again
        self._resume: Final = resume
        self.suspended: Final[deque[Any]] = deque()
        """Requests that gave way, in their order."""
        self._now: Final = time_slice.now
        self.ended = self._now()
        self._slow: dict[int, int] = {}
        self._forget_at = 0.0
        self._ending: deque[tuple[int, Any]] = deque()
        self._connections_next = False
        """If both are on the second level: is it the turn of connections?"""

    def has_work(self) -> bool:
        """Is there anything that would be served if the present work gave way?"""
        return bool(self.suspended) or bool(self._pollers.poll(0, 1))

    def take_turn(self, timeout: float) -> None:
        """Wait for events for at most so many seconds (without end if negative), and serve what there is."""
        if not self.suspended:
            self._serve_events(timeout, True)
            return
        self._connections_next = connections_next = not self._connections_next
        if not self._serve_events(0.0, connections_next):
            self._resume_suspended()
            self.ended = self._now()

    def _serve_events(self, timeout: float, second_too: bool) -> bool:
        """`second_too`: connections of the second level, too. Were there any?"""
        meter, before, pollers, selectables = self._meter, self.ended, self._pollers, self._selectables
        if before - meter.woke > SHORT_SECONDS:
            meter.turn_ended(before)
        meter.request = meter.body = None
        at_most = min(len(selectables) + 1, EVENTS_PER_TURN)
        events: list[tuple[int, int]] = pollers.poll(0.0 if self._ending else timeout, at_most)
        woke = self._now()
        meter.idle_seconds += woke - before
        meter.woke = before = woke
        meter.turns += 1
        self._slice.begin(woke)
        if woke > meter.cpu_due:
            meter.read_cpu()
        second_is_ready = False
        for fd, event in events:
            selectable = selectables.get(fd)
            if selectable is None:  # closed by the handler of an earlier event, or no connection
                second_is_ready = second_is_ready or fd == pollers.fileno
                continue
            if event & self._end and before > self._slice.ends and isinstance(selectable, Served):
                self._set_aside(selectable, fd)
                continue
            lost = meter.lost_seconds
            self._serve(selectable, fd, event)
            now = self._now()
            if now - before > SLOW_SECONDS:
                self._took_long(before, now, lost, selectable, fd)
            elif self._slow:
                self._slow.pop(fd, None)
            before = now
        if second_is_ready and second_too:
            before = self._serve_second_level(before)
        if self._ending:
            before = self._serve_ending(before)
        self.ended = before
        return second_is_ready and second_too

    # --- the first level

    def _took_long(self, began: float, now: float, lost: float, selectable: Any, fd: int) -> None:
        """An event of the first level; `lost`: seconds without a core that were known of when it began."""
        if now - began > SHORT_SECONDS:
            self._meter.took(now - began, selectable)
        if self._own_seconds(began, now, lost) <= SLOW_SECONDS:
            self._slow.pop(fd, None)
            return
        if self._meter.woke > self._forget_at:
            self._slow.clear()
            self._forget_at = self._meter.woke + _FORGET_SECONDS
        if not isinstance(selectable, Served):
            return
        times = self._slow.get(fd, 0) + 1
        if times < IN_A_ROW:
            self._slow[fd] = times
        else:
            self._slow.pop(fd, None)
            selectable.quick_events = 0
            self._pollers.demote(fd)

    def _own_seconds(self, began: float, now: float, lost: float) -> float:
        """How long the reactor has worked since then."""
        self._slice.without_core(now)
        return now - began - (self._meter.lost_seconds - lost)

    # --- the second level

    def _serve_second_level(self, before: float) -> float:
        """Connections; returns when the last one had been served."""
        meter, pollers, selectables = self._meter, self._pollers, self._selectables
        ends, lost_at_first = max(self._slice.ends, 2 * before - meter.woke), meter.lost_seconds
        while shown := pollers.poll_second(0, 1):
            lost = meter.lost_seconds
            fd, event = shown[0]
            selectable = selectables.get(fd)
            if selectable is None:
                continue
            if event & self._end and isinstance(selectable, Served):
                self._set_aside(selectable, fd)
            else:
                self._serve(selectable, fd, event)
            now = self._now()
            seconds = now - before
            if seconds > SHORT_SECONDS:
                meter.took(seconds, selectable)
            if isinstance(selectable, Served):
                is_slow = seconds > SLOW_SECONDS and self._own_seconds(before, now, lost) > SLOW_SECONDS
                selectable.quick_events = quick_events = 0 if is_slow else selectable.quick_events + 1
                if quick_events >= IN_A_ROW and selectables.get(fd) is selectable:
                    pollers.promote(fd)
            before = now
            if now >= ends + meter.lost_seconds - lost_at_first:
                break
        return before

    def _resume_suspended(self) -> None:
        """For a time slice together, and at least one; those that give way again come last."""
        suspended, time_slice = self.suspended, self._slice
        time_slice.begin(self._now())
        while suspended:
            if self._resume(suspended.popleft()) and self._now() >= time_slice.ends:
                return

    # --- connections that end

    def _set_aside(self, connection: Any, fd: int) -> None:
        self._pollers.modify(fd, 0)
        self._ending.append((fd, connection))

    def _serve_ending(self, before: float) -> float:
        """Returns when the last one had been served."""
        ending, selectables = self._ending, self._selectables
        while ending:
            fd, connection = ending.popleft()
            if selectables.get(fd) is connection:
                self._serve(connection, fd, self._readable)
                if selectables.get(fd) is connection:  # it had sent something before its end
                    self._show_again(connection)
            before = self._now()
            if before > self._slice.ends:
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
