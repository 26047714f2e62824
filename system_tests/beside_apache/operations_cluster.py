"""The cluster: configs, log directories, leaders and replicas."""

from __future__ import annotations

from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.alter_configs import AlterConfigsRequest
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafkapy.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from system_tests.beside_apache.configs import DESCRIBED_BROKER_KEYS, DESCRIBED_TOPIC_KEYS, GROUP, draw_configs
from system_tests.beside_apache.draw import Draw
from system_tests.beside_apache.question import Question
from system_tests.beside_apache.side import Side

_CONFIG_CHANGE_SECONDS = 0.3
_OF_A_BROKER = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)


def _resource(draw: Draw) -> tuple[int, str]:
    return draw.one_of(
        (ConfigResourceType.TOPIC, draw.existing_topic()),
        (ConfigResourceType.TOPIC, draw.existing_topic()),
        (ConfigResourceType.TOPIC, draw.existing_topic()),
        (ConfigResourceType.TOPIC, draw.topic()),
        (ConfigResourceType.BROKER, "0"),
        (ConfigResourceType.BROKER, ""),
        (ConfigResourceType.BROKER, "1"),
        (ConfigResourceType.BROKER, "x"),
        (ConfigResourceType.BROKER_LOGGER, "0"),
        (ConfigResourceType.UNKNOWN, "x"),
        (ConfigResourceType.CLIENT_METRICS, "c"),
        (GROUP, "g"),
    )


def describe_configs(draw: Draw) -> Question:
    """All of a topic's; of a broker only some, and no loggers, whose names are classes of the one or modules of the
    other."""
    keys = draw.choice(DESCRIBED_TOPIC_KEYS)
    request = DescribeConfigsRequest(include_synonyms=draw.chance(0.5), include_documentation=False)
    for _ in range(draw.one_of(1, 1, 2)):
        resource_type, name = _resource(draw)
        wanted = DESCRIBED_BROKER_KEYS if keys is None and resource_type in _OF_A_BROKER else keys
        request.resources.append(DescribeConfigsRequest.DescribeConfigsResource(resource_type, name, wanted))
    return Question(ApiKey.DESCRIBE_CONFIGS, draw.version(ApiKey.DESCRIBE_CONFIGS), request, repeats=True)


def alter_configs(draw: Draw) -> Question:
    """Each resource once: Apache gives no answer at all to one that comes twice."""
    resources = {_resource(draw) for _ in range(draw.one_of(1, 1, 1, 2))}
    request = AlterConfigsRequest(validate_only=draw.chance(0.3))
    for resource_type, name in sorted(resources):
        configs = dict(draw_configs(draw, resource_type, draw.one_of(1, 1, 2, 0)))
        altered = [AlterConfigsRequest.AlterableConfig(key, value) for key, value in configs.items()]
        request.resources.append(AlterConfigsRequest.AlterConfigsResource(resource_type, name, altered))
    version = draw.version(ApiKey.ALTER_CONFIGS)
    return Question(ApiKey.ALTER_CONFIGS, version, request, pause=_CONFIG_CHANGE_SECONDS)


def incremental_alter_configs(draw: Draw) -> Question:
    """Sets, deletes, appends, subtracts, and an operation that does not exist."""
    request = IncrementalAlterConfigsRequest(validate_only=draw.chance(0.3))
    for _ in range(draw.one_of(1, 1, 1, 2)):
        resource_type, name = _resource(draw)
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type, name)
        for key, value in draw_configs(draw, resource_type, draw.one_of(1, 1, 2, 0)):
            kind = draw.one_of(0, 0, 0, 0, 1, 2, 3, 9)
            resource.configs.append(IncrementalAlterConfigsRequest.AlterableConfig(key, kind, value))
        request.resources.append(resource)
    version = draw.version(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    return Question(ApiKey.INCREMENTAL_ALTER_CONFIGS, version, request, pause=_CONFIG_CHANGE_SECONDS)


def describe_cluster(draw: Draw) -> Question:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=draw.chance(0.5), endpoint_type=draw.one_of(1, 1, 2, 3)
    )
    return Question(ApiKey.DESCRIBE_CLUSTER, draw.version(ApiKey.DESCRIBE_CLUSTER), request)


# -------------------------------------------------------------------------------------------------------- replicas


def describe_log_dirs(draw: Draw) -> Question:
    """Not of all topics: that would tell the sizes of the internal ones too."""
    topics = [
        DescribeLogDirsRequest.DescribableLogDirTopic(name, draw.partitions())
        for name in ([] if draw.chance(0.2) else draw.topics())
    ]
    request = DescribeLogDirsRequest(topics=topics)
    return Question(ApiKey.DESCRIBE_LOG_DIRS, draw.version(ApiKey.DESCRIBE_LOG_DIRS), request, repeats=True)


def alter_replica_log_dirs(draw: Draw) -> Question:
    """To the directory where they are, as there is no other, or to none."""
    path = draw.one_of("", "", "/nope", "relative")
    topics = [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name, draw.partitions()) for name in draw.topics()]

    def request(side: Side) -> Message:
        return AlterReplicaLogDirsRequest([AlterReplicaLogDirsRequest.AlterReplicaLogDir(path or side.log_dir, topics)])

    return Question(ApiKey.ALTER_REPLICA_LOG_DIRS, draw.version(ApiKey.ALTER_REPLICA_LOG_DIRS), request)


def elect_leaders(draw: Draw) -> Question:
    topics = [
        ElectLeadersRequest.TopicPartitions(name, draw.partitions())
        for name in ([] if draw.chance(0.2) else draw.topics())
    ]
    request = ElectLeadersRequest(
        election_type=draw.one_of(0, 1), topic_partitions=None if draw.chance(0.1) else topics, timeout_ms=5000
    )
    return Question(ApiKey.ELECT_LEADERS, draw.version(ApiKey.ELECT_LEADERS), request)


def alter_partition_reassignments(draw: Draw) -> Question:
    request = AlterPartitionReassignmentsRequest(timeout_ms=5000)
    for name in draw.topics():
        topic = AlterPartitionReassignmentsRequest.ReassignableTopic(name=name)
        for index in draw.partitions():
            replicas: list[int] | None = draw.one_of([0], [0], None, [7], [0, 0], [], [-1])
            topic.partitions.append(AlterPartitionReassignmentsRequest.ReassignablePartition(index, replicas))
        request.topics.append(topic)
    return Question(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, request)


def list_partition_reassignments(draw: Draw) -> Question:
    topics: list[tuple[str, list[int]]] | None = draw.one_of(None, [("t0", [0, 1, 9])], [("nope", [0])])
    request = ListPartitionReassignmentsRequest(timeout_ms=5000)
    if topics is not None:
        request.topics = [
            ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(name, partitions)
            for name, partitions in topics
        ]
    return Question(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, request)
