"""A two-level feedback queue: the order in which the reactor serves ready connections. Compiled where possible.

Small requests should not wait for large ones, but the size of a request is not known before it is served. So each
connection is classified by the time that its last events took, as a feedback scheduler classifies processes (Corbató,
Merwin-Daggett, Daley: An Experimental Time-Sharing System, 1962). Two levels suffice: requests are either small or a
thousand times larger.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

from twisted.logger import Logger

from kafkapy.runtime.direct_descriptor import DirectDescriptor
from kafkapy.runtime.pollers import Pollers
from kafkapy.runtime.stall_meter import SHORT_SECONDS, StallMeter
from kafkapy.runtime.time_slice import TimeSlice

EVENTS_PER_TURN: Final = 1024

SLOW_EVENT_SECONDS: Final = 0.0005
"""An event that takes longer than this CPU time is slow: ten times a small Produce."""

EVENTS_TO_RECLASSIFY: Final = 4
"""Slow events in a row that demote a connection; quick ones that promote it."""

_SLOW_STREAK_TTL_SECONDS: Final = 0.1
"""How long a streak of slow events on the first level is remembered: occasional slow events do not demote."""

log = Logger("kafkapy.network.BrokerReactor")


class FeedbackQueue:
    """Serves events of connections, and resumes suspended requests, on two levels.

    - First level: connections whose events are quick. All that are ready are served in each turn.
    - Second level: connections that are new or whose last events were slow (`SLOW_EVENT_SECONDS`), and requests that yielded
      at a checkpoint (`suspended`). They are served after the first level, connections and requests in alternate turns
      if there are both, until the time slice ends; at least one, and connections for at least as long as the first
      level took, so that neither level starves.

    `EVENTS_TO_RECLASSIFY` slow events in a row demote a connection, and as many quick ones promote it. The requests of one
    connection are always served in order. Ten thousand connections may close at once: when the slice is over, the
    remaining ones are deferred (`_closing`) and closed after all other work, at least one in each turn, and one for each
    connection that is opened (`close_one`): connections that come and go do not pile up.

    Descriptors that are not `DirectDescriptor` are passed to `serve_other`, which serves them as Twisted does.

    Invariants: `ended` is when the last item of the current turn ended; the meter has been told of all items until
    then. `_slow` counts slow events in a row of connections on the first level (until `_forget_at`). Connections in
    `_closing` (by descriptor, in order) are watched, and masked in the pollers unless something else has changed their
    mask.
    """

    def __init__(
        self,
        time_slice: TimeSlice,
        pollers: Pollers,
        selectables: dict[int, Any],
        serve_other: Callable[[Any, int, int], object],
        disconnect: Callable[[Any, Any, bool], object],
        restore_mask: Callable[[Any], object],
        resume: Callable[[Any], object],
    ) -> None:
        """Make a queue for a reactor.

        Args:
            selectables: The watched objects, by descriptor.
            serve_other: Serves a descriptor that is not `DirectDescriptor`: (selectable, descriptor, events).
            disconnect: Called with a connection, the reason why it closes, and whether it was being read.
            restore_mask: Restores a descriptor's mask in the pollers.
            resume: Resumes one of `suspended`.
        """
        self._slice: Final = time_slice
        self._meter: Final[StallMeter] = time_slice.meter
        self._pollers: Final = pollers
        self._selectables: Final = selectables
        self._readable: Final[int] = pollers.readable
        self._writable: Final[int] = pollers.writable
        self._end: Final[int] = pollers.end
        self._serve_other: Final = serve_other
        self._disconnect: Final = disconnect
        self._restore_mask: Final = restore_mask
        self._resume: Final = resume
        self.suspended: Final[deque[Any]] = deque()
        """Requests that yielded, in order."""
        self._now: Final = time_slice.now
        self.ended = self._now()
        self._slow: dict[int, int] = {}
        self._forget_at = 0.0
        self._closing: OrderedDict[int, Any] = OrderedDict()
        self._connections_next = False
        """If both kinds are waiting on the second level: whether connections are served next."""

    def has_work(self) -> bool:
        """Return whether anything would be served if the current work yielded."""
        return bool(self.suspended) or bool(self._pollers.poll(0, 1))

    def run_once(self, timeout: float) -> None:
        """Wait up to `timeout` seconds for events (without limit if negative), and serve them."""
        if not self.suspended:
            self._serve_events(timeout, True)
            return
        self._connections_next = connections_next = not self._connections_next
        if not self._serve_events(0.0, connections_next):
            self._resume_suspended()
            self.ended = self._now()

    def _serve_events(self, timeout: float, second_too: bool) -> bool:
        """Serve the first level and, with `second_too`, connections of the second.

        Returns whether there were any of the second."""
        meter, before, pollers, selectables = self._meter, self.ended, self._pollers, self._selectables
        if before - meter.woke > SHORT_SECONDS:
            meter.end_turn(before)
        meter.request = meter.body = None
        at_most = min(len(selectables) + 1, EVENTS_PER_TURN)
        events: list[tuple[int, int]] = pollers.poll(0.0 if self._closing else timeout, at_most)
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
            if selectable is None:  # closed by the handler of an earlier event, or the second level's own descriptor
                second_is_ready = second_is_ready or fd == pollers.fileno
                continue
            if event & self._end and before > self._slice.ends and isinstance(selectable, DirectDescriptor):
                self._defer_close(selectable, fd)
                continue
            queued_before = meter.run_queue_seconds
            self._serve(selectable, fd, event)
            now = self._now()
            if now - before > SLOW_EVENT_SECONDS:
                self._classify_slow(before, now, queued_before, selectable, fd)
            elif self._slow:
                self._slow.pop(fd, None)
            before = now
        if second_is_ready and second_too:
            before = self._serve_second_level(before)
        if self._closing:
            before = self._close_deferred(before)
        self.ended = before
        return second_is_ready and second_too

    # --- the first level

    def _classify_slow(self, began: float, now: float, queued_before: float, selectable: Any, fd: int) -> None:
        """Classify an event that took long. `queued_before`: `StallMeter.run_queue_seconds` when it began."""
        if now - began > SHORT_SECONDS:
            self._meter.record_item(now - began, selectable)
        if self._own_seconds(began, now, queued_before) <= SLOW_EVENT_SECONDS:
            self._slow.pop(fd, None)
            return
        if self._meter.woke > self._forget_at:
            self._slow.clear()
            self._forget_at = self._meter.woke + _SLOW_STREAK_TTL_SECONDS
        if not isinstance(selectable, DirectDescriptor):
            return
        times = self._slow.get(fd, 0) + 1
        if times < EVENTS_TO_RECLASSIFY:
            self._slow[fd] = times
        else:
            self._slow.pop(fd, None)
            selectable.quick_events = 0
            self._pollers.demote(fd)

    def _own_seconds(self, began: float, now: float, queued_before: float) -> float:
        """Return the seconds since `began`, without time in the kernel's run queue."""
        self._slice.extend_by_run_queue_time(now)
        return now - began - (self._meter.run_queue_seconds - queued_before)

    # --- the second level

    def _serve_second_level(self, before: float) -> float:
        """Serve connections of the second level; returns when the last one had been served."""
        meter, pollers, selectables = self._meter, self._pollers, self._selectables
        ends, queued_at_start = max(self._slice.ends, 2 * before - meter.woke), meter.run_queue_seconds
        while shown := pollers.poll_second(0, 1):
            queued_before = meter.run_queue_seconds
            fd, event = shown[0]
            selectable = selectables.get(fd)
            if selectable is None:
                continue
            if event & self._end and isinstance(selectable, DirectDescriptor):
                self._defer_close(selectable, fd)
            else:
                self._serve(selectable, fd, event)
            now = self._now()
            seconds = now - before
            if seconds > SHORT_SECONDS:
                meter.record_item(seconds, selectable)
            if isinstance(selectable, DirectDescriptor):
                is_slow = (
                    seconds > SLOW_EVENT_SECONDS and self._own_seconds(before, now, queued_before) > SLOW_EVENT_SECONDS
                )
                selectable.quick_events = quick_events = 0 if is_slow else selectable.quick_events + 1
                if quick_events >= EVENTS_TO_RECLASSIFY and selectables.get(fd) is selectable:
                    pollers.promote(fd)
            before = now
            if now >= ends + meter.run_queue_seconds - queued_at_start:
                break
        return before

    def _resume_suspended(self) -> None:
        """Resume requests for one time slice, at least one. Those that yield again go to the end."""
        suspended, time_slice = self.suspended, self._slice
        time_slice.begin(self._now())
        while suspended:
            if self._resume(suspended.popleft()) and self._now() >= time_slice.ends:
                return

    # --- connections that close

    def close_one(self) -> None:
        """Close the connection that was deferred first, if there is any. Work that opens a connection calls this."""
        if not self._closing:
            return
        fd, connection = self._closing.popitem(last=False)
        self._serve(connection, fd, self._readable)
        if self._selectables.get(fd) is connection:  # it had sent data before it closed
            self._restore_mask(connection)

    def unwatched(self, fd: int) -> None:
        """Note that the descriptor is not watched any more."""
        self._closing.pop(fd, None)

    def _defer_close(self, connection: Any, fd: int) -> None:
        self._pollers.modify(fd, 0)
        self._closing[fd] = connection

    def _close_deferred(self, before: float) -> float:
        """Close deferred connections; returns when the last one had been served."""
        while self._closing:
            self.close_one()
            before = self._now()
            if before > self._slice.ends:
                break
        return before

    def _serve(self, selectable: Any, fd: int, event: int) -> None:
        event &= ~self._end
        reading = event == self._readable
        if not (reading or event == self._writable) or not isinstance(selectable, DirectDescriptor):
            self._serve_other(selectable, fd, event)
            return
        try:
            why = selectable.doRead() if reading else selectable.doWrite()
        except BaseException as failed:
            why = failed
            log.failure("A connection failed while it was read or written")
        if why is not None:
            self._disconnect(selectable, why, reading)
