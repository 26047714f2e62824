"""`kafkapy.connect.runtime.worker_connector`: a connector's life, and what a connector that hangs does not hold up."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import pytest

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connector import ConnectorTask
from kafkapy.connect.errors import ConnectException, ConnectorBusyException
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.connector_context import HerderConnectorContext
from kafkapy.connect.runtime.worker_connector import WorkerConnector
from kafkapy.connect.source import SourceConnector
from kafkapy.connect.storage import TargetState

STARTED, PAUSED, STOPPED = TargetState.STARTED, TargetState.PAUSED, TargetState.STOPPED


class Listener:
    def __init__(self) -> None:
        self.told: list[str] = []

    def on_startup(self, connector: str) -> None:
        self.told.append("startup")

    def on_shutdown(self, connector: str) -> None:
        self.told.append("shutdown")

    def on_failure(self, connector: str, cause: BaseException) -> None:
        self.told.append(f"failure {cause}")

    def on_stop(self, connector: str) -> None:
        self.told.append("stop")

    def on_pause(self, connector: str) -> None:
        self.told.append("pause")

    def on_resume(self, connector: str) -> None:
        self.told.append("resume")

    def on_deletion(self, connector: str) -> None:
        self.told.append("deletion")

    def on_restart(self, connector: str) -> None:
        self.told.append("restart")


class ProbeConnector(SourceConnector):
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.error: BaseException | None = None
        self.may_answer = threading.Event()
        self.may_answer.set()

    def version(self) -> str:
        return "1"

    def start(self, config: Mapping[str, str]) -> None:
        self.calls.append("start")
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        self.calls.append("stop")

    def task_class(self) -> type[ConnectorTask]:
        raise NotImplementedError

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        self.calls.append("task_configs")
        self.may_answer.wait(30)
        return [{"n": str(number)} for number in range(max_tasks)]

    def config(self) -> ConfigDef:
        return ConfigDef()


class Running:
    def __init__(self) -> None:
        self.connector, self.listener = ProbeConnector(), Listener()
        self.context = HerderConnectorContext("c", lambda name: None, lambda name, error: None)
        self.worker = WorkerConnector("c", self.connector, {}, self.context, self.listener)

    def to(self, state: TargetState) -> TargetState:
        callback: FutureCallback[TargetState] = FutureCallback()
        self.worker.transition_to(state, callback)
        return callback.result(10)

    def end(self) -> None:
        self.connector.may_answer.set()
        self.worker.shutdown()
        assert self.worker.await_shutdown(10_000)


def test_it_starts_pauses_resumes_stops_and_ends() -> None:
    running = Running()
    running.worker.start()
    for state in (STARTED, PAUSED, STARTED, STOPPED):
        assert running.to(state) is state
    running.end()
    assert running.listener.told == ["startup", "pause", "resume", "stop", "shutdown"]
    assert running.connector.calls == ["start", "stop", "start", "stop"]


def test_one_that_begins_paused_is_started_by_a_resume() -> None:
    running = Running()
    running.worker.start()
    running.to(PAUSED)
    running.to(STARTED)
    running.end()
    assert running.listener.told == ["pause", "resume", "shutdown"]


def test_a_start_that_fails_is_told_and_leaves_only_the_way_to_stopped() -> None:
    running = Running()
    running.connector.error = ValueError("no such host")
    running.worker.start()
    with pytest.raises(ConnectException, match="Failed to transition connector c to state STARTED"):
        running.to(STARTED)
    with pytest.raises(ConnectException, match="since it has failed"):
        running.to(STARTED)
    assert running.to(STOPPED) is STOPPED
    running.end()
    assert running.listener.told == ["failure no such host", "stop", "shutdown"]


def test_an_error_from_outside_fails_it_once() -> None:
    running = Running()
    running.worker.start()
    running.to(STARTED)
    running.worker.fail(ConnectException("too many tasks"))
    running.worker.fail(ConnectException("another"))
    with pytest.raises(ConnectException):
        running.to(PAUSED)
    assert running.listener.told == ["startup", "failure too many tasks"]
    running.end()


def test_task_configs_come_from_the_connectors_thread() -> None:
    running = Running()
    running.worker.start()
    running.to(STARTED)
    assert running.worker.task_configs(2, 10) == [{"n": "0"}, {"n": "1"}]
    running.end()


def test_a_late_answer_is_that_of_the_next_call() -> None:
    running = Running()
    running.worker.start()
    running.to(STARTED)
    running.connector.may_answer.clear()
    with pytest.raises(ConnectorBusyException):
        running.worker.task_configs(1, 0.01)
    running.connector.may_answer.set()
    assert running.worker.task_configs(1, 10) == [{"n": "0"}]
    assert running.connector.calls.count("task_configs") == 1
    running.end()


def test_one_that_hangs_is_given_up_and_tells_no_more() -> None:
    running = Running()
    running.worker.start()
    running.to(STARTED)
    running.connector.may_answer.clear()
    with pytest.raises(ConnectorBusyException):
        running.worker.task_configs(1, 0.01)
    running.worker.shutdown()
    assert not running.worker.await_shutdown(10)
    running.worker.cancel()
    running.end()
    assert running.listener.told == ["startup", "shutdown"]


def test_a_request_that_waits_is_given_up_for_a_newer_one() -> None:
    running = Running()
    first: FutureCallback[TargetState] = FutureCallback()
    running.worker.transition_to(PAUSED, first)
    second: FutureCallback[TargetState] = FutureCallback()
    running.worker.transition_to(STARTED, second)
    running.worker.start()
    assert second.result(10) is STARTED
    with pytest.raises(ConnectException, match="has pre-empted this one"):
        first.result(10)
    running.end()
