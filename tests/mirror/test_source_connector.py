"""The connector that copies topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.connect.source import ExactlyOnceSupport
from kafkapy.mirror.source_connector import MirrorSourceConnector, round_robin
from kafkapy.mirror.source_task import MirrorSourceTask
from kafkapy.mirror.topic_replicator import TopicReplicator
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition
from tests.mirror.fake_admin import FakeAdmin
from tests.mirror.mirror_configs import BASE, source_config


class Context:
    def __init__(self) -> None:
        self.reconfigured = 0
        self.errors: list[BaseException] = []

    def request_task_reconfiguration(self) -> None:
        self.reconfigured += 1

    def raise_error(self, error: BaseException) -> None:
        self.errors.append(error)

    def offset_storage_reader(self) -> Any:
        raise NotImplementedError


@pytest.fixture
def begun() -> Callable[..., tuple[MirrorSourceConnector, FakeAdmin, FakeAdmin]]:
    def begin(**configs: str) -> tuple[MirrorSourceConnector, FakeAdmin, FakeAdmin]:
        config = source_config(**{"sync_topic_acls_enabled": "false", **configs})
        source, target = FakeAdmin(), FakeAdmin()
        source.topics = {"t": 3, "u": 1}
        connector = MirrorSourceConnector()
        connector.initialize(Context())
        filters = config.topic_filter(), config.config_property_filter()
        connector.begin(config, TopicReplicator(config, *filters, source, target))
        return connector, source, target

    return begin


def test_partitions_are_dealt_out(begun: Callable[..., tuple[MirrorSourceConnector, FakeAdmin, FakeAdmin]]) -> None:
    connector, _, target = begun()
    configs = connector.task_configs(2)
    connector.stop()
    assert [config["task.assigned.partitions"] for config in configs] == ["t-0,t-2", "t-1,u-0"]
    assert [config["task.index"] for config in configs] == ["0", "1"]
    assert target.topics == {"A.t": 3, "A.u": 1}
    assert len(connector.task_configs(10)) == 4


def test_tasks_are_planned_anew(begun: Callable[..., tuple[MirrorSourceConnector, FakeAdmin, FakeAdmin]]) -> None:
    connector, source, _ = begun()
    connector.stop()
    connector._refresh()
    source.topics["v"] = 1
    connector._refresh()
    context = connector.context
    assert isinstance(context, Context) and context.reconfigured == 1 and len(connector.task_configs(10)) == 5


def test_a_cluster_that_is_away_when_it_begins() -> None:
    config = source_config()
    source = FakeAdmin()
    source.errors["list_topics"] = KafkaError(Errors.REQUEST_TIMED_OUT)
    connector = MirrorSourceConnector()
    filters = config.topic_filter(), config.config_property_filter()
    connector.begin(config, TopicReplicator(config, *filters, source, FakeAdmin()))
    connector.stop()
    assert connector.task_configs(2) == []


def test_brokers_that_cannot_change_configs(
    begun: Callable[..., tuple[MirrorSourceConnector, FakeAdmin, FakeAdmin]],
) -> None:
    connector, _, target = begun(use_incremental_alter_configs="required", sync_topic_configs_enabled="false")
    connector.stop()
    target.errors["incremental_alter_configs"] = KafkaError(Errors.UNSUPPORTED_VERSION)
    connector._sync_configs()
    context = connector.context
    assert isinstance(context, Context) and "not compatible" in str(context.errors[0])


def test_it_starts_and_stops_with_its_clients() -> None:
    connector = MirrorSourceConnector()
    connector.start(BASE | {"sync.topic.acls.enabled": "false"})
    assert connector.task_configs(1) == [] and connector.task_class() is MirrorSourceTask
    connector.stop()
    connector = MirrorSourceConnector()
    connector.start(BASE | {"enabled": "false"})
    assert connector.task_configs(1) == []
    connector.stop()


def test_exactly_once_needs_committed_records() -> None:
    connector = MirrorSourceConnector()
    assert connector.exactly_once_support(BASE) is ExactlyOnceSupport.UNSUPPORTED
    committed = BASE | {"source.consumer.isolation.level": "read_committed"}
    assert connector.exactly_once_support(committed) is ExactlyOnceSupport.SUPPORTED


def errors_of(configs: dict[str, str | None]) -> dict[str, list[str]]:
    return {value.name: value.errors for value in MirrorSourceConnector().validate(configs) if value.errors}


def test_validation() -> None:
    base: dict[str, str | None] = dict(BASE)
    assert errors_of(base) == {}
    found = errors_of(base | {"exactly.once.support": "required"})
    assert "can only provide exactly-once guarantees" in found["exactly.once.support"][0]
    found = errors_of(base | {"emit.offset-syncs.enabled": "false", "offset-syncs.topic.location": "target"})
    assert "can't setup offset-syncs feature" in found["emit.offset-syncs.enabled"][0]
    assert "source.cluster.alias" in errors_of({"name": "m", "connector.class": "c"})


def test_round_robin_without_partitions() -> None:
    assert round_robin([], 3) == []
    assert round_robin([TopicPartition("t", 0)], 3) == [[TopicPartition("t", 0)]]
