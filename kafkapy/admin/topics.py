"""Topics: list, describe, create, delete, more partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, error_of
from kafkapy.clients.metadata import ClusterMetadata, TopicMetadata
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest


class NewTopic(NamedTuple):
    """A topic to be created: counts (-1: the broker's default) or an assignment, partition -> broker ids."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    replica_assignments: Mapping[int, Sequence[int]] = MappingProxyType({})
    topic_configs: Mapping[str, str | None] = MappingProxyType({})


class CreatedTopic(NamedTuple):
    """What the broker made of it; counts are -1 and the id zero where it is too old to say."""

    topic_id: bytes
    num_partitions: int
    replication_factor: int


class NewPartitions(NamedTuple):
    """The count a topic shall have, and the replicas of each new partition if they shall not be chosen."""

    total_count: int
    new_assignments: Sequence[Sequence[int]] | None = None


class PartitionReassignment(NamedTuple):
    """A change of replicas that is under way (KIP-455)."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class TopicOperations(ClusterClient):
    def list_topics(self, list_internal: bool = True) -> dict[str, TopicMetadata]:
        """All topics that the client may see, in order of their names."""
        cluster = self.retry("listTopics", lambda: self.refresh(None))
        return {
            name: cluster.topics[name]
            for name in sorted(cluster.topics)
            if list_internal or not cluster.topics[name].internal
        }

    def describe_topics(self, topics: Iterable[str]) -> Results[str, TopicMetadata]:
        """Topics by name. A topic that does not exist is not asked for again: UNKNOWN_TOPIC_OR_PARTITION."""
        names = list(dict.fromkeys(topics))
        if not names:
            return {}
        cluster = self.retry("describeTopics", lambda: self.refresh(names))
        return {name: _described(cluster.topics.get(name)) for name in names}

    def describe_topic_ids(self, topic_ids: Iterable[bytes]) -> Results[bytes, TopicMetadata]:
        """Topics by id (brokers from 3.1 on): UNKNOWN_TOPIC_ID for one that does not exist."""
        ids = list(dict.fromkeys(topic_ids))
        wanted = [MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]

        def attempt() -> ClusterMetadata:
            request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
            return ClusterMetadata.of(self.call(self.any_node(), request))

        found = {topic.topic_id: topic for topic in self.retry("describeTopics", attempt).topics.values()}
        unknown = KafkaError(Errors.UNKNOWN_TOPIC_ID)
        return {id: _described(found[id]) if id in found else unknown for id in ids}

    def create_topics(
        self, new_topics: Iterable[NewTopic], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Results[str, CreatedTopic]:
        topics = {topic.name: topic for topic in new_topics}

        def attempt(names: list[str]) -> Results[str, CreatedTopic]:
            request = CreateTopicsRequest(
                topics=[_creatable(topics[name]) for name in names],
                timeout_ms=self.server_timeout_ms,
                validate_only=validate_only,
            )
            response = self.call(self.controller(), request)
            return {
                topic.name: error_of(topic.error_code, topic.error_message)
                or CreatedTopic(topic.topic_id, topic.num_partitions, topic.replication_factor)
                for topic in response.topics
            }

        return self._on_controller("createTopics", topics, attempt, timeout_ms)

    def delete_topics(self, topics: Iterable[str], timeout_ms: int | None = None) -> Results[str, None]:
        def attempt(names: list[str]) -> Results[str, None]:
            request = DeleteTopicsRequest(timeout_ms=self.server_timeout_ms)
            controller = self.controller()
            if controller.versions().latest_usable(ApiKey.DELETE_TOPICS) >= 6:
                request.topics = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in names]
            else:
                request.topic_names = names
            response = self.call(controller, request)
            return {
                str(result.name): error_of(result.error_code, result.error_message) for result in response.responses
            }

        return self._on_controller("deleteTopics", topics, attempt, timeout_ms)

    def create_partitions(
        self, new_partitions: Mapping[str, NewPartitions], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Results[str, None]:
        def attempt(names: list[str]) -> Results[str, None]:
            request = CreatePartitionsRequest(
                topics=[_more_partitions(name, new_partitions[name]) for name in names],
                timeout_ms=self.server_timeout_ms,
                validate_only=validate_only,
            )
            response = self.call(self.controller(), request)
            return {result.name: error_of(result.error_code, result.error_message) for result in response.results}

        return self._on_controller("createPartitions", new_partitions, attempt, timeout_ms)

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, timeout_ms: int | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """The reassignments that are under way, of these partitions or of all."""
        wanted = None
        if partitions is not None:
            by_topic: dict[str, list[int]] = {}
            for topic, partition in partitions:
                by_topic.setdefault(topic, []).append(partition)
            struct = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
            wanted = [struct(name=topic, partition_indexes=indexes) for topic, indexes in by_topic.items()]

        def attempt() -> dict[TopicPartition, PartitionReassignment]:
            request = ListPartitionReassignmentsRequest(timeout_ms=self.server_timeout_ms, topics=wanted)
            response = self.call(self.controller(), request)
            error = error_of(response.error_code, response.error_message)
            if error is not None:
                if error.error is Errors.NOT_CONTROLLER:
                    self.forget_controller()
                raise error
            return {
                TopicPartition(topic.name, p.partition_index): PartitionReassignment(
                    tuple(p.replicas), tuple(p.adding_replicas), tuple(p.removing_replicas)
                )
                for topic in response.topics
                for p in topic.partitions
            }

        return self.retry("listPartitionReassignments", attempt, timeout_ms)

    def _on_controller(self, name: str, keys: Iterable[str], attempt: Any, timeout_ms: int | None) -> Results[str, Any]:
        """Repeat only if the controller has moved: another retriable error may mean that the work goes on."""

        def attempt_and_look(left: list[str]) -> Any:
            results = attempt(left)
            if any(isinstance(r, KafkaError) and r.error is Errors.NOT_CONTROLLER for r in results.values()):
                self.forget_controller()
            missing = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The controller's response lacks a result for this topic")
            return {key: results.get(key, missing) for key in left}

        return self.retry_each(name, keys, attempt_and_look, timeout_ms, lambda error: error is Errors.NOT_CONTROLLER)


def _described(topic: TopicMetadata | None) -> TopicMetadata | KafkaError:
    if topic is None:
        return KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    if topic.error is not Errors.NONE:
        return KafkaError(topic.error)
    return topic


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    by_hand = bool(topic.replica_assignments)
    return CreateTopicsRequest.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if by_hand else topic.num_partitions,
        replication_factor=-1 if by_hand else topic.replication_factor,
        assignments=[
            CreateTopicsRequest.CreatableReplicaAssignment(partition_index=partition, broker_ids=list(brokers))
            for partition, brokers in topic.replica_assignments.items()
        ],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
            for name, value in topic.topic_configs.items()
        ],
    )


def _more_partitions(name: str, new: NewPartitions) -> CreatePartitionsRequest.CreatePartitionsTopic:
    assignments = None
    if new.new_assignments is not None:
        struct = CreatePartitionsRequest.CreatePartitionsAssignment
        assignments = [struct(broker_ids=list(brokers)) for brokers in new.new_assignments]
    return CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=new.total_count, assignments=assignments)
