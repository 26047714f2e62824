"""What a controller does for an older inter.broker.protocol.version: requests that older brokers understand."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from kafkapy.common.metadata_version import VERSIONS
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.request_batch import ControllerBrokerRequestBatch
from kafkapy.controller.states import PartitionAndReplica
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.zk.zk_data import TopicZNode
from tests.controller.controller_cluster import Cluster, led_or_followed_partitions, stopped_partitions


def cluster_of(version: str) -> Cluster:
    return Cluster(1, 2, 3, inter_broker_protocol_version=version)


R = TypeVar("R", LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest)


def requests(cluster: Cluster, kind: type[R], broker_id: int) -> list[R]:
    return [request for to, request in cluster.channel.take_sent() if to == broker_id and isinstance(request, kind)]


@pytest.mark.parametrize(
    ("protocol", "leader_and_isr", "update_metadata", "stop_replica"),
    [
        ("3.9-IV0", 7, 8, 4),
        ("3.4-IV0", 7, 8, 4),
        ("3.3-IV3", 6, 7, 3),
        ("3.1-IV0", 5, 7, 3),
        ("2.8-IV0", 4, 6, 3),
        ("2.5-IV0", 4, 6, 2),
        ("2.4-IV0", 3, 5, 1),
        ("2.2-IV0", 2, 5, 1),
        ("2.1-IV2", 1, 4, 0),
        ("0.11.0-IV2", 0, 3, 0),
        ("0.10.1-IV2", 0, 2, 0),
        ("0.10.0-IV0", 0, 1, 0),
        ("0.8.2", 0, 0, 0),
    ],
)
def test_versions_of_requests(protocol: str, leader_and_isr: int, update_metadata: int, stop_replica: int) -> None:
    cluster = cluster_of(protocol)
    cluster.create_topic("t", {0: [1, 2], 1: [2, 1]})
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    cluster.controller.controlled_shutdown(2, cluster.members[2].epoch, lambda _: None)
    cluster.settle()
    assert cluster.channel.versions == {
        "LeaderAndIsr": leader_and_isr,
        "UpdateMetadata": update_metadata,
        "StopReplica": stop_replica,
    }


@pytest.mark.parametrize("protocol", VERSIONS)
def test_a_topic_comes_and_goes_in_every_version(protocol: str) -> None:
    """The channel encodes each request, and its answer, in the version that it is sent in."""
    cluster = cluster_of(protocol)
    cluster.create_topic("t", {0: [1, 2], 1: [3, 1]})
    assert cluster.state("t", 0).isr == (1, 2)
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert not cluster.members[1].zk.path_exists(TopicZNode.path("t"))


@pytest.mark.parametrize(("protocol", "grouped"), [("2.1", False), ("2.2", True), ("2.7", True)])
def test_partitions_are_grouped_by_topic_from_2_2_on(protocol: str, grouped: bool) -> None:
    cluster = cluster_of(protocol)
    cluster.forget()
    cluster.create_topic("t", {0: [1, 2], 1: [2, 1]})
    sent = [request for to, request in cluster.channel.take_sent() if to == 2]
    leader_and_isr = next(request for request in sent if isinstance(request, LeaderAndIsrRequest))
    assert bool(leader_and_isr.topic_states) == grouped
    assert led_or_followed_partitions(leader_and_isr) == [("t", 0), ("t", 1)]
    metadata = [request for request in sent if isinstance(request, UpdateMetadataRequest)][-1]
    assert bool(metadata.topic_states) == grouped
    names = [(s.topic_name, s.partition_index) for s in metadata.ungrouped_partition_states]
    assert names == ([] if grouped else [("t", 0), ("t", 1)])


def test_the_oldest_brokers_are_told_the_plaintext_address_alone() -> None:
    cluster = cluster_of("0.8.2")
    (request, *_) = requests(cluster, UpdateMetadataRequest, 1)
    addresses = [(broker.id, broker.v0_host, broker.v0_port) for broker in request.live_brokers]
    assert addresses == [(1, "127.0.0.1", 9001), (2, "127.0.0.1", 9002), (3, "127.0.0.1", 9003)]


@pytest.mark.parametrize(("protocol", "requests_to_stop"), [("2.1", 2), ("2.4-IV0", 2), ("2.5", 2), ("2.6", 1)])
def test_a_request_that_stops_and_deletes_is_two_before_2_6(protocol: str, requests_to_stop: int) -> None:
    cluster = cluster_of(protocol)
    cluster.create_topic("stopped", {0: [1, 2]})
    cluster.create_topic("deleted", {0: [2], 1: [2]})
    cluster.forget()
    sent: list[tuple[StopReplicaRequest, frozenset[TopicPartition]]] = []

    def send(broker_id: int, request: Any, version: int, callback: Any) -> None:
        request.encode(version)
        sent.append((request, callback.keywords["to_delete"]))

    controller = cluster.controller
    config = ControllerConfig(1, inter_broker_protocol_version=protocol)
    # Only what it would be called with is of interest.
    handler: Any = SimpleNamespace(stop_replica_response_received=lambda *_, to_delete: None)
    batch = ControllerBrokerRequestBatch(config, controller.context, send, handler)
    for topic, partition in (("stopped", 0), ("deleted", 0), ("deleted", 1)):
        replica = PartitionAndReplica(TopicPartition(topic, partition), 2)
        batch.add_stop_replica_request(replica, delete=topic == "deleted")
    batch.send_requests_to_brokers()

    deleted = frozenset({TopicPartition("deleted", 0), TopicPartition("deleted", 1)})
    if requests_to_stop == 1:
        assert [to_delete for _, to_delete in sent] == [deleted]
        return
    found = [(request.delete_partitions, stopped_partitions(request), to_delete) for request, to_delete in sent]
    assert found == [
        (True, [("deleted", 0), ("deleted", 1)], deleted),
        (False, [("stopped", 0)], frozenset()),
    ]


@pytest.mark.parametrize("protocol", ["2.1", "2.7"])
def test_an_answer_without_topic_ids_marks_replicas_offline(protocol: str) -> None:
    cluster = cluster_of(protocol)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.channel.storage_errors.add((2, TopicPartition("t", 0)))
    cluster.members[2].zk.propagate_log_dir_event(2)
    cluster.settle()
    assert cluster.state("t", 0).leader == 1
    assert cluster.state("t", 0).isr == (1,)


@pytest.mark.parametrize(("protocol", "has_id"), [("2.7", False), ("2.8-IV0", True)])
def test_topics_get_ids_from_2_8_on(protocol: str, has_id: bool) -> None:
    cluster = cluster_of(protocol)
    cluster.members[1].zk.create_recursive("/brokers/topics/t", TopicZNode.encode(None, {0: ReplicaAssignment((1,))}))
    cluster.settle()
    assert ("topic_id" in cluster.zookeeper.json("/brokers/topics/t")) == has_id


@pytest.mark.parametrize(("protocol", "leader_recovery_state"), [("3.1", None), ("3.2-IV0", 1)])
def test_an_unclean_leader_recovers_from_3_2_on(protocol: str, leader_recovery_state: int | None) -> None:
    cluster = Cluster(1, 2, inter_broker_protocol_version=protocol, unclean_leader_election_enable=True)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.kill(1)
    cluster.settle()
    cluster.start(1)
    cluster.settle()
    assert cluster.state("t", 0).isr == (2,)
    cluster.kill(2)
    cluster.settle()
    assert cluster.state("t", 0).leader == 1
    state = json.loads(cluster.zookeeper.json("/brokers/topics/t/partitions/0/state"))
    assert state.get("leader_recovery_state") == leader_recovery_state


# --- features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "node"),
    [
        ("2.6", '{"version":1,"status":0,"features":{}}'),
        ("2.7-IV0", '{"version":1,"status":1,"features":{}}'),
        ("3.2", '{"version":1,"status":1,"features":{}}'),
        ("3.3-IV0", '{"version":2,"status":1,"features":{}}'),
    ],
)
def test_feature_versioning_by_protocol(protocol: str, node: str) -> None:
    assert cluster_of(protocol).zookeeper.json("/feature") == node


def test_feature_versioning_is_switched_off_and_features_go() -> None:
    cluster = Cluster(inter_broker_protocol_version="2.6")
    finalized = b'{"version":2,"status":1,"features":{"f":{"max_version_level":2}}}'
    cluster.start(1).zk.create_recursive("/feature", finalized)
    cluster.settle()
    assert cluster.zookeeper.json("/feature") == '{"version":1,"status":0,"features":{}}'
    assert cluster.active.id == 1, "a broker without the feature is let in"


def test_finalized_features_stay_and_are_written_in_the_version_of_the_protocol() -> None:
    cluster = Cluster(inter_broker_protocol_version="3.2")
    finalized = b'{"version":2,"status":1,"features":{"f":{"max_version_level":2}}}'
    cluster.start(1).zk.create_recursive("/feature", finalized)
    cluster.settle()
    assert json.loads(cluster.zookeeper.json("/feature")) == {
        "version": 1,
        "status": 1,
        "features": {"f": {"min_version_level": 2, "max_version_level": 2}},
    }


def test_features_cannot_be_updated_while_versioning_is_off() -> None:
    cluster = cluster_of("2.6")
    answers: list[object] = []
    update = UpdateFeaturesRequest.FeatureUpdateKey(feature="f", max_version_level=1)
    cluster.controller.update_features(UpdateFeaturesRequest(feature_updates=[update]), 1, answers.append)
    cluster.settle()
    (error,) = answers
    assert isinstance(error, KafkaError)
    assert (error.error, error.message) == (Errors.INVALID_REQUEST, "Feature versioning system is disabled.")
