"""Topics made, grown and deleted in a real ZooKeeper; sentences as Apache Kafka 3.9.1 has them."""

import json
from collections.abc import Iterator

import pytest

from kafkapy.common import uuid
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.server.admin.replica_placement import MAX_PARTITIONS
from kafkapy.server.admin.zk_admin_manager import CreatableTopic, CreatePartitionsTopic, TopicChange, ZkAdminManager
from kafkapy.server.api_error import NO_ERROR, ApiError
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.policies import CreateTopicPolicy, PolicyViolation, RequestedTopic
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import BrokerInfo, ControllerZNode, TopicZNode

pytestmark = pytest.mark.integration

BROKERS: dict[int, str | None] = {1: None, 2: None, 3: None}
TOO_MANY_PARTITIONS = (
    "Number of partitions must not be larger than 100000: more do not fit into the topic's ZooKeeper node."
)


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.connect(zk_connect, 6000)
    client.create_top_level_paths()
    client.register_controller_and_increment_controller_epoch(1)
    yield client
    client.close()


@pytest.fixture
def admin(zk: KafkaZkClient) -> ZkAdminManager:
    return ZkAdminManager(KafkaConfig.from_properties({"zookeeper.connect": "unused:1", "num.partitions": "2"}), zk)


def topic(
    name: str = "t",
    partitions: int = 1,
    factor: int = 1,
    configs: dict[str, str | None] | None = None,
    assignments: dict[int, list[int]] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreateTopicsRequest.CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=p, broker_ids=b)
            for p, b in (assignments or {}).items()
        ],
    )


def create(admin: ZkAdminManager, wanted: CreatableTopic, validate_only: bool = False) -> TopicChange:
    (change,) = admin.create_topics([wanted], BROKERS, validate_only)
    assert change.topic == wanted.name
    return change


class TwoReplicas(CreateTopicPolicy):
    def __init__(self) -> None:
        self.asked: list[RequestedTopic] = []

    def validate(self, topic: RequestedTopic) -> None:
        self.asked.append(topic)
        if topic.topic == "defect":
            raise RuntimeError("a defect")
        if topic.replication_factor == 1:
            raise PolicyViolation("two replicas at least")


def test_a_policy_is_asked_for_new_topics(zk: KafkaZkClient) -> None:
    policy, counted = TwoReplicas(), list[int]()
    config = KafkaConfig.from_properties({"zookeeper.connect": "unused:1", "num.partitions": "2"})
    admin = ZkAdminManager(config, zk, policy)
    refused = ApiError(Errors.POLICY_VIOLATION, "two replicas at least")
    for validate_only in (False, True):
        (change,) = admin.create_topics([topic()], BROKERS, validate_only, counted.append)
        assert change.error == refused
    assert not counted
    assert create(admin, topic("defect", -1, 2)).error == ApiError(Errors.UNKNOWN_SERVER_ERROR)
    assert create(admin, topic("t", -1, 2, {"retention.ms": "1"})).error == NO_ERROR
    assert create(admin, topic("chosen", -1, -1, assignments={0: [1, 0]})).error == NO_ERROR
    assert create(admin, topic("bad name", 1, 2)).error.error is Errors.INVALID_TOPIC_EXCEPTION
    assert policy.asked == [
        ("t", 1, 1, None, {}),
        ("t", 1, 1, None, {}),
        ("defect", 2, 2, None, {}),
        ("t", 2, 2, None, {"retention.ms": "1"}),
        ("chosen", None, None, {0: [1, 0]}, {}),
    ]
    assert zk.get_all_topics_in_cluster() == {"t", "chosen"}


def test_created_topic(admin: ZkAdminManager, zk: KafkaZkClient) -> None:
    change = create(admin, topic("t", 3, 2, {"retention.ms": "1000"}))
    assert change.error == NO_ERROR
    assert change.configs == {"retention.ms": "1000"}
    assert [len(replicas) for replicas in change.assignment.values()] == [2, 2, 2]
    node = json.loads(zk.get_data_and_version("/brokers/topics/t")[0] or b"")
    assert node == {
        "version": 3,
        "topic_id": uuid.to_string(change.topic_id),
        "partitions": {str(p): replicas for p, replicas in change.assignment.items()},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    assert zk.get_entity_configs("topics", "t") == {"retention.ms": "1000"}


def test_defaults_and_validate_only(admin: ZkAdminManager, zk: KafkaZkClient) -> None:
    change = create(admin, topic("t", -1, -1), validate_only=True)
    assert change.succeeded
    assert (len(change.assignment), len(change.assignment[0]), change.topic_id) == (2, 1, uuid.ZERO_UUID)
    assert not zk.path_exists(TopicZNode.path("t"))
    given = create(admin, topic("g", -1, -1, assignments={1: [2, 1], 0: [1, 2]}))
    assert given.succeeded
    assert zk.get_full_replica_assignment_for_topics(["g"]).popitem()[1] in {
        ReplicaAssignment((1, 2)),
        ReplicaAssignment((2, 1)),
    }


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        (
            topic("bad name"),
            Errors.INVALID_TOPIC_EXCEPTION,
            "Topic name is invalid: 'bad name' contains one or more characters other than ASCII alphanumerics, '.', "
            "'_' and '-'",
        ),
        (topic(""), Errors.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
        (
            topic(factor=9),
            Errors.INVALID_REPLICATION_FACTOR,
            "Replication factor: 9 larger than available brokers: 3.",
        ),
        (topic(partitions=0), Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (topic(partitions=MAX_PARTITIONS + 1), Errors.INVALID_PARTITIONS, TOO_MANY_PARTITIONS),
        (topic(partitions=(1 << 31) - 1), Errors.INVALID_PARTITIONS, TOO_MANY_PARTITIONS),
        (topic(configs={"nope": "1"}), Errors.INVALID_CONFIG, "Unknown topic config name: nope"),
        (
            topic(configs={"retention.ms": "x"}),
            Errors.INVALID_CONFIG,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (
            topic(configs={"retention.ms": None, "segment.ms": None}),
            Errors.INVALID_CONFIG,
            "Null value not supported for topic configs: retention.ms,segment.ms",
        ),
        (
            topic(assignments={0: [1]}),
            Errors.INVALID_REQUEST,
            "Both numPartitions or replicationFactor and replicasAssignments were set. "
            "Both cannot be used at the same time.",
        ),
        (
            topic("t", -1, -1, assignments={1: [1]}),
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            topic("t", -1, -1, assignments={0: [1], 1: [1, 2]}),
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "All partitions should have the same number of replicas",
        ),
        (
            topic("t", -1, -1, assignments={0: [1, 1]}),
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate replica assignment found: HashMap(0 -> ArrayBuffer(1, 1))",
        ),
    ],
)
def test_refused_topics(admin: ZkAdminManager, wanted: CreatableTopic, error: Errors, message: str) -> None:
    assert create(admin, wanted).error == ApiError(error, message)


def test_names_that_are_taken(admin: ZkAdminManager, zk: KafkaZkClient) -> None:
    assert create(admin, topic("a.b")).succeeded
    assert create(admin, topic("a.b")).error == ApiError(Errors.TOPIC_ALREADY_EXISTS, "Topic 'a.b' already exists.")
    assert create(admin, topic("a_b")).error == ApiError(
        Errors.INVALID_TOPIC_EXCEPTION, "Topic 'a_b' collides with existing topics: a.b"
    )
    assert create(admin, topic("a-b")).succeeded
    assert admin.delete_topics(["a.b", "none"]) == {"a.b": Errors.NONE, "none": Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert admin.delete_topics(["a.b"]) == {"a.b": Errors.NONE}, "asked for already"
    assert zk.get_topic_deletions() == ["a.b"]
    assert create(admin, topic("a.b")).error == ApiError(
        Errors.TOPIC_ALREADY_EXISTS, "Topic 'a.b' is marked for deletion."
    )


def test_nothing_is_made_while_there_is_no_controller(admin: ZkAdminManager, zk: KafkaZkClient) -> None:
    zk.delete_path(ControllerZNode.path)
    change = create(admin, topic("t"))
    assert change.error == ApiError(
        Errors.STALE_CONTROLLER_EPOCH, "Cannot set entity configs when there is no controller."
    )
    assert zk.get_all_topics_in_cluster() == set()


def test_one_bad_topic_leaves_the_others(admin: ZkAdminManager) -> None:
    changes = admin.create_topics([topic("bad name"), topic("good")], BROKERS)
    assert [change.succeeded for change in changes] == [False, True]


def test_topics_have_no_id_below_ibp_2_8(zk: KafkaZkClient) -> None:
    config = KafkaConfig.from_properties({"zookeeper.connect": "unused:1", "inter.broker.protocol.version": "2.7"})
    assert create(ZkAdminManager(config, zk), topic("old")).topic_id == uuid.ZERO_UUID
    assert zk.get_topic_ids_for_topics(["old"]) == {}


def register_brokers(zk: KafkaZkClient, racks: dict[int, str | None]) -> None:
    for broker_id, rack in racks.items():
        zk.register_broker(BrokerInfo(Broker(broker_id, (EndPoint("h", 1, "PLAINTEXT", "PLAINTEXT"),), rack)))


def grow(
    admin: ZkAdminManager, count: int, assignments: list[list[int]] | None = None, validate_only: bool = False
) -> TopicChange:
    given = None
    if assignments is not None:
        given = [CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=b) for b in assignments]
    (change,) = admin.create_partitions(
        [CreatePartitionsTopic(name="t", count=count, assignments=given)], validate_only
    )
    return change


def test_added_partitions(admin: ZkAdminManager, zk: KafkaZkClient) -> None:
    register_brokers(zk, BROKERS)
    topic_id = create(admin, topic("t", -1, -1, assignments={0: [2, 3]})).topic_id
    assert len(grow(admin, 4, validate_only=True).assignment) == 4
    assert len(zk.get_full_replica_assignment_for_topics(["t"])) == 1
    grown = grow(admin, 3)
    assert grown.assignment == {0: (2, 3), 1: (3, 2), 2: (1, 3)}
    assert grow(admin, 4, [[1, 2]]).assignment[3] == (1, 2)
    assert zk.get_topic_ids_for_topics(["t"]) == {"t": topic_id}
    assert len(zk.get_full_replica_assignment_for_topics(["t"])) == 4


@pytest.mark.parametrize(
    ("count", "assignments", "error", "message"),
    [
        (1, None, Errors.INVALID_PARTITIONS, "Topic currently has 2 partitions, which is higher than the requested 1."),
        (2, None, Errors.INVALID_PARTITIONS, "Topic already has 2 partitions."),
        (MAX_PARTITIONS + 1, None, Errors.INVALID_PARTITIONS, TOO_MANY_PARTITIONS),
        ((1 << 31) - 1, None, Errors.INVALID_PARTITIONS, TOO_MANY_PARTITIONS),
        (
            3,
            [[9999, 1, 8888]],
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "Unknown broker(s) in replica assignment: 9999, 8888.",
        ),
        (
            4,
            [[1, 2]],
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 2 but 1 assignments provided.",
        ),
        (
            3,
            [[1, 1]],
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate brokers not allowed in replica assignment: 1, 1 for partition id 2.",
        ),
        (3, [[]], Errors.INVALID_REPLICA_ASSIGNMENT, "Cannot have replication factor of 0 for partition id 2."),
        (
            4,
            [[1], [1, 2, 3]],
            Errors.INVALID_REPLICA_ASSIGNMENT,
            "Inconsistent replication factor between partitions, partition 0 has 2 while partitions [2, 3] have "
            "replication factors [1, 3], respectively.",
        ),
    ],
)
def test_refused_partitions(
    admin: ZkAdminManager,
    zk: KafkaZkClient,
    count: int,
    assignments: list[list[int]] | None,
    error: Errors,
    message: str,
) -> None:
    register_brokers(zk, BROKERS)
    create(admin, topic("t", 2, 2))
    assert grow(admin, count, assignments).error == ApiError(error, message)


def test_topics_that_cannot_grow(admin: ZkAdminManager, zk: KafkaZkClient) -> None:
    register_brokers(zk, BROKERS)
    assert grow(admin, 2).error == ApiError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "The topic 't' does not exist.")
    create(admin, topic("t"))
    zk.set_topic_assignment("t", None, {0: ReplicaAssignment((1, 2), (2,))})
    assert grow(admin, 2).error == ApiError(
        Errors.REASSIGNMENT_IN_PROGRESS, "A partition reassignment is in progress for the topic 't'."
    )
