"""Operations on replicas: reassignments, elections, log directories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.admin.results import Answer, Results, error_of, failure_of, outcomes, raise_failure, read, told
from kafkapy.admin.router import Call, Router
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.errors import IncompatibleBrokerVersion
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafkapy.structs import TopicPartitionReplica

Replicas = Mapping[TopicPartition, Sequence[int] | None]
Topics = Mapping[str, Iterable[int]]


class PartitionReassignment(NamedTuple):
    """An ongoing change of replicas (KIP-455)."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ReplicaInfo(NamedTuple):
    """One replica in a log directory: its size in bytes, and its lag in records (`offset_lag`)."""

    size: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """One log directory of a broker; bytes are -1 if the broker is too old to report them."""

    error: KafkaError | None
    replicas: dict[TopicPartition, ReplicaInfo]
    total_bytes: int
    usable_bytes: int


class ReplicaLogDirInfo(NamedTuple):
    """The current directory of one replica, and the one it is being moved to; None if there is none."""

    current: str | None = None
    future: str | None = None


class ReplicaOperations(Router):
    # --- reassignments

    async def alter_partition_reassignments(
        self, reassignments: Replicas, timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Start to move partitions to these brokers; None: cancel an ongoing reassignment (KIP-455)."""
        answer = await self.reassign(self.call("alterPartitionReassignments", timeout_ms), reassignments)
        raise_failure(answer.response)
        return told(failures_of_reassignment(answer.response), reassignments, "controller", "partition")

    async def reassign(self, call: Call, reassignments: Replicas) -> Answer[Any]:
        message = AlterPartitionReassignmentsRequest

        def reassignable(topic: str, index: int) -> AlterPartitionReassignmentsRequest.ReassignablePartition:
            replicas = reassignments[TopicPartition(topic, index)]
            return message.ReassignablePartition(
                partition_index=index, replicas=None if replicas is None else list(replicas)
            )

        topics = [
            message.ReassignableTopic(name=topic, partitions=[reassignable(topic, index) for index in indexes])
            for topic, indexes in indexes_by_topic(reassignments).items()
        ]
        request = VersionedRequest(message, lambda v: message(timeout_ms=call.server_timeout_ms, topics=topics))
        return await self.on_controller(call, request, _code)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, timeout_ms: int | None = None
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Return the ongoing reassignments of these partitions, or of all."""
        topics = None if partitions is None else indexes_by_topic(partitions)
        return await self.reassignments(self.call("listPartitionReassignments", timeout_ms), topics)

    async def reassignments(self, call: Call, topics: Topics | None) -> dict[TopicPartition, PartitionReassignment]:
        message = ListPartitionReassignmentsRequest
        struct = message.ListPartitionReassignmentsTopics
        wanted = None if topics is None else [struct(name=t, partition_indexes=list(p)) for t, p in topics.items()]
        request = VersionedRequest(message, lambda v: message(timeout_ms=call.server_timeout_ms, topics=wanted))
        response = (await self.on_controller(call, request, _code)).response
        raise_failure(response)
        return {
            TopicPartition(topic.name, p.partition_index): PartitionReassignment(
                tuple(p.replicas), tuple(p.adding_replicas), tuple(p.removing_replicas)
            )
            for topic in response.topics
            for p in topic.partitions
        }

    # --- elections

    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, None]:
        """Elect leaders of these partitions, or of all that need it. ELECTION_NOT_NEEDED: the leader is right
        already."""
        wanted = None if partitions is None else list(partitions)
        call = self.call("electLeaders", timeout_ms)
        answer = await self.elect(call, election_type, None if wanted is None else indexes_by_topic(wanted))
        raise_failure(answer.response)
        results: Results[TopicPartition, None] = {
            TopicPartition(topic.topic, p.partition_id): failure_of(p)
            for topic in answer.response.replica_election_results
            for p in topic.partition_result
        }
        return results if wanted is None else told(results, wanted, "controller", "partition")

    async def elect(self, call: Call, election_type: ElectionType, topics: Topics | None) -> Answer[Any]:
        message = ElectLeadersRequest
        struct = message.TopicPartitions
        wanted = None if topics is None else [struct(topic=t, partitions=list(p)) for t, p in topics.items()]

        def build(version: int) -> ElectLeadersRequest:
            if version < 1 and election_type is not ElectionType.PREFERRED:
                raise IncompatibleBrokerVersion("An unclean election needs a broker from 2.4 on")
            return message(election_type=election_type, topic_partitions=wanted, timeout_ms=call.server_timeout_ms)

        return await self.on_controller(call, VersionedRequest(message, build), _codes_of_election)

    # --- log directories (KIP-113)

    async def describe_log_dirs(
        self, broker_ids: Iterable[int], timeout_ms: int | None = None
    ) -> Results[int, dict[str, LogDirDescription]]:
        """Return broker id -> path -> description of the log directory."""
        call = self.call("describeLogDirs", timeout_ms)
        answers = await self.on_nodes(call, dict.fromkeys(broker_ids, log_dirs_request(None)))
        return read(answers, lambda response: {result.log_dir: _log_dir(result) for result in response.results})

    async def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], timeout_ms: int | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirInfo]:
        """Return the directories of these replicas; those in a failed directory are not reported."""
        call = self.call("describeReplicaLogDirs", timeout_ms)
        by_broker: dict[int, list[TopicPartition]] = {}
        for topic, partition, broker in replicas:
            by_broker.setdefault(broker, []).append(TopicPartition(topic, partition))
        found: dict[TopicPartitionReplica, ReplicaLogDirInfo] = {}
        for broker, partitions in by_broker.items():
            found.update({TopicPartitionReplica(*p, broker): ReplicaLogDirInfo() for p in partitions})
            response = (await self.on_node(call, broker, log_dirs_request(indexes_by_topic(partitions)))).response
            raise_failure(response)
            for log_dir in response.results:
                for tp, replica in _log_dir(log_dir).replicas.items():
                    key = TopicPartitionReplica(*tp, broker)
                    if key in found:
                        field = "future" if replica.is_future else "current"
                        found[key] = found[key]._replace(**{field: log_dir.log_dir})
        return found

    async def alter_replica_log_dirs(
        self, assignment: Mapping[TopicPartitionReplica, str], timeout_ms: int | None = None
    ) -> Results[TopicPartitionReplica, None]:
        """Move replicas to other directories of their brokers.

        REPLICA_NOT_AVAILABLE: the replica does not exist yet; the broker will create it in this directory.
        """
        answers = await self.move_replicas(self.call("alterReplicaLogDirs", timeout_ms), assignment)
        return outcomes(told(answers, assignment, "broker", "replica"))

    async def move_replicas(
        self, call: Call, assignment: Mapping[TopicPartitionReplica, str]
    ) -> Results[TopicPartitionReplica, Answer[Any]]:
        answers: Results[TopicPartitionReplica, Answer[Any]] = {}
        for broker in dict.fromkeys(replica.broker_id for replica in assignment):
            by_path: dict[str, list[TopicPartition]] = {}
            for (topic, partition, broker_id), path in assignment.items():
                if broker_id == broker:
                    by_path.setdefault(path, []).append(TopicPartition(topic, partition))
            answer = await self.on_node(call, broker, _move_request(by_path))
            for result in answer.response.results:
                for part in result.partitions:
                    replica = TopicPartitionReplica(result.topic_name, part.partition_index, broker)
                    answers[replica] = Answer(part, answer.version, broker)
        return answers


def log_dirs_request(topics: Topics | None) -> DescribeLogDirsRequest:
    """Build the request; `topics` None: all topics."""
    struct = DescribeLogDirsRequest.DescribableLogDirTopic
    return DescribeLogDirsRequest(
        topics=None if topics is None else [struct(topic=t, partitions=list(p)) for t, p in topics.items()]
    )


def failures_of_reassignment(response: Any) -> Results[TopicPartition, None]:
    return {
        TopicPartition(topic.name, p.partition_index): failure_of(p)
        for topic in response.responses
        for p in topic.partitions
    }


def _code(response: Any) -> list[int]:
    return [response.error_code]


def _codes_of_election(response: Any) -> list[int]:
    results = response.replica_election_results
    return [response.error_code, *(p.error_code for topic in results for p in topic.partition_result)]


def _log_dir(result: Any) -> LogDirDescription:
    replicas = {
        TopicPartition(topic.name, p.partition_index): ReplicaInfo(p.partition_size, p.offset_lag, p.is_future_key)
        for topic in result.topics
        for p in topic.partitions
    }
    return LogDirDescription(error_of(result.error_code), replicas, result.total_bytes, result.usable_bytes)


def _move_request(by_path: Mapping[str, Iterable[TopicPartition]]) -> AlterReplicaLogDirsRequest:
    message = AlterReplicaLogDirsRequest
    topic = message.AlterReplicaLogDirTopic
    return message(
        dirs=[
            message.AlterReplicaLogDir(
                path=path, topics=[topic(name=name, partitions=p) for name, p in indexes_by_topic(partitions).items()]
            )
            for path, partitions in by_path.items()
        ]
    )
