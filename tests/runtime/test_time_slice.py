"""When work gives way, told by a clock that is moved by hand."""

from __future__ import annotations

import pytest

from kafkapy.runtime.completion import Completion, spawn
from kafkapy.runtime.stall_meter import StallMeter
from kafkapy.runtime.time_slice import (
    BURST_REQUESTS,
    BURST_SECONDS,
    MAX_SLICE_SECONDS,
    MIN_REQUEST_SECONDS,
    SLICE_SECONDS,
    Checkpoints,
    TimeSlice,
)

MOMENT = 1e-6


class Thread:
    """The reactor's thread: `work` takes it time, `wait_for_core` takes time in which others have the cores."""

    def __init__(self) -> None:
        self.now = 100.0
        self.cpu = self.queued = 0.0
        self.others = True
        meter = StallMeter(lambda: self.now, lambda: self.cpu, lambda: self.queued)
        self.slice = TimeSlice(meter, lambda: self.now, lambda: self.others)
        meter.start()
        self.slice.begin(self.now)

    def work(self, seconds: float) -> None:
        self.now += seconds
        self.cpu += seconds

    def wait_for_core(self, seconds: float) -> None:
        self.now += seconds
        self.queued += seconds


@pytest.fixture
def thread() -> Thread:
    return Thread()


def test_a_slice_ends_after_its_time(thread: Thread) -> None:
    thread.work(SLICE_SECONDS - MOMENT)
    assert not thread.slice.is_over()
    thread.work(2 * MOMENT)
    assert thread.slice.is_over()
    assert not thread.slice.is_over(extra_seconds=10 * MOMENT)


def test_a_slice_without_a_beginning_does_not_end() -> None:
    assert not TimeSlice().is_over()


def test_a_request_has_its_least_time(thread: Thread) -> None:
    thread.work(2 * SLICE_SECONDS)
    assert thread.slice.is_over()
    thread.slice.begin_request()
    assert not thread.slice.is_over()
    thread.work(MIN_REQUEST_SECONDS)
    assert thread.slice.is_over()


def test_a_slice_is_renewed_while_nothing_else_waits(thread: Thread) -> None:
    """But timers are looked for in time."""
    thread.others = False
    while thread.now < 100 + MAX_SLICE_SECONDS - SLICE_SECONDS:
        thread.work(SLICE_SECONDS + MOMENT)
        assert not thread.slice.is_over()
    thread.work(2 * SLICE_SECONDS)
    assert thread.slice.is_over()


def test_time_without_a_core_does_not_count(thread: Thread) -> None:
    thread.work(SLICE_SECONDS / 2)
    thread.wait_for_core(1.0)
    assert not thread.slice.is_over()
    thread.work(SLICE_SECONDS / 2 + MOMENT)
    assert thread.slice.is_over()
    assert thread.slice.meter.run_queue_seconds == pytest.approx(1.0)


@pytest.mark.parametrize(("handled", "seconds"), [(1, BURST_SECONDS), (BURST_REQUESTS, MIN_REQUEST_SECONDS)])
def test_a_burst_has_its_own_time(thread: Thread, handled: int, seconds: float) -> None:
    thread.work(2 * SLICE_SECONDS)
    began = thread.slice.begin_burst()
    thread.work(seconds - MOMENT)
    assert not thread.slice.burst_is_over(began, handled)
    thread.work(2 * MOMENT)
    assert thread.slice.burst_is_over(began, handled)


def test_a_burst_goes_on_while_the_slice_lasts_and_others_have_the_core(thread: Thread) -> None:
    began = thread.slice.begin_burst() - 1
    assert not thread.slice.burst_is_over(began, 100)
    thread.work(SLICE_SECONDS - MOMENT)
    thread.wait_for_core(1.0)
    assert not thread.slice.burst_is_over(began, 100)
    thread.work(2 * MOMENT)
    assert thread.slice.burst_is_over(began, 100)


def test_a_checkpoint_suspends_only_when_the_slice_is_over(thread: Thread) -> None:
    turn: Completion[None] = Completion()
    checkpoints = Checkpoints(thread.slice, lambda: turn)

    async def work() -> str:
        await checkpoints.checkpoint()
        thread.work(2 * SLICE_SECONDS)
        await checkpoints.checkpoint()
        return "done"

    working = spawn(work())
    assert not working.done
    turn.set_result(None)
    assert working.result() == "done"
