"""Operations on topics: list, describe, create, delete, add partitions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kafkapy.admin.results import Answer, Results, failure_of, told
from kafkapy.admin.router import Call, Router, metadata_request
from kafkapy.clients.metadata import ClusterMetadata, TopicMetadata
from kafkapy.clients.requests import VersionedRequest
from kafkapy.errors import IncompatibleBrokerVersion
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest


class NewTopic(NamedTuple):
    """A topic to be created, with counts (-1: the broker's default) or an assignment, partition -> broker ids.

    Attributes:
        name: Name of the topic.
        num_partitions: Number of partitions. Default -1: `num.partitions`.
        replication_factor: Number of replicas. Default -1: `default.replication.factor`.
        replica_assignments: Broker ids by partition number, in place of the counts. Default: the controller chooses.
        topic_configs: Configs of the topic. Default: none.

    Example:
        >>> NewTopic("clicks", num_partitions=6, topic_configs={"cleanup.policy": "compact"}).replication_factor
        -1
    """

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = MappingProxyType({})
    topic_configs: Mapping[str, Any] = MappingProxyType({})


class CreatedTopic(NamedTuple):
    """A created topic; counts are -1 and the id is zero if the broker is too old to report them."""

    topic_id: bytes
    num_partitions: int
    replication_factor: int


class NewPartitions(NamedTuple):
    """The new partition count of a topic, and optionally the replicas of each new partition.

    Attributes:
        total_count: Number of partitions afterwards.
        new_assignments: Broker ids for each new partition. None (default): the controller chooses.

    Example:
        >>> NewPartitions(6).total_count
        6
    """

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class TopicOperations(Router):
    async def list_topics(self, list_internal: bool = True) -> dict[str, TopicMetadata]:
        """Return all topics that the client may see, ordered by name."""
        cluster = await self.retry(self.call("listTopics"), lambda: self.refresh(None))
        return {
            name: cluster.topics[name]
            for name in sorted(cluster.topics)
            if list_internal or not cluster.topics[name].internal
        }

    async def describe_topics(self, topics: Iterable[str]) -> Results[str, TopicMetadata]:
        """Return topics by name. UNKNOWN_TOPIC_OR_PARTITION for a topic that does not exist; this is not retried."""
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        cluster = await self.retry(self.call("describeTopics"), lambda: self.refresh(names))
        return {name: _described(cluster.topics.get(name)) for name in names}

    async def describe_topic_ids(self, topic_ids: Iterable[bytes]) -> Results[bytes, TopicMetadata]:
        """Return topics by id (brokers from 3.1 on). UNKNOWN_TOPIC_ID for a topic that does not exist."""
        ids = list(dict.fromkeys(topic_ids))
        wanted = [uuid.UUID(bytes=topic_id) for topic_id in ids]
        cluster = ClusterMetadata.of((await self.metadata(self.call("describeTopics"), wanted)).response)
        found = {topic.topic_id: topic for topic in cluster.topics.values()}
        unknown = KafkaError(Errors.UNKNOWN_TOPIC_ID)
        return {id: _described(found[id]) if id in found else unknown for id in ids}

    async def metadata(
        self, call: Call, topics: Iterable[str | uuid.UUID] | None, operations: bool = False
    ) -> Answer[Any]:
        """Return the Metadata response of topics by name or id (KIP-516); None: all topics."""
        wanted = None if topics is None else [_metadata_topic(topic) for topic in topics]
        by_id = any(topic.name is None for topic in wanted or ())
        return await self.on_any(call, metadata_request(wanted, operations), min_version=12 if by_id else 0)

    async def create_topics(
        self, new_topics: Iterable[NewTopic], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Results[str, CreatedTopic]:
        """Create topics. With an assignment, the counts are not sent."""
        topics = {
            topic.name: topic._replace(num_partitions=-1, replication_factor=-1) if topic.replica_assignments else topic
            for topic in new_topics
        }
        if not topics:
            return {}
        answer = await self.create(self.call("createTopics", timeout_ms), list(topics.values()), validate_only)
        created: Results[str, CreatedTopic] = {
            t.name: failure_of(t) or CreatedTopic(t.topic_id, t.num_partitions, t.replication_factor)
            for t in answer.response.topics
        }
        return told(created, topics, "controller", "topic")

    async def create(self, call: Call, topics: Sequence[NewTopic], validate_only: bool) -> Answer[Any]:
        creatable = [_creatable(topic) for topic in topics]

        def build(version: int) -> CreateTopicsRequest:
            if validate_only and version < 1:
                raise IncompatibleBrokerVersion("validate_only needs a broker from 0.10.2 on")
            if version < 4 and any(
                -1 in (t.num_partitions, t.replication_factor) and not t.assignments for t in creatable
            ):
                raise IncompatibleBrokerVersion(
                    "The broker is older than 2.4: num_partitions and replication_factor must be given"
                )
            return CreateTopicsRequest(topics=creatable, timeout_ms=call.server_timeout_ms, validate_only=validate_only)

        request = VersionedRequest(CreateTopicsRequest, build)
        return await self.on_controller(call, request, lambda r: [t.error_code for t in r.topics])

    async def delete_topics(self, topics: Iterable[str], timeout_ms: int | None = None) -> Results[str, None]:
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        answer = await self.delete(self.call("deleteTopics", timeout_ms), names)
        return told({t.name: failure_of(t) for t in answer.response.responses}, names, "controller", "topic")

    async def delete(self, call: Call, topics: Sequence[str | uuid.UUID]) -> Answer[Any]:
        """Delete topics by name or id."""

        def build(version: int) -> DeleteTopicsRequest:
            if version < 6:
                names = [str(topic) for topic in topics]
                return DeleteTopicsRequest(topic_names=names, timeout_ms=call.server_timeout_ms)
            state = DeleteTopicsRequest.DeleteTopicState
            states = [state(topic_id=t.bytes) if isinstance(t, uuid.UUID) else state(name=t) for t in topics]
            return DeleteTopicsRequest(topics=states, timeout_ms=call.server_timeout_ms)

        return await self.on_controller(
            call,
            VersionedRequest(DeleteTopicsRequest, build),
            lambda r: [t.error_code for t in r.responses],
            min_version=6 if any(isinstance(topic, uuid.UUID) for topic in topics) else 0,
        )

    async def create_partitions(
        self, new_partitions: Mapping[str, NewPartitions], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Results[str, None]:
        if not new_partitions:
            return {}
        answer = await self.add_partitions(self.call("createPartitions", timeout_ms), new_partitions, validate_only)
        results = {t.name: failure_of(t) for t in answer.response.results}
        return told(results, new_partitions, "controller", "topic")

    async def add_partitions(
        self, call: Call, new_partitions: Mapping[str, NewPartitions], validate_only: bool
    ) -> Answer[Any]:
        message = CreatePartitionsRequest

        def build(version: int) -> CreatePartitionsRequest:
            return message(
                topics=[
                    message.CreatePartitionsTopic(
                        name=name,
                        count=new.total_count,
                        assignments=None
                        if new.new_assignments is None
                        else [message.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in new.new_assignments],
                    )
                    for name, new in new_partitions.items()
                ],
                timeout_ms=call.server_timeout_ms,
                validate_only=validate_only,
            )

        request = VersionedRequest(message, build)
        return await self.on_controller(call, request, lambda r: [t.error_code for t in r.results])


def _described(topic: TopicMetadata | None) -> TopicMetadata | KafkaError:
    if topic is None:
        return KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.error is not Errors.NONE:
        return KafkaError(topic.error)
    return topic


def _metadata_topic(topic: str | uuid.UUID) -> MetadataRequest.MetadataRequestTopic:
    if isinstance(topic, uuid.UUID):
        return MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic.bytes)
    return MetadataRequest.MetadataRequestTopic(name=topic)


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    request = CreateTopicsRequest
    return request.CreatableTopic(
        name=topic.name,
        num_partitions=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            request.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
            for partition, brokers in (topic.replica_assignments or {}).items()
        ],
        configs=[
            request.CreatableTopicConfig(name=key, value=None if value is None else str(value))
            for key, value in (topic.topic_configs or {}).items()
        ],
    )
