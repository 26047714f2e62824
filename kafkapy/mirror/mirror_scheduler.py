"""Runs a connector's administrative steps, one after the other, on one thread (Kafka's `mirror.Scheduler`)."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

log = logging.getLogger("kafkapy.mirror")


class ScheduledStep(NamedTuple):
    """A scheduled step; steps are ordered by time, then by number.

    Attributes:
        due: Time to run, in s of a monotonic clock.
        number: Number in the order of scheduling.
        interval: Time until the next run, in s; None: it runs once.
        run: The function to call.
        description: For the log.
        done: Set when it has run.
    """

    due: float
    number: int
    interval: float | None
    run: Callable[[], None]
    description: str
    done: threading.Event


class MirrorScheduler:
    """Runs steps one after the other; a failed step is logged, and the others still run.

    Invariant: `_steps` is a heap, changed under `_changed` only; steps run on the scheduler's thread, one at a time.
    """

    def __init__(self, name: str, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            name: Name in logs, and of the thread.
            timeout_s: How long `execute` and `close` wait, in s.
            clock: Monotonic, in s.
        """
        self._name = name
        self._timeout_s = timeout_s
        self._clock = clock
        self._steps: list[ScheduledStep] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"mirror-scheduler-{name}", daemon=True)
        self._thread.start()

    def execute(self, run: Callable[[], None], description: str) -> bool:
        """Run a step and wait for its end; return whether it ended in time."""
        if self._schedule(0.0, None, run, description).wait(self._timeout_s):
            return True
        log.error("%s: no end within %s s of: %s", self._name, self._timeout_s, description)
        return False

    def execute_async(self, run: Callable[[], None], description: str) -> None:
        """Run a step as soon as the others before it have ended."""
        self._schedule(0.0, None, run, description)

    def repeat(
        self, run: Callable[[], None], interval_s: float | None, description: str, is_delayed: bool = False
    ) -> None:
        """Run a step periodically.

        Args:
            run: The function to call.
            interval_s: Time from start to start, in s; None: it never runs.
            description: For the log.
            is_delayed: True: first after one interval; False (default): at once.
        """
        if interval_s is not None:
            self._schedule(interval_s if is_delayed else 0.0, interval_s, run, description)

    def close(self) -> None:
        """Wait for the running step's end, and drop all others."""
        with self._changed:
            self._is_closed = True
            dropped, self._steps = self._steps, []
            self._changed.notify_all()
        for step in dropped:
            step.done.set()
        if self._thread is threading.current_thread():
            return
        self._thread.join(self._timeout_s)
        if self._thread.is_alive():
            log.error("%s does not end within %s s", self._name, self._timeout_s)

    def _schedule(
        self, delay: float, interval: float | None, run: Callable[[], None], description: str
    ) -> threading.Event:
        done = threading.Event()
        with self._changed:
            if self._is_closed:
                done.set()
                return done
            step = ScheduledStep(self._clock() + delay, next(self._numbers), interval, run, description, done)
            heapq.heappush(self._steps, step)
            self._changed.notify_all()
        return done

    def _run(self) -> None:
        while (step := self._next_step()) is not None:
            try:
                step.run()
            except Exception:  # the steps after it must run
                log.exception("%s: failed: %s", self._name, step.description)
            finally:
                step.done.set()

    def _next_step(self) -> ScheduledStep | None:
        with self._changed:
            while not self._is_closed:
                wait = self._steps[0].due - self._clock() if self._steps else None
                if wait is not None and wait <= 0:
                    step = heapq.heappop(self._steps)
                    if step.interval is not None:
                        # Java's fixed rate, but runs missed during a long step are not made up for.
                        due = max(step.due + step.interval, self._clock())
                        heapq.heappush(self._steps, step._replace(due=due, number=next(self._numbers)))
                    return step
                self._changed.wait(wait)
            return None
