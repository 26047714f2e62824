from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.storage import ConnectorStatus, ConnectorTaskId, StatusState, TaskStatus, TopicStatus
from kafkapy.connect.topics.status_store import KafkaStatusStore
from tests.connect.topics.fake_log import FakeLog

TASK = ConnectorTaskId("a-b", 1)


def store() -> tuple[KafkaStatusStore, FakeLog]:
    logs: list[FakeLog] = []

    def make_log(on_record: Any) -> Any:
        logs.append(FakeLog(on_record))
        return logs[0]

    return KafkaStatusStore(make_log), logs[0]


def test_records_have_the_bytes_of_kafkas_workers() -> None:
    statuses, log = store()
    statuses.put_connector(ConnectorStatus("a-b", StatusState.FAILED, "w:1", 2, 'at\n"x"\x1f'))
    statuses.put_task(TaskStatus(TASK, StatusState.RUNNING, "w:1", 2))
    statuses.put_topic(TopicStatus("t.1", "a-b", 1, 99))
    assert [(record.key, record.value) for record in log.records] == [
        (
            b"status-connector-a-b",
            b'{"state":"FAILED","trace":"at\\n\\"x\\"\\u001F","worker_id":"w:1","generation":2}',
        ),
        (b"status-task-a-b-1", b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":2}'),
        (
            b"status-topic-t.1:connector-a-b",
            b'{"topic":{"name":"t.1","connector":"a-b","task":1,"discoverTimestamp":99}}',
        ),
    ]
    assert statuses.task(TASK) == TaskStatus(TASK, StatusState.RUNNING, "w:1", 2)
    assert [status.topic for status in statuses.all_topics("a-b")] == ["t.1"]


def test_a_safe_write_gives_way_to_a_later_generation_of_another_worker() -> None:
    statuses, log = store()
    statuses.put_task(TaskStatus(TASK, StatusState.RUNNING, "other:1", 5))
    statuses.put_task_safe(TaskStatus(TASK, StatusState.UNASSIGNED, "me:1", 4))
    assert len(log.records) == 1
    statuses.put_task_safe(TaskStatus(TASK, StatusState.UNASSIGNED, "me:1", 5))
    assert len(log.records) == 2


def test_an_unassigned_task_does_not_hide_that_it_runs_elsewhere() -> None:
    statuses, log = store()
    statuses.put_task(TaskStatus(TASK, StatusState.RUNNING, "other:1", 5))
    log.feed(b"status-task-a-b-1", b'{"state":"UNASSIGNED","trace":null,"worker_id":"me:1","generation":5}')
    status = statuses.task(TASK)
    assert status is not None and status.state is StatusState.RUNNING


def test_a_tombstone_of_a_connector_takes_its_tasks_with_it() -> None:
    statuses, _ = store()
    statuses.put_connector(ConnectorStatus("a-b", StatusState.RUNNING, "w:1", 1))
    statuses.put_task(TaskStatus(TASK, StatusState.RUNNING, "w:1", 1))
    statuses.put_topic(TopicStatus("t", "a-b", 0, 1))
    statuses.put_connector(ConnectorStatus("a-b", StatusState.DESTROYED, "w:1", 1))
    statuses.delete_topic("a-b", "t")
    assert statuses.connectors() == [] and statuses.all_tasks("a-b") == [] and statuses.all_topics("a-b") == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"status-connector-", b"{}"),
        (b"status-connector-a", b'{"state":"ASLEEP","worker_id":"w","generation":1}'),
        (b"status-connector-a", b"{"),
        (b"status-task-a", b"{}"),
        (b"status-task-a-x", b"{}"),
        (b"status-topic-t", b"{}"),
        (b"status-topic-t:connector-a", b'{"topic":{"name":1}}'),
        (b"other", None),
        (None, None),
    ],
)
def test_a_broken_record_is_left_out(key: bytes | None, value: bytes | None) -> None:
    statuses, log = store()
    log.feed(key, value)
    assert statuses.connector("a") is None and statuses.all_tasks("a") == [] and statuses.all_topics("a") == []
