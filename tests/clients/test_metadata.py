from __future__ import annotations

import configparser
from pathlib import Path

import pytest

from kafkapy.clients import software
from kafkapy.clients.metadata import Address, ClusterMetadata, Node, parse_bootstrap_servers
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.metadata import MetadataResponse

Topic = MetadataResponse.MetadataResponseTopic
Partition = MetadataResponse.MetadataResponsePartition


@pytest.mark.parametrize(
    ("servers", "addresses"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        (" a:1 , b.example.com:2,,", [("a", 1), ("b.example.com", 2)]),
        (["a:1", "b:2,c:3"], [("a", 1), ("b", 2), ("c", 3)]),
        ("[::1]:9092", [("::1", 9092)]),
        ("PLAINTEXT://a:1", [("a", 1)]),
    ],
)
def test_bootstrap_servers(servers: str | list[str], addresses: list[tuple[str, int]]) -> None:
    assert parse_bootstrap_servers(servers) == [Address(*address) for address in addresses]


@pytest.mark.parametrize(
    ("servers", "sentence"),
    [
        ("", "No resolvable bootstrap urls given"),
        (",", "No resolvable bootstrap urls given"),
        ("localhost", "Invalid url in bootstrap.servers: localhost"),
        ("localhost:", "Invalid url in bootstrap.servers: localhost:"),
        (":9092", "Invalid url in bootstrap.servers: :9092"),
        ("a b:9092", "Invalid url in bootstrap.servers: a b:9092"),
        ("a:70000", "Invalid port in bootstrap.servers: a:70000"),
    ],
)
def test_invalid_bootstrap_servers(servers: str, sentence: str) -> None:
    with pytest.raises(KafkaError, match=sentence) as caught:
        parse_bootstrap_servers(servers)
    assert caught.value.error is Errors.INVALID_CONFIG


@pytest.fixture
def cluster() -> ClusterMetadata:
    broker = MetadataResponse.MetadataResponseBroker
    return ClusterMetadata.of(
        MetadataResponse(
            brokers=[broker(node_id=1, host="a", port=9092, rack="r"), broker(node_id=2, host="b", port=9093)],
            cluster_id="id",
            controller_id=2,
            topics=[
                Topic(
                    name="t",
                    topic_id=bytes(range(16)),
                    partitions=[
                        Partition(partition_index=1, leader_id=7, error_code=5, replica_nodes=[7], isr_nodes=[7]),
                        Partition(partition_index=0, leader_id=1, leader_epoch=4, replica_nodes=[1, 2], isr_nodes=[1]),
                    ],
                ),
                Topic(name="gone", error_code=3),
            ],
        )
    )


def test_nodes(cluster: ClusterMetadata) -> None:
    assert cluster.nodes == {1: Node(1, "a", 9092, "r"), 2: Node(2, "b", 9093)}
    assert cluster.controller == Node(2, "b", 9093)
    assert str(Node(1, "a", 9092, "r")) == "a:9092 (id: 1 rack: r)"


def test_partitions_are_in_order(cluster: ClusterMetadata) -> None:
    assert [p.partition for p in cluster.topics["t"].partitions] == [0, 1]
    found = cluster.partition(TopicPartition("t", 0))
    assert found is not None
    assert (found.leader_id, found.leader_epoch, found.replicas, found.isr) == (1, 4, (1, 2), (1,))


def test_leaders(cluster: ClusterMetadata) -> None:
    assert cluster.leader_of(TopicPartition("t", 0)).id == 1
    for partition, error in [
        (TopicPartition("t", 1), Errors.LEADER_NOT_AVAILABLE),
        (TopicPartition("t", 2), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("gone", 0), Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (TopicPartition("never", 0), Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ]:
        with pytest.raises(KafkaError) as caught:
            cluster.leader_of(partition)
        assert caught.value.error is error
        assert error.retriable


def test_the_version_is_that_of_the_package() -> None:
    config = configparser.ConfigParser()
    config.read(Path(__file__).parents[2] / "setup.cfg")
    assert config["metadata"]["version"] == software.VERSION
