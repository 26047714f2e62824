"""Heartbeats."""

from __future__ import annotations

import pytest

from kafkapy.connect.errors import ConnectException
from kafkapy.mirror import Heartbeat
from kafkapy.mirror.heartbeat_connector import MirrorHeartbeatConnector, MirrorHeartbeatTask
from kafkapy.mirror.internal_topics import create_compacted_topic
from kafkapy.mirror.poll_pause import PollPause
from kafkapy.protocol.errors import Errors, KafkaError
from tests.mirror.fake_admin import FakeAdmin
from tests.mirror.mirror_configs import BASE


def test_a_heartbeat() -> None:
    task = MirrorHeartbeatTask(lambda: 12.5)
    task.start(BASE | {"emit.heartbeats.interval.seconds": "0"})
    (record,) = task.poll() or ()
    assert (record.topic, record.kafka_partition, record.timestamp) == ("heartbeats", 0, 12500)
    assert record.source_partition == {"sourceClusterAlias": "A", "targetClusterAlias": "B"}
    assert record.source_offset == {"offset": 0}
    assert Heartbeat.from_record(record.key, record.value) == Heartbeat("A", "B", 12500)
    task.stop()
    assert task.poll() is None


def test_tasks_of_the_connector() -> None:
    connector = MirrorHeartbeatConnector()
    connector.start(BASE)
    assert connector.task_configs(5) == [BASE] and connector.task_class() is MirrorHeartbeatTask
    connector.stop()
    connector.start(BASE | {"emit.heartbeats.enabled": "false"})
    assert connector.task_configs(5) == []
    connector.stop()


def test_own_topics_are_compacted() -> None:
    admin = FakeAdmin()
    create_compacted_topic(admin, "x", 1)
    create_compacted_topic(admin, "x", 1)
    assert admin.configs == {"x": {"cleanup.policy": "compact"}} and admin.topics == {"x": 1}
    admin.errors["create_topics"] = KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED)
    create_compacted_topic(admin, "y", 1)
    admin.errors["create_topics"] = KafkaError(Errors.INVALID_REPLICATION_FACTOR)
    with pytest.raises(ConnectException, match="Error while attempting to create/find topic 'y'"):
        create_compacted_topic(admin, "y", 9)


def test_a_pause_is_cut_in_pieces() -> None:
    now = [0.0]
    pause = PollPause(10, longest_wait_s=0, clock=lambda: now[0])
    found = []
    for seconds in (5, 10, 11, 19.9, 20, 35, 36):
        now[0] = seconds
        found.append(pause.wait())
    assert found == [False, True, False, False, True, True, False]
    pause.stop()
    now[0] = 100
    assert not pause.wait() and pause.is_stopped
    assert not PollPause(None, longest_wait_s=0).wait()
