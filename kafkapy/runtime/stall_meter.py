"""Measures each turn of the reactor: a histogram by kind of work, and a log line for each stall.

A turn is all work between two waits for events; every client waits for its end. It consists of items: an event of a
connection, a timer, a call of another thread.
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
"""Shorter items and turns are not distinguished."""
STALL_SECONDS = 0.1
_DESCRIBED_SECONDS = 0.02
_CPU_READ_SECONDS = 0.005
"""CPU times are read at most this often, because reading them is a system call.

The CPU time of a turn is exact to within this."""

BOUNDS = (SHORT_SECONDS, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
SHORT = "short"
MANY = "many short items"
GARBAGE = "garbage collection"


class TurnHistogram:
    """A histogram of turns.

    `counts[i]` of them took at most `BOUNDS[i]` seconds and more than the bound before; the last count has no upper
    bound.
    """

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
        """The connection that sent it."""
        ...

    @property
    def kind(self) -> str:
        """The kind that turns are counted under, for example `Fetch`."""
        ...

    def description(self, body: Any) -> str:
        """Describe the request for the log. `body`: its content, if that is stored elsewhere."""
        ...


class StallMeter:
    """Measures the reactor, which reports its times here. Code that works for a request sets `request`.

    Invariant: `_longest`, `_kind` and `_description` describe the longest item of the current turn, if it was not
    short. `_long` has the turns that were not short, by the kind of their longest item. `request` and `body` are of the
    current turn. `_asked` is when `charge_run_queue_time` was last called; `_idle_then`, `_cpu_then` and `_queued_then`
    are the counters at that moment, so that no time is counted twice.
    """

    def __init__(
        self,
        now: Callable[[], float] = monotonic,
        cpu: Callable[[], float] = thread_time,
        queued: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`cpu`: CPU seconds of the reactor's thread. `queued`: its seconds in the kernel's run queue."""
        self._now = now
        self._cpu = cpu
        self._queued = queued
        self._began = self.woke = now()
        """When the current turn began."""
        self.turns = 0
        self.idle_seconds = 0.0
        """Seconds spent waiting for events."""
        self.run_queue_seconds = 0.0
        """Seconds in the kernel's run queue while there was work, as far as `charge_run_queue_time` has counted them."""
        self._asked = self._began
        self._idle_then = self._cpu_then = self._queued_then = 0.0
        self.request: MeteredRequest | None = None
        """The request of the current turn that was served last, and its body."""
        self.body: Any = None
        self.cpu_due = 0.0
        """When to read the CPU time again: the `woke` of a turn after it."""
        self._cpu_before = 0.0
        self._longest = 0.0
        self._kind = MANY
        self._description = "many short items"
        self._collecting: list[float] = []
        self._collection_began = 0.0
        self._long: dict[str, TurnHistogram] = {}

    def start(self) -> None:
        """Start measuring, when the reactor starts."""
        self._began = self.woke = self._now()
        self.read_cpu()

    def read_cpu(self) -> None:
        """Read the CPU time at the start of a turn."""
        self._cpu_before = cpu = self._cpu()
        self.cpu_due = self.woke + _CPU_READ_SECONDS
        self._remember(self.woke, cpu, self._queued())

    def charge_run_queue_time(self, now: float) -> float:
        """Count the time in the kernel's run queue since the last call, and return it in seconds.

        On a busy machine most of what seems slow has only waited for a core. Finding out takes two system calls, so
        callers do it only after a time limit has passed. The kernel reports how long the thread was in the run queue,
        but not when. What it waited there before the turn began counts as waiting for events.
        """
        cpu, queued = self._cpu(), self._queued()
        passed = now - self._asked - (self.idle_seconds - self._idle_then)
        seconds = max(0.0, min(queued - self._queued_then, passed - (cpu - self._cpu_then), now - self.woke))
        self._remember(now, cpu, queued)
        self.run_queue_seconds += seconds
        return seconds

    def _remember(self, now: float, cpu: float, queued: float) -> None:
        self._asked, self._idle_then, self._cpu_then, self._queued_then = now, self.idle_seconds, cpu, queued

    def record_item(self, seconds: float, item: Any) -> None:
        """Record an item that was not short: the object that was served, or the function that was called."""
        if seconds <= self._longest:
            return
        self._longest = seconds
        worker = getattr(item, "protocol", item)
        request = self.request
        if request is not None and not callable(item) and request.channel is not worker:
            request = None  # it belongs to an earlier item
        self._kind = name_of(worker) if request is None else request.kind
        if seconds > _DESCRIBED_SECONDS:
            self._description = self._kind if request is None else request.description(self.body)

    def on_gc_event(self, phase: str, _: object) -> None:
        """Record a garbage collection; a function for `gc.callbacks`. Runs on any thread, while all others stand still."""
        if phase == "start":
            self._collection_began = self._now()
        elif (seconds := self._now() - self._collection_began) > SHORT_SECONDS:
            self._collecting.append(seconds)

    def end_turn(self, ended: float) -> None:
        """Record the end of a turn that was not short."""
        seconds, collecting = ended - self.woke, sum(self._collecting)
        kind = GARBAGE if collecting > seconds / 2 else self._kind
        self._long.setdefault(kind, TurnHistogram()).add(seconds)
        if seconds > STALL_SECONDS:
            log.warning(
                "A turn of the reactor took %d ms (%d ms CPU, %d ms garbage collection), %d ms of them for %s",
                seconds * 1000, min(seconds, self._cpu() - self._cpu_before) * 1000, collecting * 1000,
                self._longest * 1000, self._description,
            )  # fmt: skip
        self._longest, self._kind, self._description = 0.0, MANY, "many short items"
        self._collecting.clear()

    def by_kind(self) -> Iterator[tuple[str, TurnHistogram]]:
        """Return all turns so far, by kind. Of `SHORT` turns only the number and the total time are known."""
        long = dict(self._long)
        counts = [self.turns - sum(sum(turns.counts) for turns in long.values()), *[0] * len(BOUNDS)]
        busy = self._now() - self._began - self.idle_seconds
        yield SHORT, TurnHistogram(counts, busy - sum(turns.seconds for turns in long.values()))
        yield from long.items()


def name_of(worker: Any) -> str:
    """Return the name of a task or function, or else the class of the object."""
    while isinstance(worker, partial):
        worker = worker.func
    name = getattr(worker, "name", None) or getattr(worker, "__qualname__", None)
    return str(name or type(worker).__qualname__)
