"""Racks of partitions, as the admin client tells of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.clients.metadata import Node, PartitionMetadata, TopicMetadata
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.streams.runtime.internal_topic_manager import InternalTopicManager


def manager(*racks: str | None, error: Exception | None = None) -> InternalTopicManager:
    """Of a cluster with so many brokers; the topic `t` has a replica of partition 0 on all, of partition 1 on the first."""

    def describe_cluster() -> Any:
        if error is not None:
            raise error
        return SimpleNamespace(nodes=[Node(number, "host", 9092, rack) for number, rack in enumerate(racks)])

    replicas = [tuple(range(len(racks))), (0,)]
    partitions = tuple(PartitionMetadata("t", n, 0, 0, ids, ids, ()) for n, ids in enumerate(replicas))
    topics = {"t": TopicMetadata("t", b"", False, partitions), "u": KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)}
    admin: Any = SimpleNamespace(describe_cluster=describe_cluster, describe_topics=lambda names: topics)
    return InternalTopicManager(admin, 1, 1000)


def test_racks_of_replicas() -> None:
    assert manager("a", "b", "a").replica_racks(["t", "u"]) == {
        TopicPartition("t", 0): frozenset({"a", "b"}),
        TopicPartition("t", 1): frozenset({"a"}),
    }


@pytest.mark.parametrize("made", [manager("a", None), manager("a", error=KafkaError(Errors.REQUEST_TIMED_OUT))])
def test_racks_that_are_not_known(made: InternalTopicManager) -> None:
    assert made.replica_racks(["t"]) is None
