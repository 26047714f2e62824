from __future__ import annotations

from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId, RestartRequest, SessionKey, StatusState


def test_tasks_of_a_connector_without_all_configs_are_hidden() -> None:
    state = ClusterConfigState(task_counts={"a": 2, "b": 1}, inconsistent_connectors=frozenset({"b"}))
    assert state.tasks("a") == [ConnectorTaskId("a", 0), ConnectorTaskId("a", 1)]
    assert state.tasks("b") == [] and state.tasks("c") == []


def test_configs_are_transformed_and_raw_ones_are_not() -> None:
    state = ClusterConfigState(
        connector_configs={"a": {"x": "${env::X}"}}, transformer=lambda name, config: {"x": f"of {name}"}
    )
    assert state.connector_config("a") == {"x": "of a"}
    assert state.raw_connector_config("a") == {"x": "${env::X}"}
    assert state.connector_config("b") is None


def test_a_restart_request_says_what_it_restarts() -> None:
    request = RestartRequest("a", only_failed=True, include_tasks=True)
    assert request.should_restart_task(StatusState.FAILED) and not request.should_restart_task(StatusState.RUNNING)
    assert not RestartRequest("a").should_restart_task(StatusState.FAILED)
    assert [
        RestartRequest("a", f, t).impact for f, t in ((True, False), (True, True), (False, False), (False, True))
    ] == [
        0,
        1,
        2,
        3,
    ]


def test_a_session_key_does_not_show() -> None:
    assert "secret" not in repr(ClusterConfigState(session_key=SessionKey(b"secret", "HmacSHA256", 1)))
