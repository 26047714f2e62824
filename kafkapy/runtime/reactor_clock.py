"""`Clock` on the reactor and its thread pools (Kafka's `Time` and `KafkaScheduler`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.python.threadable import isInIOThread
from twisted.python.threadpool import ThreadPool

from kafkapy.common.time import SystemTime
from kafkapy.runtime.clock import P, R
from kafkapy.runtime.completion import Completion
from kafkapy.runtime.stall_meter import name_of
from kafkapy.runtime.time_slice import Checkpoints, TimeSlice

log = logging.getLogger("kafkapy.server.KafkaScheduler")


def run_in_pool(reactor: Any, pool: ThreadPool, function: Callable[[], R]) -> Completion[R]:
    """Run `function` in a thread of the pool. The completion gets its result or exception on the reactor thread."""
    completion: Completion[R] = Completion()
    # Twisted's `callInThreadWithCallback` would make a closure that refers to itself, a cycle, for each call.
    pool._team.do(partial(_run_for, completion, reactor, function))
    return completion


def _run_for(completion: Completion[R], reactor: Any, function: Callable[[], R]) -> None:
    try:
        result = function()
    except BaseException as error:
        reactor.callFromThread(completion.set_exception, error)
    else:
        reactor.callFromThread(completion.set_result, result)


def defer_to_pool(reactor: Any, pool: ThreadPool, function: Callable[[], R]) -> Deferred[R]:
    """The same for what Twisted drives, in place of its `deferToThreadPool`."""
    result: Deferred[R] = Deferred()
    pool._team.do(partial(_defer, result, reactor, function))
    return result


def _defer(result: Deferred[R], reactor: Any, function: Callable[[], R]) -> None:
    try:
        value = function()
    except BaseException:
        reactor.callFromThread(result.errback, Failure())
    else:
        reactor.callFromThread(result.callback, value)


class WorkerThreads:
    """A thread pool for one kind of work, so that it does not block other kinds. Threads start on demand."""

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
    """The thread pools that requests use beside the reactor thread.

    Stop them after the ZooKeeper client is closed: that wakes the threads that wait for it.
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
    """A scheduled call of some work.

    Invariant: it refers to its timer only while that is pending, and to its work only while that may still be called.
    The timer refers to the task, so together they would be a cycle that reference counts never free.
    """

    __slots__ = ("__weakref__", "_clock", "_period_ms", "_timer", "_work", "cancelled", "name")

    def __init__(self, clock: ReactorClock, name: str, work: Callable[[], object], period_ms: int = -1) -> None:
        self._clock = clock
        self._work: Callable[[], object] | None = work
        self._period_ms = period_ms
        self._timer: Any = None
        self.name = name
        """The name under which the stall meter reports it."""
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        self._work = None
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def start(self, delay_ms: float) -> None:
        """Schedule the work after `delay_ms`, unless cancelled. On the reactor thread."""
        if not self.cancelled:
            self._timer = self._clock.reactor.callLater(max(0.0, delay_ms / 1000), self)

    def __call__(self) -> None:
        """Run the work now; called by the reactor."""
        self._timer = None
        work = self._work
        if work is None or self._clock.is_stopped:
            self._work = None
            return
        if self._period_ms <= 0:
            self._work = None
        self._run(work)

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            self._failed(error)
        self._reschedule()

    def _failed(self, error: BaseException) -> None:
        log.error("Uncaught exception in scheduled task '%s'", self.name, exc_info=error)

    def _reschedule(self) -> None:
        if self._period_ms > 0 and not self._clock.is_stopped:
            self.start(self._period_ms)


class _Call(_Task):
    """A call for `later`: runs even after `shutdown`, and the reactor logs its errors."""

    __slots__ = ()

    def __call__(self) -> None:
        self._timer = None
        work, self._work = self._work, None
        if work is not None:
            work()


class _TaskInThread(_Task):
    """A task that runs in the background pool."""

    __slots__ = ()

    def _run(self, work: Callable[[], object]) -> None:
        self._clock.in_thread(work).add_callback(self._done)

    def _done(self, completion: Completion[object]) -> None:
        if (error := completion.exception()) is not None:
            self._failed(error)
        self._reschedule()


class ReactorClock(SystemTime):
    """The reactor's time, timers and threads.

    Invariant: after `shutdown` no scheduled task starts; those that run in the pool finish.
    """

    def __init__(self, reactor: Any) -> None:
        self.reactor = reactor
        self.is_stopped = False
        time_slice: TimeSlice = getattr(reactor, "time_slice", None) or TimeSlice()
        # Bound methods, compiled where possible, because hot paths call them often.
        self.should_yield = time_slice.is_over
        self.begin_request = time_slice.begin_request
        self.checkpoint = Checkpoints(time_slice, self.yield_now).checkpoint

    def later(self, delay_ms: float, function: Callable[[], object]) -> _Task:
        call = _Call(self, name_of(function), function)
        call.start(delay_ms)
        return call

    def yield_now(self) -> Completion[None]:
        completion: Completion[None] = Completion()
        self.reactor.callLater(0, completion.set_result, None)
        return completion

    def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Completion[R]:
        return run_in_pool(self.reactor, self.reactor.getThreadPool(), partial(function, *args, **kwargs))

    def from_thread(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        self.reactor.callFromThread(function, *args, **kwargs)

    def schedule_once(self, name: str, task: Callable[[], object], delay_ms: int) -> _Task:
        return self._start(_Task(self, name, task), delay_ms)

    def schedule(self, name: str, task: Callable[[], object], delay_ms: int, period_ms: int) -> _Task:
        return self._start(_Task(self, name, task, period_ms), delay_ms)

    def schedule_in_thread(
        self, name: str, task: Callable[[], object], delay_ms: int = 0, period_ms: int = -1
    ) -> _Task:
        return self._start(_TaskInThread(self, name, task, period_ms), delay_ms)

    def shutdown(self) -> None:
        self.is_stopped = True

    def _start(self, task: _Task, delay_ms: int) -> _Task:
        """Start the timer on the reactor thread.

        Logs and coordinators schedule from other threads, too (cleaner, recovery)."""
        if isInIOThread():
            task.start(delay_ms)
        else:
            self.reactor.callFromThread(task.start, delay_ms)
        return task
