from __future__ import annotations

import gc
import logging

import pytest

from kafkapy.clients.driver import wait_for
from kafkapy.errors import KafkaTimeoutError
from kafkapy.runtime.completion import CancelledError, Completion, FairLock, gather, spawn
from tests.memory_driver import MemoryDriver


def test_callbacks_are_called_once_in_order_and_at_once_when_done() -> None:
    completion: Completion[int] = Completion()
    seen: list[str] = []
    completion.add_callback(lambda c: seen.append(f"first {c.result()}"))
    completion.add_callback(lambda c: seen.append(f"second {c.result()}"))
    completion.set_result(1)
    completion.set_result(2)
    completion.set_exception(ValueError())
    completion.add_callback(lambda c: seen.append(f"late {c.result()}"))
    assert seen == ["first 1", "second 1", "late 1"]


def test_no_result_yet() -> None:
    with pytest.raises(RuntimeError):
        Completion[int]().result()
    with pytest.raises(RuntimeError):
        Completion[int]().exception()


def test_a_failing_callback_does_not_keep_the_others_from_being_called() -> None:
    completion: Completion[int] = Completion()
    seen: list[int] = []
    completion.add_callback(lambda c: 1 / 0)
    completion.add_callback(lambda c: seen.append(c.result()))
    completion.set_result(3)
    assert seen == [3]


def test_a_coroutine_runs_until_it_has_to_wait() -> None:
    first: Completion[int] = Completion()
    second = Completion.of(10)
    steps: list[str] = []

    async def work() -> int:
        steps.append("begun")
        total = await second + await first
        steps.append("ended")
        return total

    task = spawn(work())
    assert steps == ["begun"]
    assert not task.done
    first.set_result(5)
    assert steps == ["begun", "ended"]
    assert task.result() == 15


def test_errors_arrive_where_they_are_awaited() -> None:
    broken: Completion[int] = Completion()

    async def work() -> str:
        try:
            await broken
        except KeyError as error:
            return f"caught {error}"
        return "nothing"

    task = spawn(work())
    broken.set_exception(KeyError("x"))
    assert task.result() == "caught 'x'"


def test_cancelling_a_task_lets_it_clean_up_and_leaves_what_it_waited_for() -> None:
    shared: Completion[int] = Completion()
    steps: list[str] = []

    async def work() -> None:
        try:
            await shared
        except Exception:
            steps.append("swallowed")
        finally:
            steps.append("cleaned")

    task = spawn(work())
    task.cancel()
    assert steps == ["cleaned"]
    with pytest.raises(CancelledError):
        task.result()
    assert not shared.done
    shared.set_result(1)
    assert steps == ["cleaned"]


def test_a_task_may_finish_in_spite_of_being_cancelled() -> None:
    gate: Completion[None] = Completion()

    async def work() -> int:
        try:
            await gate
        except CancelledError:
            return 7
        return 8

    task = spawn(work())
    task.cancel()
    assert task.result() == 7


def test_a_long_chain_of_finished_results_does_not_recurse() -> None:
    async def work() -> int:
        total = 0
        for i in range(100_000):
            total += await Completion.of(i)
        return total

    assert spawn(work()).result() == sum(range(100_000))


def test_gather_waits_for_all_and_raises_the_first_error() -> None:
    a: Completion[int] = Completion()
    b: Completion[int] = Completion()
    both = spawn(gather(a, b))
    b.set_result(2)
    assert not both.done
    a.set_result(1)
    assert both.result() == [1, 2]
    failing = spawn(gather(Completion.of(1), Completion[int].failed(ValueError("no"))))
    with pytest.raises(ValueError, match="no"):
        failing.result()


def test_wait_for() -> None:
    driver = MemoryDriver()
    slow: Completion[int] = Completion()
    task = spawn(wait_for(driver, slow, 100))
    driver.advance(99)
    assert not task.done
    driver.advance(1)
    with pytest.raises(KafkaTimeoutError, match="Timed out after 100 ms"):
        task.result()
    assert not slow.done
    slow.set_result(4)
    assert driver.result_of(spawn(wait_for(driver, slow, 100))) == 4
    quick: Completion[int] = Completion()
    task = spawn(wait_for(driver, quick, 100))
    quick.set_result(5)
    assert task.result() == 5


def test_a_failure_that_nobody_looks_at_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise ValueError("unseen")

    with caplog.at_level(logging.ERROR, "kafkapy.runtime"):
        spawn(work())
        gc.collect()
    assert "unseen" in caplog.text


def test_a_fair_lock_lets_in_one_after_the_other() -> None:
    lock, seen = FairLock(), list[str]()
    held = {name: Completion[None]() for name in "abc"}

    async def work(name: str) -> None:
        async with lock:
            seen.append(f"{name} in")
            await held[name]
            seen.append(f"{name} out")

    a, b, _ = (spawn(work(name)) for name in "abc")
    assert seen == ["a in"]
    b.cancel()
    assert seen == ["a in"]
    held["a"].set_exception(ValueError())
    assert isinstance(a.exception(), ValueError)
    held["c"].set_result(None)
    assert seen == ["a in", "c in", "c out"]
