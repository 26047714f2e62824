"""Steps run one after the other; one that fails ends nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kafkapy.mirror.mirror_scheduler import MirrorScheduler
from tests.waiting import HANG_SECONDS


@pytest.fixture
def scheduler() -> Iterator[MirrorScheduler]:
    made = MirrorScheduler("test", HANG_SECONDS)
    yield made
    made.close()


def test_steps_run_in_their_order(scheduler: MirrorScheduler) -> None:
    done: list[str] = []
    scheduler.execute_async(lambda: done.append("a"), "a")
    assert scheduler.execute(lambda: done.append("b"), "b")
    assert done == ["a", "b"]


def test_a_step_that_fails_is_logged(scheduler: MirrorScheduler, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("no")

    assert scheduler.execute(fail, "failing")
    assert "failed: failing" in caplog.text
    assert scheduler.execute(lambda: None, "next")


def test_repeated_steps(scheduler: MirrorScheduler) -> None:
    often = threading.Semaphore(0)
    scheduler.repeat(often.release, 0.001, "often")
    scheduler.repeat(often.release, None, "never")
    for _ in range(3):
        assert often.acquire(timeout=HANG_SECONDS)


def test_a_delayed_step_waits_for_its_time() -> None:
    now = [0.0]
    scheduler = MirrorScheduler("test", HANG_SECONDS, lambda: now[0])
    done: list[str] = []
    scheduler.repeat(lambda: done.append("late"), 3600, "late", is_delayed=True)
    scheduler.execute(lambda: None, "first")
    assert done == []
    now[0] = 3600.0
    scheduler.execute(lambda: None, "second")
    scheduler.close()
    assert done == ["late"] and not scheduler._thread.is_alive()


def test_a_step_that_takes_too_long() -> None:
    scheduler = MirrorScheduler("test", 0.0)
    released = threading.Event()

    def wait() -> None:
        released.wait(HANG_SECONDS)

    scheduler.execute_async(wait, "long")
    assert not scheduler.execute(lambda: None, "behind it")
    released.set()
    scheduler.close()
    assert scheduler.execute(lambda: None, "after the end")
