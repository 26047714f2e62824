from __future__ import annotations

import pytest

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.coordinator.runtime.timers import Timers


class Clock:
    def __init__(self) -> None:
        self.scheduler = MockScheduler(MockTime())
        self.fired: list[str] = []
        self.timers: Timers[str] = Timers(self.scheduler, self.scheduler.time, self.fired.append)

    @property
    def tasks(self) -> int:
        return sum(not task.cancelled for _, _, task in self.scheduler._queue)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_timer_fires_once(clock: Clock) -> None:
    clock.timers.start("a", 10)
    clock.scheduler.advance(9)
    assert (clock.fired, list(clock.timers)) == ([], ["a"])
    clock.scheduler.advance(100)
    assert (clock.fired, list(clock.timers)) == (["a"], [])


def test_moving_a_timer_later_takes_no_task(clock: Clock) -> None:
    for _ in range(100):
        clock.timers.start("a", 10)
        clock.scheduler.advance(1)
        assert clock.tasks == 1
    clock.scheduler.advance(8)
    assert clock.fired == []
    clock.scheduler.advance(1)
    assert clock.fired == ["a"]


def test_moving_a_timer_earlier(clock: Clock) -> None:
    clock.timers.start("a", 1_000)
    clock.timers.start("b", 1_000)
    clock.timers.start("a", 10)
    assert clock.tasks == 2
    clock.scheduler.advance(10)
    assert clock.fired == ["a"]
    clock.scheduler.advance(990)
    assert clock.fired == ["a", "b"]


def test_a_cancelled_timer_does_not_fire(clock: Clock) -> None:
    clock.timers.start("a", 10)
    clock.timers.cancel("a")
    clock.timers.cancel("a")
    clock.scheduler.advance(100)
    assert (clock.fired, clock.tasks) == ([], 0)
