"""The controller's queue."""

from __future__ import annotations

import threading

from kafkapy.common.time import MockTime, SystemTime
from kafkapy.controller.event_manager import ControllerEvent, ControllerEventManager
from tests.waiting import HANG_SECONDS


def by_hand() -> tuple[ControllerEventManager, MockTime]:
    time = MockTime()
    return ControllerEventManager(lambda event: event.process(), time), time


def test_events_run_in_order_and_may_put_more() -> None:
    manager, _ = by_hand()
    seen: list[int] = []

    def first() -> None:
        seen.append(1)
        manager.put(ControllerEvent("third", lambda: seen.append(3)))

    manager.put(ControllerEvent("first", first))
    event = manager.put(ControllerEvent("second", lambda: seen.append(2)))
    assert not event.finished.is_set()
    manager.process_all()
    assert seen == [1, 2, 3]
    assert event.finished.is_set()


def test_clear_and_put_preempts_what_waits() -> None:
    manager, _ = by_hand()
    seen: list[str] = []
    dropped = manager.put(ControllerEvent("a", lambda: seen.append("a"), preempt=lambda: seen.append("a preempted")))
    manager.clear_and_put(ControllerEvent("b", lambda: seen.append("b")))
    assert dropped.finished.is_set()
    manager.process_all()
    assert seen == ["a preempted", "b"]


def test_after_close_events_are_preempted_at_once() -> None:
    manager, _ = by_hand()
    seen: list[str] = []
    manager.put(ControllerEvent("a", lambda: seen.append("a"), preempt=lambda: seen.append("a preempted")))
    manager.close()
    manager.put(ControllerEvent("b", lambda: seen.append("b"), preempt=lambda: seen.append("b preempted")))
    manager.process_all()
    assert seen == ["a preempted", "b preempted"]


def test_later_events_wait_for_their_time_and_can_be_cancelled() -> None:
    manager, time = by_hand()
    seen: list[str] = []
    manager.put_delayed(ControllerEvent("late", lambda: seen.append("late")), 100)
    manager.put_delayed(ControllerEvent("early", lambda: seen.append("early")), 50)
    manager.process_all()
    time.advance(60)
    manager.process_all()
    assert seen == ["early"]
    manager.cancel_later()
    time.advance(60)
    manager.process_all()
    assert seen == ["early"]


def test_one_thread_runs_all_and_survives_close_from_outside() -> None:
    threads: set[str] = set()
    manager = ControllerEventManager(lambda event: event.process(), SystemTime(), name="the-controller")
    manager.start()
    events = [
        manager.put(ControllerEvent(str(n), lambda: threads.add(threading.current_thread().name))) for n in range(20)
    ]
    manager.put_delayed(ControllerEvent("later", lambda: threads.add("later")), 10)
    assert all(event.finished.wait(HANG_SECONDS) for event in events)
    done = threading.Event()
    manager.put_delayed(ControllerEvent("done", done.set), 20)
    assert done.wait(HANG_SECONDS)
    manager.close()
    assert threads == {"the-controller", "later"}
    assert not manager._thread.is_alive()
