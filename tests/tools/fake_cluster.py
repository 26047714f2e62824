"""Three brokers behind one socket: enough of a cluster for the tools that move replicas and elect leaders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsResponse
from kafkapy.protocol.messages.describe_cluster import DescribeClusterResponse
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from kafkapy.protocol.messages.elect_leaders import ElectLeadersResponse
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from tests.fake_broker import FakeBroker

Replicas = list[int]


@dataclass
class Move:
    adding: Replicas
    removing: Replicas


@dataclass
class FakeCluster:
    """`replicas` and `moves` are what the controller knows; `configs` what was set and not deleted again."""

    racks: dict[int, str | None] = field(default_factory=lambda: {0: None, 1: None, 2: None})
    replicas: dict[TopicPartition, Replicas] = field(default_factory=dict)
    moves: dict[TopicPartition, Move] = field(default_factory=dict)
    configs: dict[tuple[int, str, str], str] = field(default_factory=dict)
    log_dirs: dict[TopicPartition, str] = field(default_factory=dict)
    future_log_dirs: dict[TopicPartition, str] = field(default_factory=dict)
    log_dir_errors: list[Errors] = field(default_factory=list)
    """Given out one for each request of AlterReplicaLogDirs, before it does what it is asked."""
    elections: dict[TopicPartition, Errors] = field(default_factory=dict)
    errors: list[Errors] = field(default_factory=list)
    """Given out at the top of the next responses of the controller."""
    refused: dict[TopicPartition, Errors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.broker = FakeBroker(
            {
                ApiKey.METADATA: self.metadata,
                ApiKey.DESCRIBE_CLUSTER: self.describe_cluster,
                ApiKey.LIST_PARTITION_REASSIGNMENTS: self.list_reassignments,
                ApiKey.ALTER_PARTITION_REASSIGNMENTS: self.alter_reassignments,
                ApiKey.INCREMENTAL_ALTER_CONFIGS: self.alter_configs,
                ApiKey.DESCRIBE_LOG_DIRS: self.describe_log_dirs,
                ApiKey.ALTER_REPLICA_LOG_DIRS: self.alter_log_dirs,
                ApiKey.ELECT_LEADERS: self.elect_leaders,
            }
        )

    def metadata(self, request: Any) -> MetadataResponse:
        response = MetadataResponse(cluster_id="fake", controller_id=0)
        for broker, rack in self.racks.items():
            response.brokers.append(
                MetadataResponse.MetadataResponseBroker(
                    node_id=broker, host="127.0.0.1", port=self.broker.port, rack=rack
                )
            )
        known = {topic for topic, _ in self.replicas}
        for name in sorted(known) if request.topics is None else [topic.name for topic in request.topics]:
            topic = MetadataResponse.MetadataResponseTopic(name=name)
            topic.error_code = 0 if name in known else Errors.UNKNOWN_TOPIC_OR_PARTITION.code
            topic.partitions = [
                MetadataResponse.MetadataResponsePartition(
                    partition_index=p.partition, leader_id=brokers[0], replica_nodes=brokers, isr_nodes=brokers
                )
                for p, brokers in self.replicas.items()
                if p.topic == name
            ]
            response.topics.append(topic)
        return response

    def describe_cluster(self, request: Any) -> DescribeClusterResponse:
        struct = DescribeClusterResponse.DescribeClusterBroker
        brokers = [struct(broker_id=b, host="127.0.0.1", port=self.broker.port, rack=r) for b, r in self.racks.items()]
        return DescribeClusterResponse(cluster_id="fake", controller_id=0, brokers=brokers)

    def _error(self) -> int:
        return self.errors.pop(0).code if self.errors else 0

    def list_reassignments(self, request: Any) -> ListPartitionReassignmentsResponse:
        response = ListPartitionReassignmentsResponse(error_code=self._error())
        asked = None
        if request.topics is not None:
            asked = {TopicPartition(t.name, index) for t in request.topics for index in t.partition_indexes}
        for partition, move in self.moves.items():
            if asked is not None and partition not in asked:
                continue
            ongoing = ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                partition_index=partition.partition,
                replicas=self.replicas[partition],
                adding_replicas=move.adding,
                removing_replicas=move.removing,
            )
            response.topics.append(
                ListPartitionReassignmentsResponse.OngoingTopicReassignment(name=partition.topic, partitions=[ongoing])
            )
        return response

    def alter_reassignments(self, request: Any) -> AlterPartitionReassignmentsResponse:
        response = AlterPartitionReassignmentsResponse(error_code=self._error())
        if response.error_code:
            return response
        for topic in request.topics:
            results = []
            for p in topic.partitions:
                partition = TopicPartition(topic.name, p.partition_index)
                error = self.refused.get(partition, Errors.NONE)
                if error is Errors.NONE:
                    self._move(partition, p.replicas)
                results.append(
                    AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
                        partition_index=p.partition_index, error_code=error.code, error_message=error.message
                    )
                )
            struct = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
            response.responses.append(struct(name=topic.name, partitions=results))
        return response

    def _move(self, partition: TopicPartition, target: Replicas | None) -> None:
        under_way = self.moves.pop(partition, Move([], []))
        original = [broker for broker in self.replicas[partition] if broker not in under_way.adding]
        if target is None:
            self.replicas[partition] = original
            return
        move = Move([b for b in target if b not in original], [b for b in original if b not in target])
        self.replicas[partition] = target + move.removing
        if move.adding or move.removing:
            self.moves[partition] = move

    def finish_moves(self) -> None:
        for partition, move in self.moves.items():
            self.replicas[partition] = [b for b in self.replicas[partition] if b not in move.removing]
        self.moves.clear()

    def alter_configs(self, request: Any) -> IncrementalAlterConfigsResponse:
        response = IncrementalAlterConfigsResponse()
        for resource in request.resources:
            for config in resource.configs:
                key = (resource.resource_type, resource.resource_name, config.name)
                if config.config_operation == 0:
                    self.configs[key] = config.value
                else:
                    self.configs.pop(key, None)
            struct = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
            response.responses.append(
                struct(resource_type=resource.resource_type, resource_name=resource.resource_name)
            )
        return response

    def describe_log_dirs(self, request: Any) -> DescribeLogDirsResponse:
        response = DescribeLogDirsResponse()
        asked = {TopicPartition(t.topic, index) for t in request.topics for index in t.partitions}
        for places, is_future in ((self.log_dirs, False), (self.future_log_dirs, True)):
            for partition, path in places.items():
                if partition not in asked:
                    continue
                found = DescribeLogDirsResponse.DescribeLogDirsPartition(
                    partition_index=partition.partition, is_future_key=is_future
                )
                topic = DescribeLogDirsResponse.DescribeLogDirsTopic(name=partition.topic, partitions=[found])
                response.results.append(DescribeLogDirsResponse.DescribeLogDirsResult(log_dir=path, topics=[topic]))
        return response

    def alter_log_dirs(self, request: Any) -> AlterReplicaLogDirsResponse:
        response = AlterReplicaLogDirsResponse()
        error = self.log_dir_errors.pop(0) if self.log_dir_errors else Errors.NONE
        for log_dir in request.dirs:
            for topic in log_dir.topics:
                results = []
                for index in topic.partitions:
                    if error is Errors.NONE:
                        self.future_log_dirs[TopicPartition(topic.name, index)] = log_dir.path
                    struct = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult
                    results.append(struct(partition_index=index, error_code=error.code))
                response.results.append(
                    AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=results)
                )
        return response

    def elect_leaders(self, request: Any) -> ElectLeadersResponse:
        response = ElectLeadersResponse(error_code=self._error())
        if response.error_code:
            return response
        asked = list(self.elections)
        if request.topic_partitions is not None:
            asked = [TopicPartition(t.topic, index) for t in request.topic_partitions for index in t.partitions]
        for partition in asked:
            error = self.elections.get(partition, Errors.NONE)
            result = ElectLeadersResponse.PartitionResult(
                partition_id=partition.partition, error_code=error.code, error_message=None
            )
            struct = ElectLeadersResponse.ReplicaElectionResult
            response.replica_election_results.append(struct(topic=partition.topic, partition_result=[result]))
        return response
