"""`kafkapy.connect.herder.standalone_herder`, with a worker that notes what it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.connect.errors import AlreadyExistsException, BadRequestException, ConnectException, NotFoundException
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.connect.herder.standalone_herder import StandaloneHerder
from kafkapy.connect.runtime.memory_stores import MemoryConfigStore, MemoryStatusStore
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, StatusState, TargetState
from tests.connect.herder.cluster import FakeWorker
from tests.waiting import wait_until

CONFIG = {"name": "c", "connector.class": "K"}


class Valid:
    """What a validation without errors has found."""

    error_count = 0


class Herder(StandaloneHerder):
    def validation(self, config: Any) -> Any:
        return Valid()

    def connector_type(self, config: Any) -> str:
        return "source"


class Alone:
    def __init__(self) -> None:
        self.worker = FakeWorker()
        self.statuses = MemoryStatusStore()
        worker: Any = self.worker
        self.herder = Herder(
            HerderSettings(""),
            worker=worker,
            cluster_id="id",
            status_store=self.statuses,
            config_store=MemoryConfigStore(),
        )

    def ask(self, method: str, *arguments: Any) -> Any:
        callback: FutureCallback[Any] = FutureCallback()
        getattr(self.herder, method)(*arguments, callback)
        return callback.result(10)

    def put(self, config: dict[str, Any] | None = None, replace: bool = False, state: TargetState | None = None) -> Any:
        callback: FutureCallback[Any] = FutureCallback()
        self.herder.put_connector_config("c", config or CONFIG, callback, replace, state)
        return callback.result(10)


@pytest.fixture
def alone() -> Iterator[Alone]:
    alone = Alone()
    alone.herder.start()
    yield alone
    alone.herder.stop()


def test_a_connector_is_made_with_its_tasks(alone: Alone) -> None:
    created = alone.put()
    assert created.created and created.info.tasks == [ConnectorTaskId("c", 0)]
    assert alone.herder.connector_names() == ["c"]
    assert alone.herder.connector_status("c").connector.state is StatusState.RUNNING
    assert alone.ask("tasks_config", "c") == {ConnectorTaskId("c", 0): {"n": "0"}}


def test_one_that_is_there_is_changed_only_if_that_was_asked_for(alone: Alone) -> None:
    alone.put()
    with pytest.raises(AlreadyExistsException):
        alone.put()
    alone.worker.task_configs = [{"n": "1"}]
    assert not alone.put({**CONFIG, "a": "b"}, replace=True).created
    assert ("stop_and_await_connector", "c") in alone.worker.calls
    assert alone.ask("task_configs", "c") == [(ConnectorTaskId("c", 0), {"n": "1"})]


def test_tasks_stay_when_their_configs_do(alone: Alone) -> None:
    alone.put()
    alone.put(replace=True)
    assert alone.worker.names("start_task") == [ConnectorTaskId("c", 0)]


def test_a_patch_takes_and_gives_keys(alone: Alone) -> None:
    alone.put({**CONFIG, "a": "1", "b": "2"})
    alone.ask("patch_connector_config", "c", {"a": None, "b": "3"})
    assert alone.ask("connector_config", "c") == {**CONFIG, "b": "3"}


def test_a_deleted_connector_leaves_nothing(alone: Alone) -> None:
    alone.put()
    alone.ask("delete_connector_config", "c")
    assert alone.herder.connector_names() == [] and alone.statuses.connectors() == []
    assert alone.statuses.all_tasks("c") == []
    with pytest.raises(NotFoundException):
        alone.ask("delete_connector_config", "c")


def test_a_stopped_connector_has_no_tasks_until_it_is_resumed(alone: Alone) -> None:
    alone.put()
    alone.ask("stop_connector", "c")
    assert ("set_target_state", "c", TargetState.STOPPED) in alone.worker.calls
    assert alone.ask("task_configs", "c") == []
    alone.herder.resume_connector("c")
    assert alone.worker.names("set_target_state") == ["c", "c"]


def test_one_made_paused_gets_no_tasks(alone: Alone) -> None:
    assert alone.put(state=TargetState.PAUSED).info.tasks == []


def test_offsets_change_only_while_it_is_stopped(alone: Alone) -> None:
    alone.put()
    with pytest.raises(BadRequestException, match="must be in the STOPPED state"):
        alone.ask("alter_connector_offsets", "c", [({"f": "a"}, None)])
    with pytest.raises(NotFoundException):
        alone.ask("reset_connector_offsets", "other")


def test_a_restart_of_what_has_failed(alone: Alone) -> None:
    alone.put()
    task = ConnectorTaskId("c", 0)
    alone.herder.task_reports.on_failure(task, ConnectException("no"))
    info = alone.ask("restart_connector_and_tasks", RestartRequest("c", only_failed=True, include_tasks=True))
    assert info.tasks[0].state is StatusState.RESTARTING and info.connector.state is StatusState.RUNNING
    assert alone.worker.names("start_task") == [task, task]
    assert alone.worker.names("start_connector") == ["c"]


def test_a_connector_that_failed_at_its_start_gets_tasks_when_it_is_restarted(alone: Alone) -> None:
    alone.worker.task_configs = []
    alone.put()
    alone.herder.connector_reports.on_failure("c", ConnectException("no"))
    alone.worker.task_configs = [{"n": "0"}]
    alone.ask("restart_connector_and_tasks", RestartRequest("c", only_failed=True, include_tasks=True))
    wait_until(lambda: alone.worker.names("start_task") == [ConnectorTaskId("c", 0)])


def test_a_task_is_restarted(alone: Alone) -> None:
    alone.put()
    alone.ask("restart_task", ConnectorTaskId("c", 0))
    assert alone.worker.names("stop_and_await_task") == [ConnectorTaskId("c", 0)]
    with pytest.raises(NotFoundException):
        alone.ask("restart_task", ConnectorTaskId("c", 7))


def test_a_connector_that_hangs_holds_up_no_other(alone: Alone) -> None:
    release = threading.Event()
    hang, running = alone.worker.connector_task_configs, threading.Event()

    def task_configs(name: str, config: Any) -> Any:
        if name == "hangs":
            running.set()
            release.wait(30)
        return hang(name, config)

    alone.worker.connector_task_configs = task_configs  # type: ignore[method-assign]
    late: FutureCallback[Any] = FutureCallback()
    alone.herder.put_connector_config("hangs", {**CONFIG, "name": "hangs"}, late)
    assert running.wait(10)
    assert alone.put().created and not late.done
    release.set()
    assert late.result(10).created
