"""How long each turn of the reactor takes and for what: a histogram, and a line in the log for each that stalls.

A turn is what lies between two waits for events: all clients wait for its end. It consists of items: an event of a connection, a
timer, a call of another thread.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic, thread_time
from typing import Any, Final, Protocol

log = logging.getLogger("kafkapy.network.Reactor")

SHORT_SECONDS: Final = 0.001
"""Shorter items and turns are not told apart."""
STALL_SECONDS = 0.1
_DESCRIBED_SECONDS = 0.02
_CPU_READ_SECONDS = 0.005
"""To ask the kernel for times takes a moment, so it is asked once in so long; what a turn has used is known to within that."""

BOUNDS = (SHORT_SECONDS, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SHORT = "short"
MANY = "many short items"
GARBAGE = "garbage collection"


class Turns:
    """Turns of one kind of work: `counts[i]` of them took at most `BOUNDS[i]` seconds, and more than the bound before that;
    the last of the counts has no bound."""

    def __init__(self, counts: list[int] | None = None, seconds: float = 0.0) -> None:
        self.counts = counts or [0] * (len(BOUNDS) + 1)
        self.seconds = seconds

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


class MeteredRequest(Protocol):
    """A request, as the meter sees it."""

    @property
    def channel(self) -> object:
        """The connection that it came by."""
        ...

    @property
    def kind(self) -> str:
        """What turns are counted under, for example `Fetch`."""
        ...

    def description(self, body: Any) -> str:
        """For the log. `body`: what the request asks for, if that was kept elsewhere."""
        ...


class StallMeter:
    """Belongs to the reactor, which tells it the times. Whoever works for a request notes that in `request`.

    Invariant: `_longest`, `_kind` and `_description` are of the longest item of the present turn, if that was not short; `_long`
    has the turns that were not short, by the kind of their longest item. `request` and `body` are of the present turn, so they
    keep no memory. When it was last asked what was `lost`, it was `_asked` by the clock; `_idle_then`, `_cpu_then` and
    `_queued_then` are what was known at that moment, so that no time is counted twice.
    """

    def __init__(
        self,
        now: Callable[[], float] = monotonic,
        cpu: Callable[[], float] = thread_time,
        queued: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`cpu`: how long the reactor's thread has had a core; `queued`: how long it was ready to run and had none."""
        self._now = now
        self._cpu = cpu
        self._queued = queued
        self._began = self.woke = now()
        """`woke`: when the present turn began."""
        self.turns = 0
        self.idle_seconds = 0.0
        """How long the reactor has waited for something to do."""
        self.lost_seconds = 0.0
        """How long it had something to do and no core, as far as it was asked (`lost`)."""
        self._asked = self._began
        self._idle_then = self._cpu_then = self._queued_then = 0.0
        self.request: MeteredRequest | None = None
        """The last one that was worked for in this turn, and its body; of several in one item, the last that came."""
        self.body: Any = None
        self.cpu_due = 0.0
        """`woke` of the turn that asks for the CPU time again."""
        self._cpu_before = 0.0
        self._longest = 0.0
        self._kind = MANY
        self._description = "many short items"
        self._collecting: list[float] = []
        self._collection_began = 0.0
        self._long: dict[str, Turns] = {}

    def start(self) -> None:
        """The reactor begins."""
        self._began = self.woke = self._now()
        self.read_cpu()

    def read_cpu(self) -> None:
        """A turn begins."""
        self._cpu_before = cpu = self._cpu()
        self.cpu_due = self.woke + _CPU_READ_SECONDS
        self._remember(self.woke, cpu, self._queued())

    def lost(self, now: float) -> float:
        """For how many seconds, since this was asked last, did other threads have the cores while there was something to do?

        Where many threads want the cores, most of what seems to take long does not. To find out takes two system calls, so it is
        asked only where the clock says "too long". The kernel says how long a thread was in the run queue, but not when. What it
        waited there before the turn began is part of the wait for events; all else shows as time that has passed without CPU.
        """
        cpu, queued = self._cpu(), self._queued()
        passed = now - self._asked - (self.idle_seconds - self._idle_then)
        lost = max(0.0, min(queued - self._queued_then, passed - (cpu - self._cpu_then), now - self.woke))
        self._remember(now, cpu, queued)
        self.lost_seconds += lost
        return lost

    def _remember(self, now: float, cpu: float, queued: float) -> None:
        self._asked, self._idle_then, self._cpu_then, self._queued_then = now, self.idle_seconds, cpu, queued

    def took(self, seconds: float, item: Any) -> None:
        """An item that was not short: what the reactor has served, or the function it has called."""
        if seconds <= self._longest:
            return
        self._longest = seconds
        worker = getattr(item, "protocol", item)
        request = self.request
        if request is not None and not callable(item) and request.channel is not worker:
            request = None  # of an earlier item
        self._kind = name_of(worker) if request is None else request.kind
        if seconds > _DESCRIBED_SECONDS:
            self._description = self._kind if request is None else request.description(self.body)

    def collected(self, phase: str, _: object) -> None:
        """For `gc.callbacks`. Whatever thread it is on: nothing else runs meanwhile."""
        if phase == "start":
            self._collection_began = self._now()
        elif (seconds := self._now() - self._collection_began) > SHORT_SECONDS:
            self._collecting.append(seconds)

    def turn_ended(self, ended: float) -> None:
        """A turn that was not short has ended."""
        seconds, collecting = ended - self.woke, sum(self._collecting)
        kind = GARBAGE if collecting > seconds / 2 else self._kind
        self._long.setdefault(kind, Turns()).add(seconds)
        if seconds > STALL_SECONDS:
            log.warning(
                "A turn of the reactor took %d ms (%d ms CPU, %d ms garbage collection), %d ms of them for %s",
                seconds * 1000, min(seconds, self._cpu() - self._cpu_before) * 1000, collecting * 1000,
                self._longest * 1000, self._description,
            )  # fmt: skip
        self._longest, self._kind, self._description = 0.0, MANY, "many short items"
        self._collecting.clear()

    def by_kind(self) -> Iterator[tuple[str, Turns]]:
        """All turns so far; `SHORT` are those of which nothing is known but their number."""
        long = dict(self._long)
        counts = [self.turns - sum(sum(turns.counts) for turns in long.values()), *[0] * len(BOUNDS)]
        busy = self._now() - self._began - self.idle_seconds
        yield SHORT, Turns(counts, busy - sum(turns.seconds for turns in long.values()))
        yield from long.items()


def name_of(worker: Any) -> str:
    """The name of a task, a function, or the class of any other object that has used the time."""
    while isinstance(worker, partial):
        worker = worker.func
    name = getattr(worker, "name", None) or getattr(worker, "__qualname__", None)
    return str(name or type(worker).__qualname__)
