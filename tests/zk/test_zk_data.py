"""Payloads as Apache Kafka 3.9.1 wrote them (key order aside), both ways."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common import uuid
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch, LeaderRecoveryState
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.sanitizer import desanitize, sanitize
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.zk import zk_data as z

BROKER = (
    b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","SASL_PLAINTEXT":"SASL_PLAINTEXT"},'
    b'"endpoints":["PLAINTEXT://127.0.0.1:30001","SASL_PLAINTEXT://127.0.0.1:30011"],"rack":"r1","jmx_port":-1,'
    b'"port":30001,"host":"127.0.0.1","version":5,"timestamp":"1795231265361"}'
)
BROKER_INFO = z.BrokerInfo(
    Broker(
        1,
        (
            EndPoint("127.0.0.1", 30001, "PLAINTEXT", "PLAINTEXT"),
            EndPoint("127.0.0.1", 30011, "SASL_PLAINTEXT", "SASL_PLAINTEXT"),
        ),
        "r1",
    )
)
TOPIC = (
    b'{"partitions":{"0":[1,2],"1":[2,1]},"topic_id":"XnCGM05_QZi1lNzWoO32vQ","adding_replicas":{"0":[2]},'
    b'"removing_replicas":{},"version":3}'
)
STATE = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}'


def same_json(left: bytes, right: bytes) -> bool:
    assert b" " not in left
    return bool(json.loads(left) == json.loads(right))


def test_controller() -> None:
    golden = b'{"version":2,"brokerid":1,"timestamp":"1795231265425","kraftControllerEpoch":-1}'
    assert same_json(z.ControllerZNode.encode(1, 1795231265425), golden)
    assert z.ControllerZNode.decode(golden) == 1
    assert z.ControllerZNode.decode(b'{"version":1,"brokerid":7,"timestamp":"1"}') == 7
    assert z.ControllerZNode.decode(b"3") == 3
    assert z.ControllerZNode.decode_kraft_epoch(b'{"version":2,"brokerid":1,"kraftControllerEpoch":5}') == 5
    assert z.ControllerEpochZNode.encode(12) == b"12"
    assert z.ControllerEpochZNode.decode(b"12") == 12


def test_cluster_id_has_a_version_that_is_text() -> None:
    golden = b'{"version":"1","id":"RnbDSZAwReuiKSwbv54RlA"}'
    assert same_json(z.ClusterIdZNode.encode("RnbDSZAwReuiKSwbv54RlA"), golden)
    assert z.ClusterIdZNode.decode(golden) == "RnbDSZAwReuiKSwbv54RlA"


def test_broker() -> None:
    assert same_json(z.BrokerIdZNode.encode(BROKER_INFO, 1795231265361), BROKER)
    assert z.BrokerIdZNode.decode(1, BROKER) == BROKER_INFO


def test_broker_without_plaintext_listener_and_rack() -> None:
    broker = Broker(3, (EndPoint("::1", 9093, "INTERNAL", "SSL"),), features={"f": (1, 4)})
    data = z.BrokerIdZNode.encode(z.BrokerInfo(broker, 5, 9999), 1)
    value = json.loads(data)
    assert (value["host"], value["port"], "rack" in value) == (None, -1, False)
    assert value["endpoints"] == ["INTERNAL://[::1]:9093"]
    assert value["features"] == {"f": {"min_version": 1, "max_version": 4}}
    assert z.BrokerIdZNode.decode(3, data).broker == broker


@pytest.mark.parametrize(
    ("version", "left_out"),
    [(5, set()), (4, {"features"}), (2, {"features", "listener_security_protocol_map", "rack"})],
)
def test_older_brokers_are_shown_what_they_know(version: int, left_out: set[str]) -> None:
    data = z.BrokerIdZNode.encode(BROKER_INFO._replace(version=version), 1795231265361)
    value = json.loads(data)
    assert value["version"] == version
    assert set(json.loads(BROKER)) - set(value) == left_out
    assert z.BrokerIdZNode.decode(1, data).broker.end_points == BROKER_INFO.broker.end_points


@pytest.mark.parametrize(
    "data",
    [
        b'{"version":1,"host":"h","port":9092,"jmx_port":-1}',
        b'{"version":2,"host":"h","port":9092,"jmx_port":-1,"timestamp":"2","endpoints":["PLAINTEXT://h:9092"]}',
        b'{"version":3,"endpoints":["PLAINTEXT://h:9092"],"future":[]}',
        b'{"version":4,"endpoints":["PLAINTEXT://h:9092"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}',
    ],
)
def test_older_brokers(data: bytes) -> None:
    assert z.BrokerIdZNode.decode(1, data).broker == Broker(1, (EndPoint("h", 9092, "PLAINTEXT", "PLAINTEXT"),))


def test_topic() -> None:
    topic_id = uuid.from_string("XnCGM05_QZi1lNzWoO32vQ")
    assignment = {0: ReplicaAssignment((1, 2), (2,)), 1: ReplicaAssignment((2, 1))}
    assert same_json(z.TopicZNode.encode(topic_id, assignment), TOPIC)
    decoded = z.TopicZNode.decode("t", TOPIC)
    assert (decoded.topic, decoded.topic_id, decoded.assignment) == ("t", topic_id, assignment)
    oldest = z.TopicZNode.decode("t", b'{"version":1,"partitions":{"0":[1]}}')
    assert (oldest.topic_id, oldest.assignment) == (None, {0: ReplicaAssignment((1,))})
    assert "topic_id" not in json.loads(z.TopicZNode.encode(None, {}))


def test_partition_state() -> None:
    state = LeaderIsrAndControllerEpoch(LeaderAndIsr(1, (1, 2), 0, partition_epoch=7), 1)
    assert same_json(z.TopicPartitionStateZNode.encode(state), STATE)
    assert z.TopicPartitionStateZNode.decode(STATE, 7) == state
    recovering = LeaderIsrAndControllerEpoch(LeaderAndIsr(2, (2,), 3, LeaderRecoveryState.RECOVERING), 4)
    data = z.TopicPartitionStateZNode.encode(recovering)
    assert json.loads(data)["leader_recovery_state"] == 1
    assert z.TopicPartitionStateZNode.decode(data, 0) == recovering
    assert z.TopicPartitionStateZNode.path(TopicPartition("t", 3)) == "/brokers/topics/t/partitions/3/state"


def test_config() -> None:
    golden = b'{"version":1,"config":{"max.message.bytes":"2000000"}}'
    assert same_json(z.ConfigEntityZNode.encode({"max.message.bytes": "2000000"}), golden)
    assert z.ConfigEntityZNode.decode(golden) == {"max.message.bytes": "2000000"}
    assert z.ConfigEntityZNode.decode(None) == z.ConfigEntityZNode.decode(b"") == {}
    assert z.ConfigEntityZNode.encode({}) == b'{"version":1,"config":{}}'
    with pytest.raises(ValueError, match="version 2"):
        z.ConfigEntityZNode.decode(b'{"version":2,"config":{}}')


def test_config_change() -> None:
    node = z.ConfigEntityChangeNotificationZNode
    golden = b'{"version":2,"entity_path":"users/alice/clients/<default>"}'
    assert same_json(node.encode("users/alice/clients/<default>"), golden)
    assert node.decode(golden) == "users/alice/clients/<default>"
    assert node.decode(b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"
    with pytest.raises(ValueError, match="version 3"):
        node.decode(b'{"version":3,"entity_path":"topics/t"}')
    assert z.sequence_number("config_change_0000000042") == "0000000042"


def test_notifications() -> None:
    partitions = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    assert same_json(z.IsrChangeNotificationZNode.encode([TopicPartition("t", 0)]), partitions)
    assert z.IsrChangeNotificationZNode.decode(partitions) == [TopicPartition("t", 0)]
    assert same_json(z.PreferredReplicaElectionZNode.encode([TopicPartition("t", 0)]), partitions)
    assert z.PreferredReplicaElectionZNode.decode(partitions) == {TopicPartition("t", 0)}
    event = b'{"version":1,"broker":2,"event":1}'
    assert same_json(z.LogDirEventNotificationZNode.encode(2), event)
    assert z.LogDirEventNotificationZNode.decode(event) == 2
    reassignment = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    assert same_json(z.ReassignPartitionsZNode.encode({TopicPartition("t", 0): [1, 2]}), reassignment)
    assert z.ReassignPartitionsZNode.decode(reassignment) == {TopicPartition("t", 0): [1, 2]}


def test_producer_ids() -> None:
    golden = b'{"version":1,"broker":2,"block_start":"0","block_end":"999"}'
    block = z.ProducerIdsBlock(2, 0, 1000)
    assert same_json(z.ProducerIdBlockZNode.encode(block), golden)
    assert z.ProducerIdBlockZNode.decode(golden) == block


def test_features() -> None:
    golden = b'{"features":{},"version":2,"status":1}'
    assert same_json(z.FeatureZNode.encode(z.FinalizedFeatures(True)), golden)
    assert z.FeatureZNode.decode(golden) == z.FinalizedFeatures(True)
    first = z.FinalizedFeatures(False, {"f": 3}, version=1)
    data = z.FeatureZNode.encode(first)
    assert json.loads(data)["features"] == {"f": {"min_version_level": 3, "max_version_level": 3}}
    assert z.FeatureZNode.decode(data) == first
    second = z.FinalizedFeatures(True, {"f": 3})
    data = z.FeatureZNode.encode(second)
    assert json.loads(data) == {"version": 2, "status": 1, "features": {"f": {"max_version_level": 3}}}
    assert z.FeatureZNode.decode(data) == second
    with pytest.raises(ValueError, match="version 3"):
        z.FeatureZNode.decode(b'{"features":{},"version":3,"status":1}')
    with pytest.raises(ValueError, match="Malformed levels"):
        z.FeatureZNode.decode(b'{"features":{"f":3},"version":2,"status":1}')


@pytest.mark.parametrize(("name", "path"), [("c/1", "c%2F1"), ("bob@x", "bob%40x"), ("a b*~", "a%20b%2A%7E")])
def test_sanitized_names(name: str, path: str) -> None:
    assert sanitize(name) == path
    assert desanitize(path) == name


@given(st.text())
def test_sanitizing_loses_nothing(name: str) -> None:
    assert desanitize(sanitize(name)) == name


replicas = st.lists(st.integers(0, 20), min_size=1, max_size=5, unique=True).map(tuple)


@given(replicas, replicas, replicas)
def test_reassignment(origin: tuple[int, ...], target: tuple[int, ...], second: tuple[int, ...]) -> None:
    moving = ReplicaAssignment(origin).reassign_to(target)
    assert moving.target_replicas == target
    assert set(moving.origin_replicas) == set(origin)
    again = moving.reassign_to(second)
    assert again.target_replicas == second
    assert set(again.replicas) == set(second) | set(origin)
    assert z.TopicZNode.decode("t", z.TopicZNode.encode(None, {0: again})).assignment == {0: again}
