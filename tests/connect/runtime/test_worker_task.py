"""`kafkapy.connect.runtime.worker_task`: a task's life and what its listener is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafkapy.connect.runtime.worker_task import WorkerTask
from kafkapy.connect.storage import ConnectorTaskId, TargetState, TopicStatus

ID = ConnectorTaskId("orders", 0)


class Listener:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.cause: BaseException | None = None
        self.paused = threading.Event()

    def on_startup(self, id: ConnectorTaskId) -> None:
        self.told.append("startup")

    def on_pause(self, id: ConnectorTaskId) -> None:
        self.told.append("pause")
        self.paused.set()

    def on_resume(self, id: ConnectorTaskId) -> None:
        self.told.append("resume")

    def on_failure(self, id: ConnectorTaskId, cause: BaseException) -> None:
        self.told.append("failure")
        self.cause = cause

    def on_shutdown(self, id: ConnectorTaskId) -> None:
        self.told.append("shutdown")

    def on_deletion(self, id: ConnectorTaskId) -> None:
        self.told.append("deletion")

    def on_restart(self, id: ConnectorTaskId) -> None:
        self.told.append("restart")


class Topics:
    """The part of a status store that a task uses."""

    def __init__(self) -> None:
        self.puts: list[TopicStatus] = []

    def topic(self, connector: str, topic: str) -> TopicStatus | None:
        return next((status for status in self.puts if status.topic == topic), None)

    def put_topic(self, status: TopicStatus) -> None:
        self.puts.append(status)


class Closed:
    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


class ProbeTask(WorkerTask):
    def __init__(self, execute: Callable[[ProbeTask], None], state: TargetState = TargetState.STARTED) -> None:
        self.listener, self.topics, self.transforms = Listener(), Topics(), Closed()
        topics: Any = self.topics
        super().__init__(ID, self.listener, state, topics, chain=self.transforms)
        self._body = execute
        self.calls: list[str] = []

    def initialize(self, config: Mapping[str, str]) -> None:
        pass

    def _initialize_and_start(self) -> None:
        self.calls.append("start")

    def _execute(self) -> None:
        self._body(self)

    def _close(self) -> None:
        self.calls.append("close")


def until_stopped(task: ProbeTask) -> None:
    task._sleep_unless_stopping(30)


def fail(task: ProbeTask) -> None:
    raise ValueError("no such table")


def leave(task: ProbeTask) -> None:
    raise SystemExit(3)


def test_a_task_runs_until_it_is_stopped() -> None:
    task = ProbeTask(until_stopped)
    task.start()
    assert not task.await_stop(1)
    task.stop()
    assert task.await_stop(10_000)
    assert task.listener.told == ["startup", "shutdown"]
    assert task.calls == ["start", "close"] and task.transforms.closed


@pytest.mark.parametrize("body", [fail, leave])
def test_an_error_fails_the_task_and_is_told_with_its_trace(body: Callable[[ProbeTask], None]) -> None:
    task = ProbeTask(body)
    task.start()
    assert task.await_stop(10_000)
    assert task.listener.told == ["startup", "failure"] and task.is_failed
    assert task.listener.cause is not None and task.listener.cause.__traceback__ is not None
    assert task.calls == ["start", "close"]


def test_a_task_that_is_paused_from_the_beginning_starts_when_it_is_resumed() -> None:
    task = ProbeTask(until_stopped, TargetState.PAUSED)
    task.start()
    assert task.listener.paused.wait(10) and task.calls == []
    task.transition_to(TargetState.STARTED)
    task.stop()
    assert task.await_stop(10_000)
    assert task.listener.told[0] == "pause" and task.listener.told[-1] == "shutdown"


def test_a_paused_task_can_be_stopped() -> None:
    task = ProbeTask(until_stopped, TargetState.PAUSED)
    task.start()
    assert task.listener.paused.wait(10)
    task.stop()
    assert task.await_stop(10_000)
    assert task.listener.told == ["pause", "shutdown"] and task.calls == ["close"]


def test_the_end_of_a_cancelled_task_is_not_told() -> None:
    task = ProbeTask(until_stopped)
    task.start()
    task.cancel()
    task.stop()
    assert task.await_stop(10_000)
    assert "shutdown" not in task.listener.told


def test_a_topic_is_noted_once() -> None:
    def note(task: ProbeTask) -> None:
        task._record_active_topic("lines")
        task._record_active_topic("lines")

    task = ProbeTask(note)
    task.start()
    assert task.await_stop(10_000)
    assert [(status.topic, status.task) for status in task.topics.puts] == [("lines", 0)]
