"""Work in threads: what fails is tried again, what fails for good is told, and nothing ends unnoticed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from kafkapy.warehouse.supervision import MAX_FAILURES, MAX_PAUSE_SECONDS, Worker, sentence


class Work:
    """Fails as often as it is told."""

    def __init__(self, *results: float | Exception | None) -> None:
        self.results = list(results)
        self.told: list[Exception | None] = []

    def __call__(self) -> float | None:
        found = self.results.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    def worker(self, is_permanent: Callable[[Exception], bool] = lambda error: False) -> Worker:
        return Worker("Work", self, is_permanent, self.told.append)


def test_what_fails_is_tried_again_after_pauses_that_grow() -> None:
    errors = [RuntimeError(str(number)) for number in range(MAX_FAILURES)]
    work = Work(*errors)
    worker = work.worker()
    pauses = [worker.attempt() for _ in errors[:-1]]
    assert pauses == [1, 2, 4, 8, 16, 32, MAX_PAUSE_SECONDS]
    with pytest.raises(RuntimeError, match=str(MAX_FAILURES - 1)):
        worker.attempt()
    assert work.told == errors


def test_failures_before_a_success_do_not_count() -> None:
    work = Work(OSError(), 5.0, OSError())
    worker = work.worker()
    assert [worker.attempt() for _ in range(3)] == [1, 5.0, 1]
    assert work.told[1] is None


def test_what_is_permanent_is_not_tried_again() -> None:
    worker = Work(ValueError("gone")).worker(lambda error: isinstance(error, ValueError))
    worker.start()
    with pytest.raises(ValueError, match="gone"):
        worker.awaitTermination(30)
    assert not worker.isActive
    assert isinstance(worker.exception(), ValueError)
    with pytest.raises(ValueError, match="gone"):
        worker.check()


def test_work_that_is_done_ends() -> None:
    worker = Work(0.0, 0.0, None).worker()
    worker.start()
    assert worker.awaitTermination(30)
    assert worker.exception() is None
    worker.check()


def test_a_worker_that_is_stopped_ends_its_step() -> None:
    cancelled = threading.Event()

    def step() -> float:
        cancelled.wait(30)
        raise RuntimeError("the job was cancelled")

    told: list[Exception | None] = []
    worker = Worker("Work", step, told=told.append, cancel=cancelled.set)
    worker.start()
    worker.stop()
    assert worker.awaitTermination(30)
    assert told == []


def test_of_a_stack_trace_the_first_line_is_told() -> None:
    assert sentence(RuntimeError("it failed\n\tat org.apache.spark")) == "it failed"
    assert sentence(RuntimeError()) == "RuntimeError()"
