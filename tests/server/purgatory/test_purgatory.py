from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest

from kafkapy.runtime.clock import MockClock
from kafkapy.server.purgatory.deadlines import Deadlines
from kafkapy.server.purgatory.purgatory import DelayedOperation, DelayedOperationPurgatory


class Waiting(DelayedOperation):
    def __init__(self, delay_ms: int = 100) -> None:
        super().__init__(delay_ms)
        self.ready = False
        self.done = 0
        self.expired = 0

    def try_complete(self) -> bool:
        return self.ready and self.force_complete()

    def on_complete(self) -> None:
        self.done += 1

    def on_expiration(self) -> None:
        self.expired += 1


def purgatory(clock: MockClock, purge_interval: int = 1000) -> DelayedOperationPurgatory:
    return DelayedOperationPurgatory("Test", Deadlines(clock), purge_interval)


def test_completes_at_once_when_the_condition_holds() -> None:
    clock = MockClock()
    operation = Waiting()
    operation.ready = True
    assert purgatory(clock).try_complete_else_watch(operation, ["k"])
    clock.advance(1000)
    assert (operation.done, operation.expired) == (1, 0)


def test_an_event_on_any_key_completes_once() -> None:
    clock = MockClock()
    waiting = purgatory(clock)
    operation = Waiting()
    assert not waiting.try_complete_else_watch(operation, ["a", "b"])
    assert waiting.check_and_complete("a") == 0
    operation.ready = True
    assert waiting.check_and_complete("b") == 1
    assert waiting.check_and_complete("a") == 0
    clock.advance(1000)
    assert (operation.done, operation.expired) == (1, 0)


@pytest.mark.parametrize(("delay_ms", "late_ms"), [(100, 10), (30_000, 101)])
def test_expires_not_before_its_time_and_completes(delay_ms: int, late_ms: int) -> None:
    """Long delays are kept more roughly."""
    clock = MockClock()
    operation = Waiting(delay_ms)
    purgatory(clock).try_complete_else_watch(operation, ["a"])
    clock.advance(delay_ms - 1)
    assert operation.done == 0
    clock.advance(1 + late_ms)
    assert (operation.done, operation.expired) == (1, 1)


def test_what_is_completed_is_not_kept_until_its_deadline() -> None:
    waiting = purgatory(MockClock())
    operation = Waiting(delay_ms=30_000)
    waiting.try_complete_else_watch(operation, ["a"])
    operation.ready = True
    waiting.check_and_complete("a")
    gone = weakref.ref(operation)
    del operation
    assert gone() is None


def test_one_that_expires_may_complete_another_of_the_same_moment() -> None:
    clock = MockClock()
    waiting = purgatory(clock)
    second = Waiting()

    class First(Waiting):
        def on_complete(self) -> None:
            second.force_complete()

    for operation in (First(), second):
        waiting.try_complete_else_watch(operation, ["a"])
    clock.advance(1000)
    assert (second.done, second.expired) == (1, 0)


def test_completed_operations_do_not_pile_up() -> None:
    waiting = purgatory(MockClock(), purge_interval=10)
    for _ in range(95):
        operation = Waiting()
        waiting.try_complete_else_watch(operation, ["never touched"])
        operation.force_complete()
    assert waiting.watched() < 12


def test_an_operation_added_while_its_key_is_served_stays() -> None:
    waiting = purgatory(MockClock())
    second = Waiting()

    class Chained(Waiting):
        def on_complete(self) -> None:
            waiting.try_complete_else_watch(second, ["a"])

    first = Chained()
    waiting.try_complete_else_watch(first, ["a"])
    first.ready = True
    waiting.check_and_complete("a")
    second.ready = True
    assert waiting.check_and_complete("a") == 1


def test_timer_serves_many_deadlines_with_one_call_per_tick() -> None:
    clock = MockClock()
    timer = Deadlines(clock)
    operations = [Waiting() for _ in range(100)]
    for operation in operations:
        timer.add(operation, 50)
    assert clock.pending == 1
    clock.advance(70)
    assert all(operation.expired == 1 for operation in operations)


class Failing(Waiting):
    """Its work can't be done."""

    def on_complete(self) -> None:
        raise RuntimeError("this operation's own trouble")


def test_a_failure_does_not_touch_the_others_that_wait_for_the_same_event() -> None:
    waiting = purgatory(MockClock())
    operations = [Waiting(), Failing(), Waiting()]
    for operation in operations:
        waiting.try_complete_else_watch(operation, ["a"])
        operation.ready = True
    assert waiting.check_and_complete("a") == 3
    assert [operation.done for operation in operations] == [1, 0, 1]
    assert waiting.watched() == 0


def test_a_failure_does_not_touch_the_others_whose_time_is_up() -> None:
    clock = MockClock()
    waiting = purgatory(clock)
    operations = [Waiting(), Failing(), Waiting()]
    for operation in operations:
        waiting.try_complete_else_watch(operation, ["a"])
    clock.advance(1000)
    assert [operation.done for operation in operations] == [1, 0, 1]


def test_many_that_an_event_wakes_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MockClock()
    waiting = purgatory(clock)
    operations = [Waiting() for _ in range(10)]
    for operation in operations:
        waiting.try_complete_else_watch(operation, ["a"])
        operation.ready = operation is not operations[-2]
    monkeypatch.setattr(clock, "should_yield", lambda: True)
    assert waiting.check_and_complete("a") == 1
    late = Waiting()
    waiting.try_complete_else_watch(late, ["a"])
    clock.advance(1)
    assert [operation.done for operation in operations].count(0) == 1
    operations[-2].ready = late.ready = True
    monkeypatch.setattr(clock, "should_yield", lambda: False)
    assert waiting.check_and_complete("a") == 2
    clock.advance(1000)
    assert all((operation.done, operation.expired) == (1, 0) for operation in [*operations, late])


def test_many_that_expire_together_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = MockClock()
    waiting = purgatory(clock)
    operations = [Waiting() for _ in range(10)]
    for operation in operations:
        waiting.try_complete_else_watch(operation, ["a"])
    looks = iter([False, True, *[False] * 10])
    monkeypatch.setattr(clock, "should_yield", lambda: next(looks))
    given_way: list[int] = []
    schedule = clock.later

    def later(delay_ms: float, work: Callable[[], object]) -> object:
        given_way.append(sum(operation.done for operation in operations))
        return schedule(delay_ms, work)

    monkeypatch.setattr(clock, "later", later)
    clock.advance(200)
    assert given_way == [2]
    assert all((operation.done, operation.expired) == (1, 1) for operation in operations)
