from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, SessionKey, TargetState
from kafkapy.connect.topics.config_store import KafkaConfigStore, PrivilegedWriteException
from kafkapy.errors import KafkaTimeoutError
from kafkapy.protocol.errors import Errors, KafkaError
from tests.connect.topics.fake_log import FakeLog


class Told:
    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


def store(make_fenced_producer: Any = None) -> tuple[KafkaConfigStore, FakeLog, Told]:
    logs: list[FakeLog] = []

    def make_log(on_record: Any) -> Any:
        logs.append(FakeLog(on_record))
        return logs[0]

    made = KafkaConfigStore("configs", make_log, make_fenced_producer=make_fenced_producer)
    told = Told()
    made.set_update_listener(told)
    made.start()
    return made, logs[0], told


def test_records_have_the_bytes_of_kafkas_workers() -> None:
    configs, log, _ = store()
    configs.put_connector_config("a", {"name": "a", "x": None}, TargetState.STOPPED)
    configs.put_task_configs("a", [{"k": "v"}])
    configs.put_session_key(SessionKey(b"\x01\x02", "HmacSHA256", 7))
    configs.put_restart_request(RestartRequest("a", include_tasks=True))
    configs.put_logger_level("root", "DEBUG")
    configs.put_task_count_record("a", 1)
    configs.remove_connector_config("a")
    assert [(record.key, record.value) for record in log.records] == [
        (b"target-state-a", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        (b"connector-a", b'{"properties":{"name":"a","x":null}}'),
        (b"task-a-0", b'{"properties":{"k":"v"}}'),
        (b"commit-a", b'{"tasks":1}'),
        (b"session-key", b'{"key":"AQI=","algorithm":"HmacSHA256","creation-timestamp":7}'),
        (b"restart-connector-a", b'{"include-tasks":true,"only-failed":false}'),
        (b"logger-cluster-root", b'{"level":"DEBUG"}'),
        (b"tasks-fencing-a", b'{"task-count":1}'),
        (b"connector-a", None),
        (b"target-state-a", None),
    ]


def test_tasks_come_into_force_with_their_commit() -> None:
    configs, log, told = store()
    configs.put_connector_config("a", {"name": "a"})
    log.feed(b"task-a-0", b'{"properties":{"n":"0"}}')
    assert configs.snapshot().tasks("a") == []
    log.feed(b"commit-a", b'{"tasks":1}')
    snapshot = configs.snapshot()
    assert snapshot.raw_task_config(ConnectorTaskId("a", 0)) == {"n": "0"}
    assert snapshot.task_config_generation("a") == 0 and snapshot.pending_fencing("a")
    assert told.calls == [("on_connector_config_update", "a"), ("on_task_config_update", [ConnectorTaskId("a", 0)])]


def test_a_connector_without_all_its_tasks_is_inconsistent_until_they_come() -> None:
    configs, log, _ = store()
    configs.put_connector_config("a", {"name": "a"})
    log.feed(b"task-a-1", b'{"properties":{}}')
    log.feed(b"commit-a", b'{"tasks":2}')
    assert configs.snapshot().inconsistent_connectors == {"a"} and configs.snapshot().task_count("a") == 2
    configs.put_task_configs("a", [{}, {}])
    assert not configs.snapshot().inconsistent_connectors


def test_the_commit_of_a_deleted_connector_is_ignored() -> None:
    configs, log, told = store()
    log.feed(b"task-a-0", b'{"properties":{}}')
    log.feed(b"commit-a", b'{"tasks":1}')
    assert configs.snapshot().task_count("a") == 0 and told.calls == []


def test_a_target_state_is_told_when_it_changes() -> None:
    configs, log, told = store()
    log.feed(b"target-state-a", b'{"state":"PAUSED"}')
    configs.put_connector_config("a", {})
    told.calls.clear()
    configs.put_target_state("a", TargetState.PAUSED)
    assert told.calls == [] and configs.snapshot().target_state("a") is TargetState.PAUSED
    configs.put_target_state("a", TargetState.STOPPED)
    assert told.calls == [("on_connector_target_state_change", "a")]
    log.feed(b"target-state-a", None)
    assert configs.snapshot().target_state("a") is TargetState.STARTED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"connector-a", b"[]"),
        (b"connector-a", b"{"),
        (b"connector-a", b'{"properties":[]}'),
        (b"commit-a", b'{"tasks":99999999999}'),
        (b"task-0", b'{"properties":{}}'),
        (b"task-a-x", b'{"properties":{}}'),
        (b"target-state-a", b'{"state":"RESTING"}'),
        (b"session-key", b'{"key":"?","algorithm":"HmacSHA256","creation-timestamp":1}'),
        (b"session-key", b"null"),
        (b"unknown", b"{}"),
        (b"\xff", b"{}"),
        (None, b"{}"),
    ],
)
def test_a_broken_record_changes_nothing(key: bytes | None, value: bytes) -> None:
    configs, log, told = store()
    log.feed(b"connector-a", b'{"properties":{"x":"1"}}')
    before, calls = configs.snapshot(), list(told.calls)
    log.feed(key, value)
    after = configs.snapshot()
    assert (after.connector_configs, after.task_counts, after.target_states, after.session_key) == (
        before.connector_configs,
        before.task_counts,
        before.target_states,
        before.session_key,
    )
    assert told.calls == calls


def test_a_config_is_read_in_the_order_of_javas_maps() -> None:
    configs, log, _ = store()
    log.feed(b"connector-a", b'{"properties":{"tasks.max":"1","topic":"t","name":"a","file":"/f"}}')
    config = configs.snapshot().raw_connector_config("a")
    assert list(config or ()) == hash_map_order(["tasks.max", "topic", "name", "file"])


def test_a_failed_write_is_a_connect_exception() -> None:
    configs, log, _ = store()
    log.errors.append(KafkaTimeoutError())
    with pytest.raises(ConnectException, match="Error writing target state to Kafka"):
        configs.put_target_state("a", TargetState.PAUSED)


def test_a_fenced_leader_may_write_no_more_until_it_claims_it_again() -> None:
    class Fenced:
        def __getattr__(self, name: str) -> Any:
            return lambda *arguments, **options: None

        def commit_transaction(self) -> None:
            raise KafkaError(Errors.INVALID_PRODUCER_EPOCH)

    configs, _, _ = store(Fenced)
    with pytest.raises(ConnectException, match="without claiming write privileges"):
        configs.put_connector_config("a", {})
    configs.claim_write_privileges()
    with pytest.raises(PrivilegedWriteException):
        configs.put_connector_config("a", {})
    with pytest.raises(ConnectException, match="without claiming"):
        configs.put_connector_config("a", {})
