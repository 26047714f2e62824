"""Topics: CreateTopics, CreatePartitions, Metadata. None is deleted: Apache drops empty groups without offsets with a
topic, kafkapy leaves them to their expiry."""

from __future__ import annotations

from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from system_tests.beside_apache.configs import draw_configs
from system_tests.beside_apache.draw import Draw
from system_tests.beside_apache.question import Question
from system_tests.beside_apache.side import Side

_ASSIGNMENTS: tuple[list[list[int]] | None, ...] = (None, None, None, [[0]], [[7]], [[0], [0]], [[]], [[0, 0]])
_SOON = 0.3
"""Seconds until the brokers know of what the controller has made."""


def create_topics(draw: Draw) -> Question:
    """Not a.b and a_b at once, which collide: Apache creates in the order of a hash map."""
    validate_only = draw.chance(0.25)
    names = [draw.topic() for _ in range(draw.one_of(1, 1, 1, 2, 3))]
    if "a.b" in names:
        names = [name for name in names if name != "a_b"]
    request = CreateTopicsRequest(
        topics=[_new_topic(draw, name) for name in names],
        timeout_ms=draw.one_of(10000, 10000, 10000, 0, -1) if validate_only else 10000,
        validate_only=validate_only,
    )
    # version 0 cannot say validate_only and would create with the timeout of a mere validation
    return Question(
        ApiKey.CREATE_TOPICS, draw.randint(1, 7) if validate_only else draw.randint(0, 7), request, pause=_SOON
    )


def _new_topic(draw: Draw, name: str) -> CreateTopicsRequest.CreatableTopic:
    topic = CreateTopicsRequest.CreatableTopic(name=name)
    if draw.chance(0.2):
        topic.num_partitions, topic.replication_factor = draw.one_of((-1, -1), (-1, -1), (2, 1))
        for index in draw.one_of([0], [0, 1], [0, 1], [0, 2], [1], [0, 0]):
            replicas = draw.one_of([0], [0], [0], [0, 0], [7], [])
            topic.assignments.append(CreateTopicsRequest.CreatableReplicaAssignment(index, replicas))
    else:
        topic.num_partitions = draw.one_of(1, 3, 3, 2, 0, -1, -2, 5)
        topic.replication_factor = draw.one_of(1, 1, 1, 1, -1, 0, 2, -2)
    for key, value in draw_configs(draw, ConfigResourceType.TOPIC, draw.one_of(0, 0, 0, 1, 1, 2)):
        topic.configs.append(CreateTopicsRequest.CreatableTopicConfig(key, value))
    return topic


def create_partitions(draw: Draw) -> Question:
    """Never of a topic without a name, over which Apache trips."""
    request = CreatePartitionsRequest(timeout_ms=10000, validate_only=draw.chance(0.4))
    for _ in range(draw.one_of(1, 1, 2)):
        assignments = draw.choice(_ASSIGNMENTS)
        topic = CreatePartitionsRequest.CreatePartitionsTopic(
            name=draw.existing_topic() or "nope",
            count=draw.one_of(1, 3, 4, 4, 0, -1, 2),
            assignments=None
            if assignments is None
            else [CreatePartitionsRequest.CreatePartitionsAssignment(replicas) for replicas in assignments],
        )
        request.topics.append(topic)
    return Question(ApiKey.CREATE_PARTITIONS, draw.version(ApiKey.CREATE_PARTITIONS), request, pause=_SOON)


def metadata(draw: Draw) -> Question:
    """By name or by id. Before version 4 an unknown topic is created always."""
    version = draw.version(ApiKey.METADATA)
    everything = draw.chance(0.2) and version > 0
    topics = [
        (draw.topic() if draw.chance(0.3) else draw.existing_topic(), version >= 10 and draw.chance(0.2))
        for _ in range(draw.one_of(0, 1, 1, 2, 3))
    ]
    id_and_name = draw.chance(0.05)
    creates = draw.chance(0.1)
    of_cluster, of_topics = draw.chance(0.3), draw.chance(0.3)

    def request(side: Side) -> Message:
        asked = [
            MetadataRequest.MetadataRequestTopic(side.topic_id(name), name if id_and_name else None)
            if by_id
            else MetadataRequest.MetadataRequestTopic(name=name)
            for name, by_id in topics
        ]
        return MetadataRequest(
            topics=None if everything else asked,
            allow_auto_topic_creation=creates,
            include_cluster_authorized_operations=of_cluster,
            include_topic_authorized_operations=of_topics,
        )

    changes = creates or version < 4
    return Question(ApiKey.METADATA, version, request, repeats=not changes, pause=_SOON if changes else 0)
