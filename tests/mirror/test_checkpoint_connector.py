"""The connector that translates offsets of groups, and its tasks."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.errors import RetriableException
from kafkapy.mirror import Checkpoint, OffsetSync
from kafkapy.mirror.checkpoint_connector import GroupFinder, MirrorCheckpointConnector, group_partitions
from kafkapy.mirror.checkpoint_task import MirrorCheckpointTask
from kafkapy.mirror.config.checkpoint_config import MirrorCheckpointConfig
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from tests.mirror.fake_admin import FakeAdmin
from tests.mirror.fake_consumer import FakeConsumer, record
from tests.mirror.mirror_configs import BASE
from tests.mirror.test_source_connector import Context
from tests.waiting import wait_until

T0, A0 = TopicPartition("t", 0), TopicPartition("A.t", 0)


def finder(**groups: str) -> GroupFinder:
    admin = FakeAdmin()
    for group, topic in groups.items():
        admin.offsets[group] = {TopicPartition(topic, 0): OffsetAndMetadata(1)}
    config = MirrorCheckpointConfig(BASE | {"topics": "t", "groups.exclude": "x"})
    return GroupFinder(admin, config.topic_filter(), config.group_filter())


def test_groups_that_read_chosen_topics() -> None:
    assert finder(b="t", a="t", x="t", c="u").find() == ["a", "b"]


def begun(found: GroupFinder, **configs: str) -> MirrorCheckpointConnector:
    connector = MirrorCheckpointConnector()
    connector.initialize(Context())
    config = MirrorCheckpointConfig(BASE | {name.replace("_", "."): value for name, value in configs.items()})
    connector.begin(config, found, FakeAdmin())
    connector.stop()
    return connector


def test_groups_are_dealt_out() -> None:
    connector = begun(finder(a="t", b="t", c="t"))
    assert [config["task.assigned.groups"] for config in connector.task_configs(2)] == ["a,b", "c"]
    assert group_partitions(["a"], 5) == [["a"]] and group_partitions([], 5) == []
    assert begun(finder(a="t"), emit_checkpoints_enabled="false").task_configs(2) == []


def test_groups_that_were_not_found_yet() -> None:
    found = finder(a="t")
    assert isinstance(found._admin, FakeAdmin)
    found._admin.errors["list_group_offsets"] = KafkaError(Errors.COORDINATOR_NOT_AVAILABLE)
    connector = begun(found)
    with pytest.raises(RetriableException, match="Timeout while loading consumer groups"):
        connector.task_configs(1)
    found._admin.errors.clear()
    connector._refresh()
    connector._refresh()
    context = connector.context
    assert len(connector.task_configs(1)) == 1 and isinstance(context, Context) and context.reconfigured == 1


def test_it_starts_and_stops_with_its_clients() -> None:
    connector = MirrorCheckpointConnector()
    connector.start(BASE)
    assert connector.task_configs(1) == [] and connector.task_class() is MirrorCheckpointTask
    connector.stop()
    connector.start(BASE | {"enabled": "false"})
    assert connector.task_configs(1) == []


def test_validation() -> None:
    found = MirrorCheckpointConnector().validate({**BASE, "emit.checkpoints.enabled": "false"})
    errors = {value.name: value.errors for value in found if value.errors}
    assert "can't run with emit.checkpoints.enabled" in errors["emit.checkpoints.enabled"][0]


def test_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    sync = OffsetSync(T0, 10, 5)
    topics = {
        "A.checkpoints.internal": FakeConsumer(topics=["A.checkpoints.internal"]),
        "mm2-offset-syncs.B.internal": FakeConsumer(
            [record("mm2-offset-syncs.B.internal", 0, sync.record_key(), sync.record_value())]
        ),
    }

    def make_consumer(configs: dict[str, Any], **_: Any) -> FakeConsumer:
        is_of_syncs = "offset-syncs" in configs["client.id"]
        return topics["mm2-offset-syncs.B.internal" if is_of_syncs else "A.checkpoints.internal"]

    monkeypatch.setattr("kafkapy.mirror.checkpoint_task.make_consumer", make_consumer)
    task = MirrorCheckpointTask()
    task.start(
        BASE
        | {
            "task.assigned.groups": "g",
            "emit.checkpoints.interval.seconds": "0",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "0",
        }
    )
    source, target = task._source_admin, task._target_admin
    assert isinstance(source, FakeAdmin) and isinstance(target, FakeAdmin)
    source.offsets["g"] = {T0: OffsetAndMetadata(12, "m")}
    records: list[Any] = []

    def is_written() -> bool:
        records.extend(task.poll() or ())
        return bool(records)

    wait_until(is_written)
    (written,) = records
    assert (written.topic, written.kafka_partition) == ("A.checkpoints.internal", 0)
    assert written.source_partition == {"group": "g", "topic": "A.t", "partition": 0}
    assert Checkpoint.from_record(written.key, written.value) == Checkpoint("g", A0, 12, 6, "m")
    task.commit_record(written, None)
    assert len(task.read_metrics()) == 4
    wait_until(lambda: target.offsets.get("g") == {A0: OffsetAndMetadata(6, "m")})
    source.errors["list_group_offsets"] = KafkaError(Errors.COORDINATOR_NOT_AVAILABLE)
    assert task.poll() is None
    task.stop()
    assert task.poll() is None and source.is_closed and target.is_closed
