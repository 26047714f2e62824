from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from kafkapy.connect.errors import (
    AlreadyExistsException,
    BadRequestException,
    ConnectRestException,
    NotAssignedException,
    NotFoundException,
    NotLeaderException,
    StartCancelled,
)
from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.herder.callbacks import FutureCallback
from kafkapy.connect.herder.session_keys import RequestSignature, signature_headers
from kafkapy.connect.storage import (
    ConnectorStatus,
    ConnectorTaskId,
    RestartRequest,
    StatusState,
    TargetState,
    TaskStatus,
)
from tests.connect.herder.cluster import ME, OneWorker
from tests.waiting import HANG_SECONDS, wait_until

TASK = ConnectorTaskId("a", 0)


@pytest.fixture
def one() -> OneWorker:
    return OneWorker()


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_connector_that_is_created_runs_with_its_tasks(version: int) -> None:
    one = OneWorker(version)
    one.create(tasks=2)
    one.turn()
    assert one.worker.names("start_connector")[0] == "a"
    assert one.worker.names("start_task")[-2:] == [TASK, ConnectorTaskId("a", 1)]
    assert one.herder.connector_status("a").connector.state is StatusState.RUNNING
    assert [task.id for task in one.herder.connector_status("a").tasks] == [0, 1]


def test_the_leader_writes_a_session_key_once(one: OneWorker) -> None:
    one.turn()
    keys = [record for record in one.config_log.records if record.key == b"session-key"]
    assert len(keys) == 1 and one.herder.session_key is not None
    one.time.advance(3_600_000)
    one.turn()
    assert len([record for record in one.config_log.records if record.key == b"session-key"]) == 2


def test_names_are_taken_once(one: OneWorker) -> None:
    one.create()
    with pytest.raises(AlreadyExistsException, match="Connector a already exists"):
        one.ask("put_connector_config", "a", {}, False)
    assert one.ask("put_connector_config", "a", {"x": "1"}).created is False


def test_a_changed_config_restarts_its_connector_and_its_tasks(one: OneWorker) -> None:
    one.create()
    one.worker.calls.clear()
    one.ask("put_connector_config", "a", {"name": "a", "y": "2"})
    one.turn()
    assert one.worker.names("stop_and_await_connector") == ["a"]
    assert one.worker.names("start_connector") == ["a"]
    assert one.worker.names("stop_and_await_tasks") == [[TASK]] and one.worker.names("start_task") == [TASK]


def test_a_task_that_needs_no_other_config_goes_on(one: OneWorker) -> None:
    one.create()
    written = len(one.config_log.records)
    one.herder.request_task_reconfiguration("a")
    one.turn()
    assert len(one.config_log.records) == written


def test_a_patch_takes_keys_away(one: OneWorker) -> None:
    one.create()
    one.herder.config_store.put_connector_config("a", {"name": "a", "x": "1", "y": "2"})
    created = one.ask("patch_connector_config", "a", {"x": None, "z": "3"})
    assert created.info.config == {"name": "a", "y": "2", "z": "3"}
    with pytest.raises(NotFoundException, match="Connector b not found"):
        one.ask("patch_connector_config", "b", {})


def test_a_deleted_connector_is_stopped_and_forgotten(one: OneWorker) -> None:
    one.create()
    one.member.give = lambda: ConnectAssignment(
        2, 0, ME, "u", one.herder.config_store.snapshot().offset, (), (), ("a",), (TASK,)
    )
    one.herder.config_store.remove_connector_config("a")
    one.herder.on_revoked(ME, ("a",), (TASK,))
    one.turn()
    assert "a" in one.worker.names("stop_and_await_connector") and TASK in one.worker.names("stop_and_await_task")
    with pytest.raises(NotFoundException, match="No status found for connector a"):
        one.herder.connector_status("a")


def test_pausing_and_stopping(one: OneWorker) -> None:
    one.create()
    one.herder.pause_connector("a")
    one.turn()
    assert ("set_target_state", "a", TargetState.PAUSED) in one.worker.calls
    one.ask("stop_connector", "a")
    state = one.herder.config_store.snapshot()
    assert state.target_state("a") is TargetState.STOPPED and state.task_count("a") == 0
    with pytest.raises(NotFoundException, match="Unknown connector b"):
        one.herder.pause_connector("b")
    with pytest.raises(NotFoundException, match="Unknown connector b"):
        one.ask("stop_connector", "b")


def test_only_the_leader_changes_configs(one: OneWorker) -> None:
    one.create()
    one.member.leader = "another"
    one.member.request_rejoin()
    one.turn()
    for method, arguments in (
        ("put_connector_config", ("a", {})),
        ("patch_connector_config", ("a", {})),
        ("delete_connector_config", ("a",)),
        ("stop_connector", ("a",)),
        ("reset_connector_offsets", ("a",)),
        ("restart_connector_and_tasks", (RestartRequest("a", include_tasks=True),)),
    ):
        with pytest.raises(NotLeaderException) as refused:
            one.ask(method, *arguments)
        assert refused.value.forward_url == "http://me:1"


def test_a_restart_goes_to_the_owner(one: OneWorker) -> None:
    one.create()
    one.worker.calls.clear()
    one.ask("restart_connector", "a")
    one.ask("restart_task", TASK)
    assert one.worker.names("start_connector") == ["a"] and one.worker.names("start_task") == [TASK]
    one.member.give = lambda: ConnectAssignment(2, 0, ME, "u", one.herder.config_store.snapshot().offset)
    one.member.request_rejoin()
    one.turn()
    for method, asked in (("restart_connector", "a"), ("restart_task", TASK)):
        with pytest.raises(NotAssignedException) as refused:
            one.ask(method, asked)
        assert refused.value.forward_url == "http://owner:1"
    with pytest.raises(NotFoundException, match="Unknown task: a-7"):
        one.ask("restart_task", ConnectorTaskId("a", 7))


def test_only_failed_tasks_are_restarted_if_asked(one: OneWorker) -> None:
    one.create(tasks=2)
    one.herder.status_store.put_task(TaskStatus(TASK, StatusState.FAILED, "me:1", 1, "why"))
    one.worker.calls.clear()
    info = one.ask("restart_connector_and_tasks", RestartRequest("a", only_failed=True, include_tasks=True))
    assert info.connector.state is StatusState.RUNNING
    assert [task.state.name for task in info.tasks] == ["RESTARTING", "RUNNING"]
    assert one.worker.names("start_connector") == [] and one.worker.names("start_task") == [TASK]


def test_a_request_of_less_impact_does_not_replace_one_of_more(one: OneWorker) -> None:
    one.create()
    one.worker.calls.clear()
    one.herder.on_restart_request(RestartRequest("a", include_tasks=True))
    one.herder.on_restart_request(RestartRequest("a", only_failed=True))
    one.turn()
    assert one.worker.names("start_task") == [TASK]


def test_offsets_change_only_while_the_connector_is_stopped(one: OneWorker) -> None:
    one.create()
    with pytest.raises(BadRequestException, match="must be in the STOPPED state"):
        one.ask("reset_connector_offsets", "a")
    one.ask("stop_connector", "a")
    callback: FutureCallback[Any] = FutureCallback()
    one.herder.reset_connector_offsets("a", callback)
    one.turn()
    assert one.worker.names("modify_connector_offsets") == ["a"]


def test_requests_between_workers_are_signed(one: OneWorker) -> None:
    one.create()
    key = one.herder.session_key
    assert key is not None
    with pytest.raises(BadRequestException, match="missing required signature"):
        one.ask("put_task_configs", "a", [], None)
    bad = RequestSignature(b"[]", "HmacSHA256", b"wrong")
    with pytest.raises(ConnectRestException, match="invalid signature") as refused:
        one.ask("put_task_configs", "a", [], bad)
    assert refused.value.status == 403
    with pytest.raises(BadRequestException, match="does not support the 'HmacSHA512' key signing algorithm"):
        one.ask("put_task_configs", "a", [], RequestSignature(b"", "HmacSHA512", b""))
    headers = {name.lower(): value for name, value in signature_headers(key.key, "HmacSHA256", b"[]").items()}
    one.ask("put_task_configs", "a", [{"n": "7"}], RequestSignature.from_headers(b"[]", headers))
    assert one.herder.config_store.snapshot().raw_task_config(TASK) == {"n": "7"}


def test_task_configs_of_a_follower_go_to_the_leader(one: OneWorker) -> None:
    one.member.leader = "another"
    one.member.request_rejoin()
    one.turn()
    one.herder.config_store.put_connector_config("a/b", {"name": "a/b"})
    one.turn()
    one.herder._leader_requests.shutdown(wait=True)
    assert one.client.sent == [("http://me:1/connectors/a%2Fb/tasks", "POST", [{"n": "0"}])]


def test_no_secret_of_a_provider_gets_into_the_tasks_configs(one: OneWorker) -> None:
    one.worker.task_configs = [{"password": "secret", "n": "0"}]
    one.ask("put_connector_config", "a", {"name": "a", "password": "${env::P}"})
    one.turn()
    assert one.herder.config_store.snapshot().raw_task_config(TASK) == {"password": "${env::P}", "n": "0"}


def test_statuses_of_what_is_gone_are_taken_away_by_a_new_leader(one: OneWorker) -> None:
    one.create()
    one.herder.status_store.put_connector(ConnectorStatus("gone", StatusState.RUNNING, "w:1", 0))
    one.herder.status_store.put_task(TaskStatus(ConnectorTaskId("a", 9), StatusState.RUNNING, "w:1", 0))
    one.member.request_rejoin()
    one.turn()
    assert one.herder.status_store.connectors() == ["a"]
    assert [status.id for status in one.herder.status_store.all_tasks("a")] == [TASK]


def test_a_task_with_exactly_once_support_is_fenced_before_it_starts() -> None:
    one = OneWorker(exactly_once_source=True)
    one.create(tasks=2)
    one.ask("fence_zombie_source_tasks", "a", _signed(one))
    assert one.herder.config_store.snapshot().task_count_record("a") == 2
    assert one.worker.names("fence_zombies") == []
    one.herder.config_store.put_task_configs("a", [{}])
    one.turn()
    fenced: FutureCallback[None] = FutureCallback()
    one.herder.fence_zombie_source_tasks("a", fenced, _signed(one))
    one.turn()
    assert ("fence_zombies", "a", 2) in one.worker.calls and not fenced.done
    one.worker.fenced.set_result(None)
    one.turn()
    fenced.result(timeout_s=5)
    assert one.herder.config_store.snapshot().task_count_record("a") == 1


def _fencing_by_a_leader_that_answers(error: ConnectRestException) -> tuple[OneWorker, Future[None]]:
    """A worker that is not the leader, whose task waits for fencing."""
    one = OneWorker(exactly_once_source=True)
    one.create()
    one.member.leader = "other"
    one.member.request_rejoin()
    one.turn()
    one.client.error = error
    fencing = ThreadPoolExecutor(1).submit(one.worker.checks[0])
    turn_until(one, lambda: bool(one.client.sent))
    return one, fencing


def turn_until(one: OneWorker, condition: Callable[[], bool]) -> None:
    def turned() -> bool:
        one.time.sleep(0.1)
        one.turn()
        return condition()

    wait_until(turned)


def test_a_task_waits_for_a_leader_that_starts() -> None:
    one, fencing = _fencing_by_a_leader_that_answers(ConnectRestException(503, "still starting up"))
    assert not fencing.done()
    one.client.error = None
    turn_until(one, fencing.done)
    fencing.result()
    assert one.client.sent[-1][0].endswith("connectors/a/fence")


def test_a_task_does_not_wait_for_a_fencing_that_fails() -> None:
    one, fencing = _fencing_by_a_leader_that_answers(ConnectRestException(500, "not authorized"))
    turn_until(one, fencing.done)
    with pytest.raises(ConnectRestException, match="not authorized"):
        fencing.result()


def test_new_tasks_end_a_fencing_that_runs() -> None:
    one = OneWorker(exactly_once_source=True)
    one.create(tasks=2)
    one.ask("fence_zombie_source_tasks", "a", _signed(one))
    one.herder.config_store.put_task_configs("a", [{}])
    one.turn()
    fenced: FutureCallback[None] = FutureCallback()
    one.herder.fence_zombie_source_tasks("a", fenced, _signed(one))
    one.turn()
    one.herder.config_store.put_task_configs("a", [{}, {}])
    with pytest.raises(ConnectRestException, match="new set of task configs") as refused:
        fenced.result(timeout_s=5)
    assert refused.value.status == 409


def test_waiting_requests_are_answered_when_the_worker_stops(one: OneWorker) -> None:
    waiting: FutureCallback[Any] = FutureCallback()
    one.herder.connectors(waiting)
    one.herder.request_stop()
    one.herder.run()
    with pytest.raises(Exception, match="Worker is shutting down"):
        waiting.result(timeout_s=5)


def test_a_worker_that_stops_before_it_has_started_has_not_failed(one: OneWorker) -> None:
    started, failures = threading.Event(), []

    def start() -> None:
        one.herder.request_stop()
        started.set()
        raise StartCancelled("stopped")

    one.worker.start = start  # type: ignore[attr-defined]
    one.herder.start(lambda: failures.append(one.herder.failure))
    assert started.wait(HANG_SECONDS)
    one.herder.stop()
    assert failures == [] and one.herder.failure is None
    assert ("stop",) in one.worker.calls


@pytest.mark.usefixtures("logging_restored")
def test_a_loggers_level_is_set_on_all_workers(one: OneWorker) -> None:
    one.herder.set_cluster_logger_level("kafkapy.test.cluster", "debug")
    level = one.herder.loggers.level("kafkapy.test.cluster")
    assert level is not None and level["level"] == "DEBUG"


def _signed(one: OneWorker) -> RequestSignature | None:
    key = one.herder.session_key
    assert key is not None
    headers = signature_headers(key.key, "HmacSHA256", b"")
    return RequestSignature.from_headers(b"", {name.lower(): value for name, value in headers.items()})
