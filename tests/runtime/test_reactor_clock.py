"""Tasks on the reactor and in its pool, with a clock moved by hand."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkapy.common.scheduler import ScheduledTask
from kafkapy.runtime import reactor_clock
from kafkapy.runtime.reactor_clock import ReactorClock


class FakeReactor(Clock):
    """A clock with a pool that does its work when the test says so, and with calls from other threads."""

    def __init__(self) -> None:
        super().__init__()
        self.work: list[Callable[[], None]] = []
        self.from_threads: list[Callable[[], object]] = []

    def getThreadPool(self) -> FakeReactor:
        return self

    @property
    def _team(self) -> FakeReactor:
        """The pool's workers."""
        return self

    def do(self, task: Callable[[], None]) -> None:
        self.work.append(task)

    def callFromThread(self, function: Callable[..., object], *args: Any) -> None:
        self.from_threads.append(lambda: function(*args))

    def run_pool(self) -> int:
        """Do what is in the pool; how many tasks that were."""
        work, self.work = self.work, []
        for run in work:
            run()
        self.run_from_threads()
        return len(work)

    def run_from_threads(self) -> None:
        calls, self.from_threads = self.from_threads, []
        for call in calls:
            call()


@pytest.fixture
def reactor(monkeypatch: pytest.MonkeyPatch) -> FakeReactor:
    monkeypatch.setattr(reactor_clock, "isInIOThread", lambda: True)
    return FakeReactor()


@pytest.fixture
def scheduler(reactor: FakeReactor) -> ReactorClock:
    return ReactorClock(reactor)


def test_once_and_again(reactor: FakeReactor, scheduler: ReactorClock) -> None:
    once: list[float] = []
    again: list[float] = []
    scheduler.schedule_once("once", lambda: once.append(reactor.seconds()), 1000)
    scheduler.schedule("again", lambda: again.append(reactor.seconds()), 500, 1000)
    reactor.pump([0.5] * 6)
    assert once == [1.0]
    assert again == [0.5, 1.5, 2.5]


def test_cancelled_tasks_do_not_run(reactor: FakeReactor, scheduler: ReactorClock) -> None:
    runs: list[int] = []
    task = scheduler.schedule("again", lambda: runs.append(1), 1000, 1000)
    reactor.advance(1)
    task.cancel()
    task.cancel()
    reactor.pump([1.0] * 3)
    assert runs == [1]
    assert reactor.getDelayedCalls() == []


def test_a_failure_is_logged_and_does_not_end_the_period(
    reactor: FakeReactor, scheduler: ReactorClock, caplog: pytest.LogCaptureFixture
) -> None:
    scheduler.schedule("on the reactor", lambda: 1 // 0, 0, 1000)
    scheduler.schedule_in_thread("in the pool", lambda: 1 // 0, 0, 1000)
    for _ in range(2):
        reactor.advance(1)
        assert reactor.run_pool() == 1
    messages = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert len(messages) == 4
    assert {m.split("'")[1] for m in messages} == {"on the reactor", "in the pool"}


def test_a_task_in_the_pool_never_overlaps_itself(reactor: FakeReactor, scheduler: ReactorClock) -> None:
    scheduler.schedule_in_thread("slow", lambda: None, 0, 1000)
    reactor.pump([1.0] * 5)
    assert reactor.run_pool() == 1
    reactor.advance(1)
    assert reactor.run_pool() == 1


def test_other_threads_may_schedule(reactor: FakeReactor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reactor_clock, "isInIOThread", lambda: False)
    runs: list[int] = []
    scheduler = ReactorClock(reactor)
    scheduler.schedule_once("runs", lambda: runs.append(1), 0)
    scheduler.schedule_once("does not", lambda: runs.append(2), 0).cancel()
    assert reactor.getDelayedCalls() == []
    reactor.run_from_threads()
    reactor.advance(1)
    assert runs == [1]


def test_nothing_starts_after_shutdown(reactor: FakeReactor, scheduler: ReactorClock) -> None:
    runs: list[int] = []
    scheduler.schedule("again", lambda: runs.append(1), 0, 1000)
    scheduler.schedule_in_thread("in the pool", lambda: runs.append(2), 0, 1000)
    reactor.advance(0)
    scheduler.shutdown()
    reactor.run_pool()
    reactor.pump([1.0] * 3)
    assert runs == [1, 2]
    assert reactor.getDelayedCalls() == []


def test_later_is_not_before_its_time_and_may_be_taken_back(reactor: FakeReactor, scheduler: ReactorClock) -> None:
    called: list[str] = []
    scheduler.later(100, lambda: called.append("late"))
    scheduler.later(50, lambda: called.append("never")).cancel()
    scheduler.shutdown()
    reactor.advance(0.09)
    assert called == []
    reactor.advance(0.02)
    assert called == ["late"]


def test_what_a_thread_returns_or_raises_comes_back_to_the_reactor(
    reactor: FakeReactor, scheduler: ReactorClock
) -> None:
    three, failed = scheduler.in_thread(int, "3"), scheduler.in_thread(int, "x", base=10)
    assert not three.done
    for run in reactor.work:
        run()
    assert not three.done
    reactor.run_from_threads()
    assert three.result() == 3
    assert isinstance(failed.exception(), ValueError)


class Work:
    """A task that is an object, to be watched by a weak reference."""

    def __call__(self) -> None:
        """Nothing needs to be done."""


@pytest.mark.parametrize("ending", ["runs", "is cancelled", "comes after shutdown"])
@pytest.mark.parametrize("way", ["schedule_once", "schedule", "schedule_in_thread", "later"])
def test_nothing_of_a_task_stays(reactor: FakeReactor, scheduler: ReactorClock, way: str, ending: str) -> None:
    """Reference counts free it; what waits when Python's collector runs would else stay for long."""
    work = Work()
    gone = weakref.ref(work)
    task = _started(scheduler, way, work)
    task_gone = weakref.ref(task)
    del work
    gc.disable()
    try:
        if ending == "comes after shutdown":
            scheduler.shutdown()
        elif ending == "runs":
            reactor.advance(0.02)
            reactor.run_pool()
        if ending == "is cancelled" or way == "schedule":
            task.cancel()
        reactor.advance(0.02)
        assert gone() is None
        del task
        assert task_gone() is None
    finally:
        gc.enable()


def _started(scheduler: ReactorClock, way: str, work: Work) -> ScheduledTask:
    if way == "schedule_once":
        return scheduler.schedule_once("task", work, 10)
    if way == "schedule":
        return scheduler.schedule("task", work, 10, 10)
    if way == "schedule_in_thread":
        return scheduler.schedule_in_thread("task", work, 10)
    return scheduler.later(10, work)
