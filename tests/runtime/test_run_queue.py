"""What the kernel says of a thread that has to share its core."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from kafkapy.common import capabilities
from kafkapy.runtime import run_queue
from kafkapy.runtime.run_queue import RunQueue
from tests.waiting import wait_until


@pytest.fixture
def queue() -> Iterator[RunQueue]:
    queue = RunQueue()
    queue.open()
    yield queue
    queue.close()


@pytest.fixture
def on_one_core() -> Iterator[None]:
    """This thread, and what it starts."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield
    os.sched_setaffinity(0, allowed)


def spin(seconds: float) -> None:
    ends = time.thread_time() + seconds
    while time.thread_time() < ends:
        pass


@pytest.mark.skipif(not capabilities.RUN_QUEUE_TIMES, reason="this kernel does not count")
def test_sharing_a_core_counts(queue: RunQueue, on_one_core: None) -> None:
    other = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    began, before, worked = time.monotonic(), queue.seconds(), time.thread_time()
    while queue.seconds() - before < 0.02:
        spin(0.01)
    queued, worked = queue.seconds() - before, time.thread_time() - worked
    elapsed = time.monotonic() - began
    other.kill()
    other.wait()
    assert queued < elapsed - worked + 0.01, "what it had the core for is no part of it"


def test_sleeping_does_not_count(queue: RunQueue) -> None:
    """What counts is the time after it, until a busy machine gives it a core again."""

    def counts_little() -> bool:
        before = queue.seconds()
        time.sleep(0.1)
        return queue.seconds() - before < 0.05

    wait_until(counts_little)


def test_it_is_of_the_thread_that_opened_it(queue: RunQueue) -> None:
    """Whoever asks."""
    asked: list[float] = []
    thread = threading.Thread(target=lambda: asked.append(queue.seconds()))
    before = queue.seconds()
    thread.start()
    thread.join()
    assert before <= asked[0] <= queue.seconds()


def test_a_kernel_that_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_queue, "RUN_QUEUE_FILE", "/nonexistent")
    queue = RunQueue()
    queue.open()
    assert queue.seconds() == 0.0
    queue.close()


def test_nothing_is_asked_before_it_is_open_or_after_it_is_closed() -> None:
    queue = RunQueue()
    assert queue.seconds() == 0.0
    queue.open()
    queue.close()
    assert queue.seconds() == 0.0
    queue.close()
