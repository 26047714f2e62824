"""`Scheduler` on the reactor and its thread pool (the job of Kafka's `KafkaScheduler`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from twisted.python.threadable import isInIOThread

log = logging.getLogger("kafkapy.server.KafkaScheduler")


class _Task:
    __slots__ = ("call", "cancelled")

    def __init__(self) -> None:
        self.call: Any = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.call is not None and self.call.active():
            self.call.cancel()


class ReactorScheduler:
    """Invariant: after `shutdown` no task starts any more; those that run in the pool are let finish."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._stopped = False

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int) -> _Task:
        return self._start(name, task, delay_ms, -1, False)

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int, period_ms: int) -> _Task:
        return self._start(name, task, delay_ms, period_ms, False)

    def schedule_in_thread(
        self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1
    ) -> _Task:
        return self._start(name, task, delay_ms, period_ms, True)

    def shutdown(self) -> None:
        self._stopped = True

    def _start(self, name: str, task: Callable[[], object], delay_ms: int, period_ms: int, in_thread: bool) -> _Task:
        entry = _Task()

        def later(after_ms: int) -> None:
            entry.call = self._reactor.callLater(max(0, after_ms) / 1000, run)

        def run() -> None:
            if entry.cancelled or self._stopped:
                return
            if in_thread:
                done = deferToThreadPool(self._reactor, self._reactor.getThreadPool(), task)
                done.addErrback(failed)
                done.addCallback(lambda _: again())
                return
            try:
                task()
            except Exception:
                failed(Failure())
            again()

        def failed(failure: Failure) -> None:
            log.error("Uncaught exception in scheduled task '%s'", name, exc_info=failure.value)

        def again() -> None:
            if period_ms >= 0 and not entry.cancelled and not self._stopped:
                later(period_ms)

        # Logs and coordinators schedule from other threads as well (cleaner, recovery): only the reactor may touch its timers.
        if isInIOThread():
            later(delay_ms)
        else:
            self._reactor.callFromThread(later, delay_ms)
        return entry
