from __future__ import annotations

import pytest

from kafkapy.clients.client_driver import ClientDriver
from kafkapy.clients.driver import wait_for
from kafkapy.errors import Cancelled, KafkaTimeoutError
from kafkapy.runtime.completion import Completion, spawn
from tests.memory_driver import MemoryDriver


def made() -> tuple[MemoryDriver, ClientDriver]:
    below = MemoryDriver()
    return below, ClientDriver(below)


def test_timers_fire_or_are_cancelled_and_then_they_are_gone() -> None:
    below, driver = made()
    fired: list[str] = []
    driver.call_later(10, lambda: fired.append("first"))
    second = driver.call_later(20, lambda: fired.append("second"))
    second.cancel()
    second.cancel()
    below.advance(30)
    assert fired == ["first"]
    assert not driver._timers


def test_a_closed_client_has_no_timers() -> None:
    below, driver = made()
    fired: list[str] = []
    driver.call_later(10, lambda: fired.append("before"))
    driver.close()
    driver.call_later(10, lambda: fired.append("after")).cancel()
    driver.call_later(10, lambda: fired.append("after"))
    assert below.live_timers == []
    below.advance(100)
    assert fired == []
    driver.open()
    driver.call_later(10, lambda: fired.append("again"))
    below.advance(10)
    assert fired == ["again"]


def test_who_sleeps_when_the_client_is_closed_hears_of_it() -> None:
    below, driver = made()
    slept: list[str] = []

    async def sleeper() -> None:
        try:
            await driver.sleep(50)
        except Cancelled:
            slept.append("cancelled")
        with pytest.raises(Cancelled):
            await driver.sleep(50)  # as in a loop that retries
        slept.append("at once")

    spawn(sleeper())
    driver.close()
    assert slept == ["cancelled", "at once"]
    assert below.live_timers == []


def test_a_sleep_that_is_cancelled_takes_its_timer_back() -> None:
    below, driver = made()
    driver.sleep(50).cancel()
    assert below.live_timers == []
    pause = driver.sleep(50)
    below.advance(50)
    assert pause.result() is None


def test_waiting_ends_with_the_time_the_result_or_the_client() -> None:
    below, driver = made()
    late, early, closed = Completion[int](), Completion[int](), Completion[int]()
    waits = [spawn(wait_for(driver, one, 50)) for one in (late, early)]
    early.set_result(1)
    assert waits[1].result() == 1
    below.advance(50)
    assert isinstance(waits[0].exception(), KafkaTimeoutError)
    waiting = spawn(wait_for(driver, closed, 50))
    driver.close()
    assert isinstance(waiting.exception(), Cancelled)
    assert below.live_timers == []


def test_memory_for_receiving_goes_with_the_client() -> None:
    _, driver = made()
    scratch = driver.scratch
    assert driver.scratch is scratch
    driver.close()
    with pytest.raises(ValueError, match="released"):
        scratch[0]
