"""Where replicas lie and which of them leads: reassignments, elections, log directories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, error_of
from kafkapy.admin.partitions import by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.structs import TopicPartitionReplica


class ElectionType(IntEnum):
    """PREFERRED: the first replica, if another leads now. UNCLEAN: any live replica, if none leads."""

    PREFERRED = 0
    UNCLEAN = 1


class ReplicaLogDirInfo(NamedTuple):
    """The directories of one replica, None where there is none: where it is, and where it is being moved to."""

    current: str | None = None
    future: str | None = None


class ReplicaOperations(ClusterClient):
    def alter_partition_reassignments(
        self, reassignments: Mapping[TopicPartition, Sequence[int] | None], timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Start to move partitions to these brokers; None: give up a move that is under way (KIP-455)."""

        def attempt(left: list[TopicPartition]) -> Results[TopicPartition, None]:
            request = AlterPartitionReassignmentsRequest(timeout_ms=self.server_timeout_ms)
            for topic, indexes in by_topic(left).items():
                partitions = []
                for index in indexes:
                    replicas = reassignments[TopicPartition(topic, index)]
                    partitions.append(
                        AlterPartitionReassignmentsRequest.ReassignablePartition(
                            partition_index=index, replicas=None if replicas is None else list(replicas)
                        )
                    )
                request.topics.append(
                    AlterPartitionReassignmentsRequest.ReassignableTopic(name=topic, partitions=partitions)
                )
            response = self.call(self.controller(), request)
            self._raise(error_of(response.error_code, response.error_message))
            return {
                TopicPartition(topic.name, p.partition_index): error_of(p.error_code, p.error_message)
                for topic in response.responses
                for p in topic.partitions
            }

        return self._on_partitions("alterPartitionReassignments", reassignments, attempt, timeout_ms)

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        timeout_ms: int | None = None,
    ) -> Results[TopicPartition, None]:
        """Elect leaders of these partitions, or of all that can do with an election. ELECTION_NOT_NEEDED: all is well."""
        if partitions is None:
            return self.retry("electLeaders", lambda: self._elect(election_type, None), timeout_ms)
        return self._on_partitions(
            "electLeaders", partitions, lambda left: self._elect(election_type, left), timeout_ms
        )

    def _elect(self, election_type: ElectionType, left: list[TopicPartition] | None) -> Results[TopicPartition, None]:
        request = ElectLeadersRequest(
            election_type=election_type, timeout_ms=self.server_timeout_ms, topic_partitions=None
        )
        if left is not None:
            struct = ElectLeadersRequest.TopicPartitions
            request.topic_partitions = [
                struct(topic=topic, partitions=indexes) for topic, indexes in by_topic(left).items()
            ]
        response = self.call(self.controller(), request)
        self._raise(error_of(response.error_code))
        return {
            TopicPartition(topic.topic, p.partition_id): error_of(p.error_code, p.error_message)
            for topic in response.replica_election_results
            for p in topic.partition_result
        }

    def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], timeout_ms: int | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDirInfo]:
        """Where these replicas lie; what lies in a directory that has failed is not seen."""
        by_broker: dict[int, list[TopicPartition]] = {}
        for topic, partition, broker in replicas:
            by_broker.setdefault(broker, []).append(TopicPartition(topic, partition))

        def attempt() -> dict[TopicPartitionReplica, ReplicaLogDirInfo]:
            found: dict[TopicPartitionReplica, ReplicaLogDirInfo] = {}
            for broker, partitions in by_broker.items():
                found.update({TopicPartitionReplica(*p, broker): ReplicaLogDirInfo() for p in partitions})
                for replica, path, is_future in self._replicas_of(broker, partitions):
                    if replica in found:
                        info = found[replica]
                        found[replica] = info._replace(future=path) if is_future else info._replace(current=path)
            return found

        return self.retry("describeReplicaLogDirs", attempt, timeout_ms)

    def _replicas_of(
        self, broker: int, partitions: list[TopicPartition]
    ) -> Iterable[tuple[TopicPartitionReplica, str, bool]]:
        struct = DescribeLogDirsRequest.DescribableLogDirTopic
        topics = [struct(topic=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()]
        response = self.call(self.node(broker), DescribeLogDirsRequest(topics=topics))
        self._raise(error_of(response.error_code))
        for log_dir in response.results:
            for topic in log_dir.topics:
                for p in topic.partitions:
                    yield TopicPartitionReplica(topic.name, p.partition_index, broker), log_dir.log_dir, p.is_future_key

    def alter_replica_log_dirs(
        self, assignment: Mapping[TopicPartitionReplica, str], timeout_ms: int | None = None
    ) -> Results[TopicPartitionReplica, None]:
        """Move replicas to other directories of their brokers (KIP-113). REPLICA_NOT_AVAILABLE: not there yet; the broker
        will create it in this directory."""

        def attempt(left: list[TopicPartitionReplica]) -> Results[TopicPartitionReplica, None]:
            results: Results[TopicPartitionReplica, None] = {}
            missing = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The broker's response lacks a result for this replica")
            for broker in dict.fromkeys(replica.broker_id for replica in left):
                wanted = [replica for replica in left if replica.broker_id == broker]
                response = self.call(self.node(broker), _log_dirs_request({r: assignment[r] for r in wanted}))
                results.update(dict.fromkeys(wanted, missing))
                for topic in response.results:
                    for p in topic.partitions:
                        replica = TopicPartitionReplica(topic.topic_name, p.partition_index, broker)
                        results[replica] = error_of(p.error_code)
            return results

        return self.retry_each("alterReplicaLogDirs", assignment, attempt, timeout_ms, lambda error: False)

    def _on_partitions(
        self,
        name: str,
        partitions: Iterable[TopicPartition],
        ask: Callable[[list[TopicPartition]], Results[TopicPartition, None]],
        timeout_ms: int | None,
    ) -> Results[TopicPartition, None]:
        """What the controller says of a partition is final; what hits the whole request is repeated or raised."""
        wanted = list(partitions)
        missing = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The controller's response lacks a result for this partition")

        def attempt() -> Results[TopicPartition, None]:
            answer = ask(wanted)
            return {partition: answer.get(partition, missing) for partition in wanted}

        return self.retry(name, attempt, timeout_ms)

    def _raise(self, error: KafkaError | None) -> None:
        if error is not None:
            if error.error is Errors.NOT_CONTROLLER:
                self.forget_controller()
            raise error


def _log_dirs_request(assignment: Mapping[TopicPartitionReplica, str]) -> AlterReplicaLogDirsRequest:
    by_path: dict[str, list[TopicPartition]] = {}
    for (topic, partition, _), path in assignment.items():
        by_path.setdefault(path, []).append(TopicPartition(topic, partition))
    struct = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                path=path,
                topics=[struct(name=topic, partitions=indexes) for topic, indexes in by_topic(partitions).items()],
            )
            for path, partitions in by_path.items()
        ]
    )
