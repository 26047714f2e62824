"""What the herder's thread decides without I/O: changes that wait, work that runs, keys that end."""

from __future__ import annotations

from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.herder.pending_changes import PendingChanges, TakenChanges
from kafkapy.connect.herder.running_work import RunningWork
from kafkapy.connect.herder.session_keys import SessionKeyRotation
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest

TASK, OTHER = ConnectorTaskId("a", 0), ConnectorTaskId("b", 0)


def test_new_and_removed_connectors_need_a_rebalance() -> None:
    changes = PendingChanges()
    changes.connector_updated("new", known=False)
    assert changes.take(eager=False) == TakenChanges(True, [], [], [])
    changes.connector_removed("gone", known=True)
    assert changes.needs_rebalance
    assert changes.take(eager=False) == TakenChanges(True, [], [], [])
    changes.connector_removed("gone", known=False)  # the herder has the state without it: it only stops
    assert changes.take(eager=False) == TakenChanges(False, ["gone"], [], [])
    assert changes.take(eager=False) is None


def test_changes_are_taken_once_and_together() -> None:
    changes = PendingChanges()
    for connector in ("b", "a", "b"):
        changes.connector_updated(connector, known=True)
        changes.target_changed(connector)
    changes.tasks_updated([TASK])
    assert changes.take(eager=False) == TakenChanges(True, ["b", "a"], ["b", "a"], [TASK])
    assert not changes.needs_rebalance


def test_of_restarts_the_one_with_the_largest_impact_remains() -> None:
    changes = PendingChanges()
    all_tasks = RestartRequest("a", only_failed=False, include_tasks=True)
    for request in (RestartRequest("a", True, False), all_tasks, RestartRequest("a", True, True)):
        changes.restart_requested(request)
    assert changes.take_restarts() == [all_tasks]
    assert changes.take_restarts() == []


def test_only_what_does_not_run_is_started() -> None:
    work = RunningWork()
    assignment = ConnectAssignment(connectors=("a", "b"), tasks=(TASK, OTHER))
    assert work.missing(assignment) == (["a", "b"], [TASK, OTHER])
    work.started(assignment)
    work.stopped_to_restart([TASK])
    assert work.missing(assignment) == ([], [TASK])
    work.started(assignment)
    work.stopped(["b"], [OTHER])
    assert work.missing(assignment) == (["b"], [OTHER])
    work.started(None)
    assert work.missing(assignment) == (["a", "b"], [TASK, OTHER])


def test_a_key_without_end_is_replaced_only_if_the_worker_wants_another_kind() -> None:
    keys = SessionKeyRotation("HmacSHA256", None, ttl_ms=0)
    key = keys.new_key(0)
    keys.replace_by(key)
    assert not keys.is_due(10**15)
    longer = SessionKeyRotation("HmacSHA256", 512, ttl_ms=0)
    longer.replace_by(key)
    assert longer.is_due(0)


def test_while_a_new_key_is_written_no_other_is_due() -> None:
    keys = SessionKeyRotation("HmacSHA256", None, ttl_ms=10)
    keys.replace_by(keys.new_key(0))
    assert (keys.is_due(9), keys.is_due(10)) == (False, True)
    key = keys.new_key(10)
    assert not keys.is_due(10)
    keys.replace_by(key)
    assert keys.expires_ms == 20
