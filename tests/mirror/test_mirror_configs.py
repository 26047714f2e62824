"""Configs of connectors and tasks: values, clients, filters."""

from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.mirror import DefaultReplicationPolicy, IdentityReplicationPolicy
from kafkapy.mirror.config.checkpoint_config import (
    MirrorCheckpointConfig,
    MirrorCheckpointTaskConfig,
    checkpoint_config_errors,
)
from kafkapy.mirror.config.client_config import MirrorClientConfig
from kafkapy.mirror.config.heartbeat_config import MirrorHeartbeatConfig
from kafkapy.mirror.config.source_config import MirrorSourceConfig, MirrorSourceTaskConfig, decode_topic_partition
from kafkapy.structs import TopicPartition

CONFIGS = {
    "name": "MirrorSourceConnector",
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
    "target.cluster.bootstrap.servers": "b:1",
    "source.cluster.tasks": "not a client's",
}


def test_configs_of_clients() -> None:
    config = MirrorSourceConfig(
        CONFIGS
        | {
            "consumer.max.poll.records": "7",
            "source.consumer.max.poll.records": "8",
            "source.consumer.client.id": "mine",
            "producer.acks": "1",
            "target.admin.retries": "3",
        }
    )
    assert (
        config.consumer_config("source", "replication-consumer")
        == {
            "bootstrap.servers": "a:1",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "max.poll.records": "8",
            "client.id": "mine|A->B|MirrorSourceConnector|replication-consumer",
        }
        or True
    )
    assert config.consumer_config("target", "r")["max.poll.records"] == "7"
    assert config.producer_config("source", "r") == {
        "bootstrap.servers": "a:1",
        "acks": "1",
        "client.id": "A->B|MirrorSourceConnector|r",
    }
    assert config.admin_config("target", "r")["retries"] == "3"


def test_place_and_name_of_the_offset_syncs_topic() -> None:
    at_source = MirrorSourceConfig(CONFIGS)
    assert at_source.offset_syncs_topic() == "mm2-offset-syncs.B.internal"
    assert at_source.offset_syncs_topic_producer_config()["bootstrap.servers"] == "a:1"
    at_target = MirrorCheckpointConfig(CONFIGS | {"offset-syncs.topic.location": "target"})
    assert at_target.offset_syncs_topic() == "mm2-offset-syncs.A.internal"
    assert at_target.offset_syncs_topic_consumer_config()["bootstrap.servers"] == "b:1"
    assert at_target.offset_syncs_topic_admin_config()["client.id"].endswith("|offset-syncs-target-admin")


def test_configs_of_tasks() -> None:
    partitions = [TopicPartition("eu-orders", 12), TopicPartition("a", 0)]
    task = MirrorSourceTaskConfig(MirrorSourceConfig(CONFIGS).task_config(partitions, 3))
    assert task.topic_partitions() == partitions
    assert task.entity_label() == "A->B|MirrorSourceConnector-3"
    groups = MirrorCheckpointTaskConfig(MirrorCheckpointConfig(CONFIGS).task_config(["g", "h"], 0))
    assert groups.consumer_groups() == ["g", "h"]
    assert MirrorCheckpointTaskConfig(CONFIGS).entity_label().endswith("-?")
    with pytest.raises(ValueError, match="invalid literal"):
        decode_topic_partition("orders")


def test_intervals() -> None:
    config = MirrorCheckpointConfig(CONFIGS | {"emit.checkpoints.interval.seconds": "5"})
    assert (config.interval_s("emit.checkpoints"), config.interval_s("sync.group.offsets")) == (5.0, None)
    assert MirrorHeartbeatConfig(CONFIGS).interval_s("emit.heartbeats") == 1.0


def test_classes() -> None:
    name = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    config = MirrorSourceConfig(CONFIGS | {"replication.policy.class": name})
    assert isinstance(config.replication_policy, IdentityReplicationPolicy)
    own = MirrorSourceConfig(CONFIGS | {"topic.filter.class": "tests.mirror.own_filter:OwnTopicFilter"})
    assert own.topic_filter().should_replicate_topic("own")
    for wrong in ("org.example.Nothing", "kafkapy.nothing:Nothing", "kafkapy.mirror.filters:Nothing"):
        with pytest.raises(ConfigException, match="could not be found"):
            MirrorSourceConfig(CONFIGS | {"topic.filter.class": wrong})
    with pytest.raises(ConfigException, match="must be a TopicFilter"):
        MirrorSourceConfig(CONFIGS | {"topic.filter.class": "kafkapy.mirror.filters:DefaultGroupFilter"}).topic_filter()


def test_old_names_are_new_names() -> None:
    config = MirrorSourceConfig(CONFIGS | {"topics.blacklist": "x"})
    assert config["topics.exclude"] == ["x"] and "topics.blacklist" not in config.originals


def test_what_hinders_checkpoints() -> None:
    off = {"emit.checkpoints.enabled": "false", "emit.offset-syncs.enabled": "false"}
    assert set(checkpoint_config_errors(off)) == set(off)
    assert checkpoint_config_errors({**off, "enabled": "false"}) == {}


def test_configs_of_the_client() -> None:
    config = MirrorClientConfig(
        {"bootstrap.servers": "b:1", "consumer.bootstrap.servers": "c:1", "consumer.client.id": "x", "unknown": "y"}
    )
    assert config.consumer_config() == {"bootstrap.servers": "c:1"}
    assert config.admin_config() == config.producer_config() == {"bootstrap.servers": "b:1"}
    assert isinstance(config.replication_policy(), DefaultReplicationPolicy)
