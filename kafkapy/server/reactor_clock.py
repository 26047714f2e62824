"""`Clock` on the reactor and its thread pools (the job of Kafka's `Time` and `KafkaScheduler`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from twisted.python.threadable import isInIOThread
from twisted.python.threadpool import ThreadPool

from kafkapy.clients.completion import Completion
from kafkapy.common.clock import P, R
from kafkapy.common.time import SystemTime
from kafkapy.network.stall_meter import StallMeter

log = logging.getLogger("kafkapy.server.KafkaScheduler")


def run_in_pool(reactor: Any, pool: ThreadPool, function: Callable[[], R]) -> Completion[R]:
    """What the function returns or raises, on the reactor thread."""
    completion: Completion[R] = Completion()

    def done(success: bool, result: Any) -> None:
        if success:
            reactor.callFromThread(completion.set_result, result)
        else:
            reactor.callFromThread(completion.set_exception, result.value)

    pool.callInThreadWithCallback(done, function)
    return completion


class WorkerThreads:
    """Threads for one kind of work: while all of them are busy or wait, other kinds go on. They begin when there is work."""

    def __init__(self, reactor: Any, name: str, size: int) -> None:
        self._reactor = reactor
        self._pool = ThreadPool(0, size, name)

    def start(self) -> None:
        self._pool.start()

    def stop(self) -> None:
        self._pool.stop()

    def resize(self, size: int) -> None:
        self._pool.adjustPoolsize(0, size)

    def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Completion[R]:
        return run_in_pool(self._reactor, self._pool, partial(function, *args, **kwargs))


class RequestThreads(NamedTuple):
    """What requests do beside the reactor thread.

    They are stopped after the ZooKeeper client is closed, which wakes those that wait for it.
    """

    zookeeper: WorkerThreads
    records: WorkerThreads
    cold_reads: WorkerThreads

    @staticmethod
    def of(reactor: Any, num_io_threads: int, num_network_threads: int) -> RequestThreads:
        return RequestThreads(
            WorkerThreads(reactor, "requests", num_io_threads),
            WorkerThreads(reactor, "records", num_io_threads),
            WorkerThreads(reactor, "cold-reads", num_network_threads),
        )

    def start(self) -> None:
        for threads in (self.zookeeper, self.records, self.cold_reads):
            threads.start()

    def stop(self) -> None:
        for threads in (self.zookeeper, self.records, self.cold_reads):
            threads.stop()

    def resize(self, num_io_threads: int, num_network_threads: int) -> None:
        self.zookeeper.resize(num_io_threads)
        self.records.resize(num_io_threads)
        self.cold_reads.resize(num_network_threads)


class _Task:
    __slots__ = ("call", "cancelled")

    def __init__(self) -> None:
        self.call: Any = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.call is not None and self.call.active():
            self.call.cancel()


class ReactorClock(SystemTime):
    """Invariant: after `shutdown` no scheduled task starts any more; those that run in the pool are let finish."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._meter: StallMeter = getattr(reactor, "meter", None) or StallMeter()
        self._goes_on: Callable[[float], bool] = getattr(reactor, "goes_on", lambda _: False)
        self._stopped = False

    def later(self, delay_ms: float, function: Callable[[], object]) -> _Task:
        entry = _Task()
        entry.call = self._reactor.callLater(max(0.0, delay_ms / 1000), function)
        return entry

    def turn_is_over(self, late_seconds: float = 0.0) -> bool:
        now, meter = time.monotonic(), self._meter
        if now < meter.turn_ends + late_seconds or self._goes_on(late_seconds):
            return False
        meter.lost(now)
        return now >= meter.turn_ends + late_seconds

    def turn(self) -> Completion[None]:
        completion: Completion[None] = Completion()
        self._reactor.callLater(0, completion.set_result, None)
        return completion

    def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Completion[R]:
        return run_in_pool(self._reactor, self._reactor.getThreadPool(), partial(function, *args, **kwargs))

    def from_thread(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self._reactor.callFromThread(function, *args, **kwargs)

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
                self.in_thread(task).add_callback(done)
                return
            try:
                task()
            except Exception as error:
                failed(error)
            again()

        run.__qualname__ = name  # by which the stall meter tells of it

        def done(work: Completion[object]) -> None:
            if (error := work.exception()) is not None:
                failed(error)
            again()

        def failed(error: BaseException) -> None:
            log.error("Uncaught exception in scheduled task '%s'", name, exc_info=error)

        def again() -> None:
            if period_ms > 0 and not entry.cancelled and not self._stopped:
                later(period_ms)

        # Logs and coordinators schedule from other threads as well (cleaner, recovery): only the reactor may touch its timers.
        if isInIOThread():
            later(delay_ms)
        else:
            self._reactor.callFromThread(later, delay_ms)
        return entry
