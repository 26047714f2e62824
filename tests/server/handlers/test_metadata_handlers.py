"""Metadata and DescribeCluster, ApiVersions."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.completion import Completion
from kafkapy.server.api_handlers import HANDLERS
from tests.server.allows import Allows
from tests.server.broker_core import TOPIC, BrokerCore, Client, MakeCore, live_broker, topic_id_of

NEWEST = 12
NO_OPERATIONS = -2147483648
TOPIC_OPERATIONS = 0b1101_1111_1000
CLUSTER_OPERATIONS = 0b1_1111_1010_0000


def metadata(
    *topics: str | bytes | None, everything: bool = False, create: bool = False, **fields: Any
) -> MetadataRequest:
    wanted = [
        MetadataRequest.MetadataRequestTopic(topic_id=topic, name=None)
        if isinstance(topic, bytes)
        else MetadataRequest.MetadataRequestTopic(name=topic)
        for topic in topics
    ]
    return MetadataRequest(topics=None if everything else wanted, allow_auto_topic_creation=create, **fields)


def summary(response: MetadataResponse) -> list[tuple[str | None, Errors]]:
    return [(topic.name, Errors.for_code(topic.error_code)) for topic in response.topics]


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_what_each_version_says_of_a_topic(core: BrokerCore, client: Client, version: int) -> None:
    request = metadata(TOPIC, create=version < 4)
    response = client.call(request, version)
    assert [(b.node_id, b.host, b.port, b.rack) for b in response.brokers] == [(0, "host-0", 9092, None)]
    assert response.controller_id == (0 if version >= 1 else -1)
    assert response.cluster_id == ("a-cluster" if version >= 2 else None)
    (topic,) = response.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, TOPIC, False)
    assert topic.topic_id == (topic_id_of(TOPIC) if version >= 10 else ZERO_UUID)
    (partition,) = topic.partitions
    assert (partition.error_code, partition.partition_index, partition.leader_id) == (0, 0, 0)
    assert partition.leader_epoch == (0 if version >= 7 else -1)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([0], [0], [])
    assert core.created == []


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_all_topics_and_none(core: BrokerCore, client: Client, version: int) -> None:
    core.create_topic("__consumer_offsets")
    everything = metadata() if version == 0 else metadata(everything=True)
    everything.allow_auto_topic_creation = True
    assert summary(client.call(everything, version)) == [("__consumer_offsets", Errors.NONE), (TOPIC, Errors.NONE)]
    if version >= 1:
        none = metadata(create=True)
        assert summary(client.call(none, version)) == []


def test_by_id(core: BrokerCore, client: Client) -> None:
    unknown = b"?" * 16
    response = client.call(metadata(topic_id_of(TOPIC), unknown, topic_id_of(TOPIC)), NEWEST)
    assert summary(response) == [(None, Errors.UNKNOWN_TOPIC_ID), (TOPIC, Errors.NONE)]
    assert response.topics[0].topic_id == unknown


def test_ids_and_nameless_topics_need_version_12(client: Client) -> None:
    for topic in (topic_id_of(TOPIC), ZERO_UUID):
        response = client.call(metadata(topic), 11)
        assert [Errors.for_code(t.error_code) for t in response.topics] == [Errors.INVALID_REQUEST]


def test_a_name_that_is_given_twice_is_answered_once(client: Client) -> None:
    assert summary(client.call(metadata(TOPIC, TOPIC), 9)) == [(TOPIC, Errors.NONE)]


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "x" * 250, "ä"])
def test_unknown_and_impossible_names(core: BrokerCore, client: Client, name: str) -> None:
    response = client.call(metadata(name, "unknown", TOPIC), 9)
    assert summary(response) == [
        (TOPIC, Errors.NONE),
        (name, Errors.INVALID_TOPIC_EXCEPTION),
        ("unknown", Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert core.created == []


def test_missing_topics_are_created_if_both_sides_allow_it(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic()
    client = core.connect()
    response = client.call(metadata(TOPIC, "new", create=True), 4)
    assert summary(response) == [(TOPIC, Errors.NONE), ("new", Errors.LEADER_NOT_AVAILABLE)]
    assert client.call(metadata("new", create=True), 3).topics[0].error_code == Errors.LEADER_NOT_AVAILABLE.code
    assert core.created == ["new", "new"]


def test_a_broker_that_creates_no_topics(make_core: MakeCore) -> None:
    core = make_core(auto_create_topics_enable="false")
    response = core.connect().call(metadata("new", create=True), 4)
    assert summary(response) == [("new", Errors.UNKNOWN_TOPIC_OR_PARTITION)]
    assert core.created == []


def test_a_topic_that_appears_while_it_is_created_is_answered_once(core: BrokerCore, client: Client) -> None:
    creation: Completion[dict[str, Errors]] = Completion()
    core.handlers.metadata.create_topics = lambda names, request: creation
    client.send(metadata("new", create=True), 4)
    core.create_topic("new")
    creation.set_result({"new": Errors.LEADER_NOT_AVAILABLE})
    assert summary(client.response()) == [("new", Errors.LEADER_NOT_AVAILABLE)]


# -- leaders, listeners, replicas


def test_no_leader_and_dead_replicas(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), 2, 7, [2], [1, 2])
    client = core.connect()
    (partition,) = client.call(metadata(TOPIC), 7).topics[0].partitions
    assert Errors.for_code(partition.error_code) is Errors.LEADER_NOT_AVAILABLE
    assert (partition.leader_id, partition.leader_epoch) == (-1, 7)
    assert (partition.replica_nodes, partition.isr_nodes) == ([1, 2], [2])
    (partition,) = client.call(metadata(TOPIC, create=True), 0).topics[0].partitions
    assert (partition.replica_nodes, partition.isr_nodes) == ([1], [])


def test_version_0_complains_of_dead_replicas(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), 1, 7, [1], [1, 2])
    client = core.connect()
    for version, expected in ((0, Errors.REPLICA_NOT_AVAILABLE), (1, Errors.NONE)):
        (partition,) = client.call(metadata(TOPIC, create=True), version).topics[0].partitions
        assert Errors.for_code(partition.error_code) is expected


def test_offline_replicas_are_those_the_controller_names(core: BrokerCore, client: Client) -> None:
    state = UpdateMetadataRequest.UpdateMetadataPartitionState(
        partition_index=0, leader=0, isr=[0], replicas=[0, 3, 4], offline_replicas=[3]
    )
    core.cache.update(
        UpdateMetadataRequest(
            topic_states=[UpdateMetadataRequest.UpdateMetadataTopicState(topic_name="u", partition_states=[state])],
            live_brokers=[live_broker(0)],
        )
    )
    (partition,) = client.call(metadata("u"), 5).topics[0].partitions
    assert partition.offline_replicas == [3]


def test_a_leader_without_the_listener_of_the_asker(core: BrokerCore) -> None:
    core.cache.update(
        UpdateMetadataRequest(live_brokers=[live_broker(0, ["INTERNAL", "PLAINTEXT"]), live_broker(1, ["X"])])
    )
    internal, outside = core.connect(listener="INTERNAL"), core.connect(listener="X")
    assert [b.node_id for b in internal.call(metadata(), 6).brokers] == [0]
    assert [b.node_id for b in outside.call(metadata(), 6).brokers] == [1]
    for version, expected in ((6, Errors.LISTENER_NOT_FOUND), (5, Errors.LEADER_NOT_AVAILABLE)):
        (partition,) = outside.call(metadata(TOPIC), version).topics[0].partitions
        assert (Errors.for_code(partition.error_code), partition.leader_id) == (expected, -1)


def test_what_was_answered_holds_until_the_next_update(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    client, outside = core.connect(), core.connect(listener="OUTSIDE")

    def seen_by(asker: Client) -> list[tuple[int, int, list[int]]]:
        topics = asker.call(metadata(everything=True), NEWEST).topics
        return [(p.leader_id, p.leader_epoch, p.isr_nodes) for topic in topics for p in topic.partitions]

    for epoch, leader in ((7, 1), (8, 0), (8, 0), (9, 1)):
        core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), leader, epoch, [leader], [0, 1])
        assert seen_by(client) == seen_by(client) == [(leader, epoch, [leader])]
        assert seen_by(outside) == [(-1, epoch, [leader])]
    core.cache.update(UpdateMetadataRequest(live_brokers=[live_broker(0)]))
    assert seen_by(client) == [(-1, 9, [1])], "the leader has died"


def test_what_everybody_may_do(client: Client) -> None:
    asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    for version in (8, 10):
        response = client.call(metadata(TOPIC, "unknown", **asked), version)
        assert [t.topic_authorized_operations for t in response.topics] == [TOPIC_OPERATIONS] * 2
        assert response.cluster_authorized_operations == CLUSTER_OPERATIONS
    response = client.call(metadata(TOPIC), 8)
    assert response.topics[0].topic_authorized_operations == NO_OPERATIONS
    assert response.cluster_authorized_operations == NO_OPERATIONS


# -- who may see what


def allow(core: BrokerCore, *allowed: tuple[str, str, str]) -> Allows:
    authorizer = core.handlers.metadata._authorizer = Allows(*allowed)
    return authorizer


def test_topics_that_may_not_be_described_look_the_same_whether_they_are_there_or_not(
    core: BrokerCore, client: Client
) -> None:
    core.create_topic("mine")
    authorizer = allow(core, ("DESCRIBE", "TOPIC", "mine"))
    response = client.call(metadata("mine", TOPIC, "unknown", create=True), NEWEST)
    denied = Errors.TOPIC_AUTHORIZATION_FAILED
    assert summary(response) == [(TOPIC, denied), ("unknown", denied), ("mine", Errors.NONE)]
    assert [topic.topic_id for topic in response.topics[:2]] == [ZERO_UUID] * 2
    assert authorizer.told == [("DESCRIBE", "TOPIC", TOPIC), ("DESCRIBE", "TOPIC", "unknown")]
    assert core.created == []


def test_all_topics_are_those_that_may_be_described(core: BrokerCore, client: Client) -> None:
    core.create_topic("mine")
    authorizer = allow(core, ("DESCRIBE", "TOPIC", "mine"))
    assert summary(client.call(metadata(everything=True), NEWEST)) == [("mine", Errors.NONE)]
    assert authorizer.told == []


def test_an_id_does_not_tell_the_name(core: BrokerCore, client: Client) -> None:
    allow(core)
    response = client.call(metadata(topic_id_of(TOPIC)), NEWEST)
    assert summary(response) == [(None, Errors.TOPIC_AUTHORIZATION_FAILED)]
    assert response.topics[0].topic_id == topic_id_of(TOPIC)


def test_missing_topics_are_created_by_those_who_may(core: BrokerCore, client: Client) -> None:
    described = [("DESCRIBE", "TOPIC", name) for name in ("a", "b")]
    authorizer = allow(core, *described, ("CREATE", "TOPIC", "b"))
    response = client.call(metadata("a", "b", create=True), NEWEST)
    assert summary(response) == [("a", Errors.TOPIC_AUTHORIZATION_FAILED), ("b", Errors.LEADER_NOT_AVAILABLE)]
    assert authorizer.told == [("CREATE", "TOPIC", "a")]
    allow(core, *described, ("CREATE", "CLUSTER", "kafka-cluster"))
    response = client.call(metadata("a", "b", create=True), NEWEST)
    assert summary(response) == [("a", Errors.LEADER_NOT_AVAILABLE), ("b", Errors.LEADER_NOT_AVAILABLE)]
    assert core.created == ["b", "a", "b"]


def test_what_somebody_may_do(core: BrokerCore, client: Client) -> None:
    topic, cluster = ("READ", "TOPIC", TOPIC), ("ALTER", "CLUSTER", "kafka-cluster")
    authorizer = allow(core, topic, ("DESCRIBE", "TOPIC", TOPIC), cluster)
    asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    response = client.call(metadata(TOPIC, **asked), 8)
    assert response.topics[0].topic_authorized_operations == 1 << 3 | 1 << 8
    assert response.cluster_authorized_operations == 0, "it may not be described"
    described = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert client.call(described, 1).cluster_authorized_operations == 0
    assert authorizer.told == [("DESCRIBE", "CLUSTER", "kafka-cluster")] * 2
    authorizer.allowed.add(("DESCRIBE", "CLUSTER", "kafka-cluster"))
    assert client.call(metadata(TOPIC, **asked), 10).cluster_authorized_operations == 1 << 7 | 1 << 8
    assert client.call(described, 1).cluster_authorized_operations == 1 << 7 | 1 << 8


# -- DescribeCluster


def test_describe_cluster(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    client = core.connect()
    response = client.call(DescribeClusterRequest(), 0)
    assert (response.error_code, response.cluster_id, response.controller_id) == (0, "a-cluster", 0)
    assert [(b.broker_id, b.host, b.port) for b in response.brokers] == [(0, "host-0", 9092), (1, "host-1", 9093)]
    assert response.cluster_authorized_operations == NO_OPERATIONS
    response = client.call(DescribeClusterRequest(include_cluster_authorized_operations=True), 1)
    assert response.cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.parametrize(
    ("endpoint_type", "expected"), [(2, Errors.MISMATCHED_ENDPOINT_TYPE), (3, Errors.UNSUPPORTED_ENDPOINT_TYPE)]
)
def test_controllers_are_not_listed_here(client: Client, endpoint_type: int, expected: Errors) -> None:
    response = client.call(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert Errors.for_code(response.error_code) is expected
    assert response.error_message


# -- ApiVersions


@pytest.mark.parametrize("version", range(5))
def test_api_versions_names_what_is_served(core: BrokerCore, client: Client, version: int) -> None:
    request = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.0")
    response = client.call(request, version)
    assert response.error_code == 0
    assert {k.api_key: (k.min_version, k.max_version) for k in response.api_keys} == {
        int(key): (key.min_version, key.max_version) for key in HANDLERS
    }
    known = ("a-client", "1.0") if version >= 3 else ("unknown", "unknown")
    assert (client.channel.context.client_software_name, client.channel.context.client_software_version) == known


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("a", ""), ("-a", "1"), ("a", "1."), ("a b", "1"), ("ä", "1")]
)
def test_software_names_that_are_refused(client: Client, name: str, version: str) -> None:
    response = client.call(ApiVersionsRequest(client_software_name=name, client_software_version=version), 3)
    assert Errors.for_code(response.error_code) is Errors.INVALID_REQUEST
    assert response.api_keys == []


def test_a_version_from_the_future_is_answered_in_version_0(client: Client) -> None:
    client.channel.dataReceived(bytes.fromhex("0000000b 0012 0063 00000007 ffff 00"))
    answer = bytes(client.transport.sent)
    assert answer[4:8] == (7).to_bytes(4, "big")
    response = ApiVersionsResponse.decode(answer, 0, 8)
    assert Errors.for_code(response.error_code) is Errors.UNSUPPORTED_VERSION
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == [(ApiKey.API_VERSIONS, 0, 4)]
