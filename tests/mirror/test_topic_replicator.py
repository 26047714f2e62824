"""Remote topics, their partitions, configs and ACLs."""

from __future__ import annotations

import pytest

from kafkapy.admin.configs import ConfigEntry
from kafkapy.common.acl_types import (
    AccessControlEntry,
    AclBinding,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.wire_enums import ConfigSourceType
from kafkapy.connect.errors import ConnectException
from kafkapy.mirror.topic_replicator import TopicReplicator
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition
from tests.mirror.fake_admin import FakeAdmin, change, default, entry
from tests.mirror.mirror_configs import source_config

ALLOW, DENY = ACLPermissionType.ALLOW, ACLPermissionType.DENY


class Mirror:
    """Two clusters and what copies between them."""

    def __init__(self, **configs: str) -> None:
        self.source, self.target = FakeAdmin(), FakeAdmin()
        config = source_config(**configs)
        self.replicator = TopicReplicator(
            config, config.topic_filter(), config.config_property_filter(), self.source, self.target
        )

    def run(self) -> TopicReplicator:
        self.replicator.load()
        self.replicator.create_remote_topics()
        self.replicator.find_target_partitions()
        return self.replicator


def acl(
    topic: str,
    operation: ACLOperation,
    permission: ACLPermissionType = ALLOW,
    pattern: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
) -> AclBinding:
    return AclBinding(
        AclPattern(ResourceType.TOPIC, topic, pattern), AccessControlEntry("User:a", "*", operation, permission)
    )


def test_remote_topics_are_made() -> None:
    mirror = Mirror(replication_factor="1")
    mirror.source.topics = {"t": 2, "B.t": 1, "C.B.x": 1, "heartbeats": 1, "mm2-offset-syncs.B.internal": 1, "__x": 1}
    mirror.source.entries["t"] = [entry("retention.ms", "5"), entry("min.insync.replicas", "2"), default("a", "b")]
    mirror.target.topics = {"A.checkpoints.internal": 1, "own": 1}
    replicator = mirror.run()
    assert mirror.target.topics == {"A.checkpoints.internal": 1, "own": 1, "A.t": 2, "A.heartbeats": 1}
    made = {topic.name: topic for topic in mirror.target.created}
    assert made["A.t"].topic_configs == {"retention.ms": "5"} and made["A.t"].replication_factor == 1
    assert replicator.target_partitions == [
        TopicPartition("A.heartbeats", 0),
        TopicPartition("A.t", 0),
        TopicPartition("A.t", 1),
    ]


def test_new_topics_and_partitions_are_found() -> None:
    mirror = Mirror()
    mirror.source.topics = {"t": 1}
    replicator = mirror.run()
    assert not replicator.refresh()
    mirror.source.topics = {"t": 3, "u": 1}
    assert replicator.refresh() and mirror.target.topics == {"A.t": 3, "A.u": 1}
    assert len(replicator.source_partitions) == 4
    assert not replicator.refresh()


def test_topics_that_are_gone() -> None:
    mirror = Mirror()
    mirror.source.topics = {"t": 1, "u": 1}
    replicator = mirror.run()
    del mirror.source.topics["u"]
    assert replicator.refresh() and replicator.source_partitions == [TopicPartition("t", 0)]
    del mirror.target.topics["A.t"]
    assert replicator.refresh() and "A.t" in mirror.target.topics


def test_a_topic_that_cannot_be_made_does_not_hinder_others(caplog: pytest.LogCaptureFixture) -> None:
    mirror = Mirror(replication_policy_class="org.apache.kafka.connect.mirror.IdentityReplicationPolicy")
    mirror.source.topics = {"t": 1, "u": 1}
    mirror.replicator.load()
    mirror.target.topics = {"t": 1}
    mirror.replicator.create_remote_topics()
    assert mirror.target.topics == {"t": 1, "u": 1} and "Topic t cannot be made on B" in caplog.text


def test_configs_are_carried() -> None:
    mirror = Mirror()
    mirror.source.topics = {"t": 1}
    mirror.run()
    mirror.source.entries["t"] = [
        entry("retention.ms", "5"),
        default("segment.bytes", "1"),
        entry("compression.type", "lz4", ConfigSourceType.STATIC_BROKER_CONFIG),
        ConfigEntry("x", None, ConfigSourceType.DYNAMIC_TOPIC_CONFIG, is_sensitive=True),
        ConfigEntry("y", "1", ConfigSourceType.DYNAMIC_TOPIC_CONFIG, is_read_only=True),
    ]
    mirror.replicator.sync_configs()
    assert mirror.target.changes == [("A.t", [change("retention.ms", "5"), change("segment.bytes", None)])]


def test_defaults_of_the_source_can_be_carried() -> None:
    mirror = Mirror(use_defaults_from="source")
    mirror.source.topics = {"t": 1}
    mirror.source.entries["t"] = [default("segment.bytes", "1")]
    mirror.run().sync_configs()
    assert mirror.target.created[0].topic_configs == {"segment.bytes": "1"}
    assert mirror.target.changes == [("A.t", [change("segment.bytes", "1")])]


@pytest.mark.parametrize("policy", ["requested", "required", "never"])
def test_brokers_without_incremental_changes(policy: str) -> None:
    mirror = Mirror(use_incremental_alter_configs=policy)
    mirror.source.topics = {"t": 1}
    mirror.source.entries["t"] = [entry("retention.ms", "5"), default("segment.bytes", "1")]
    replicator = mirror.run()
    mirror.target.errors["incremental_alter_configs"] = KafkaError(Errors.UNSUPPORTED_VERSION)
    if policy == "required":
        with pytest.raises(ConnectException, match="is not compatible with IncrementalAlterConfigs API"):
            replicator.sync_configs()
        return
    replicator.sync_configs()
    replicator.sync_configs()
    assert mirror.target.replaced == [("A.t", {"retention.ms": "5"})] * (1 if policy == "requested" else 2)


def test_acls_are_carried() -> None:
    mirror = Mirror()
    mirror.source.acls = [
        acl("t", ACLOperation.ALL),
        acl("t", ACLOperation.WRITE),
        acl("t", ACLOperation.WRITE, DENY),
        acl("t", ACLOperation.READ, pattern=ACLResourcePatternType.PREFIXED),
        acl("B.t", ACLOperation.READ),
        acl("u", ACLOperation.DESCRIBE),
    ]
    mirror.replicator.sync_acls()
    assert mirror.target.acls == [
        acl("A.t", ACLOperation.READ),
        acl("A.t", ACLOperation.WRITE, DENY),
        acl("A.u", ACLOperation.DESCRIBE),
    ]


def test_a_source_without_an_authorizer(caplog: pytest.LogCaptureFixture) -> None:
    mirror = Mirror()
    mirror.source.errors["describe_acls"] = KafkaError(Errors.SECURITY_DISABLED)
    caplog.set_level("INFO")
    for _ in range(2):
        mirror.replicator.sync_acls()
    assert caplog.text.count("have no authorizer") == 1
    mirror.source.errors["describe_acls"] = KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaError):
        mirror.replicator.sync_acls()
