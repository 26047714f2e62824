"""The driver that its caller turns: what it adds to what all drivers promise (test_drivers.py)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.common.time import MockTime
from kafkapy.errors import IllegalStateError, KafkaTimeoutError
from kafkapy.runtime.completion import CancelledError, Completion
from tests.waiting import HANG_SECONDS


@pytest.fixture
def driver() -> Iterator[CallerDriver]:
    driver = CallerDriver()
    yield driver
    driver.close()


def test_run_gives_what_completions_functions_and_coroutines_end_with(driver: CallerDriver) -> None:
    async def wait(ms: float) -> int:
        await driver.sleep(ms)
        return threading.get_ident()

    assert driver.run(wait, 5) == threading.get_ident()
    assert driver.run(lambda a, b: a + b, 1, 2) == 3
    assert driver.run(Completion.of("there")) == "there"
    later: Completion[str] = Completion()
    driver.call_later(5, lambda: later.set_result("later"))
    assert driver.run(later) == "later"
    with pytest.raises(ZeroDivisionError):
        driver.run(lambda: 1 / 0)


def test_it_starts_no_thread_and_does_nothing_between_runs(driver: CallerDriver) -> None:
    before = set(threading.enumerate())
    ran: list[int] = []
    driver.run(lambda: driver.call_later(1, lambda: ran.append(1)))
    assert set(threading.enumerate()) <= before
    time.sleep(0.01)
    assert ran == []
    assert driver.run(lambda: list(ran)) == [1]  # what is due comes before what is asked


def test_a_time_out_cancels_the_coroutine(driver: CallerDriver) -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await Completion[None]()
        except CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(KafkaTimeoutError, match="Timed out after 20 ms"):
        driver.run(forever, timeout_ms=20)
    assert ended == ["cancelled"]
    assert driver.run(lambda: "usable") == "usable"


def test_timers_and_time_outs_go_by_the_time_that_is_given() -> None:
    clock = MockTime()
    driver = CallerDriver(clock)
    driver.call_soon(lambda: clock.advance(3_600_000))
    driver.run(driver.sleep(3_600_000))
    driver.call_soon(lambda: clock.advance(60_000))
    with pytest.raises(KafkaTimeoutError):
        driver.run(Completion[None](), timeout_ms=60_000)
    driver.close()


def test_another_thread_may_act_while_this_one_waits_and_while_nobody_does(driver: CallerDriver) -> None:
    done: Completion[str] = Completion()
    threading.Timer(0.02, lambda: driver.act(lambda: done.set_result("from outside"))).start()
    assert driver.run(done, timeout_ms=HANG_SECONDS * 1000) == "from outside"
    soon: Completion[str] = Completion()
    threading.Timer(0.02, lambda: driver.call_soon_threadsafe(lambda: soon.set_result("soon"))).start()
    assert driver.run(soon, timeout_ms=HANG_SECONDS * 1000) == "soon"
    idle: list[int] = []
    thread = threading.Thread(target=driver.act, args=(lambda: idle.append(threading.get_ident()),))
    thread.start()
    thread.join(HANG_SECONDS)
    assert idle == [thread.ident]


def test_close_from_another_thread_ends_a_run() -> None:
    driver = CallerDriver()
    threading.Timer(0.02, driver.close).start()
    with pytest.raises(IllegalStateError, match="was closed"):
        driver.run(Completion[None]())
    with pytest.raises(IllegalStateError, match="is closed"):
        driver.run(lambda: 1)
    driver.close()


def test_close_gives_the_descriptors_back() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = descriptors()
    idle, busy = CallerDriver(), CallerDriver()
    idle.close()

    def close_soon() -> Completion[None]:
        busy.call_soon(busy.close)
        return Completion()

    with pytest.raises(IllegalStateError):
        busy.run(close_soon)
    assert descriptors() == before


def test_run_within_run_is_refused(driver: CallerDriver) -> None:
    with pytest.raises(IllegalStateError, match="from one of its callbacks"):
        driver.run(lambda: driver.run(lambda: 1))
    failures: list[BaseException] = []

    def intrude() -> None:
        try:
            driver.run(lambda: 1)
        except IllegalStateError as error:
            failures.append(error)
        driver.act(lambda: done.set_result(None))

    done: Completion[None] = Completion()
    threading.Timer(0.02, intrude).start()
    driver.run(done, timeout_ms=HANG_SECONDS * 1000)
    assert "in use elsewhere" in str(failures[0])


def test_an_interrupt_closes_it(driver: CallerDriver) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        driver.call_later(5, lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            driver.run(Completion[None](), timeout_ms=HANG_SECONDS * 1000)
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(IllegalStateError, match="is closed"):
        driver.run(lambda: 1)
