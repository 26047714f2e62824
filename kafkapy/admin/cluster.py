"""The cluster itself: its brokers, what they speak, what lies in their log directories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, error_of, nodes_by_id
from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.metadata import Node
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest


class ClusterDescription(NamedTuple):
    cluster_id: str | None
    controller: Node | None
    nodes: list[Node]


class ReplicaInfo(NamedTuple):
    """One replica in a log directory: bytes, and how many records it is behind (`offset_lag`)."""

    size: int
    offset_lag: int
    is_future: bool


class LogDirDescription(NamedTuple):
    """One log directory of a broker; bytes are -1 where the broker is too old to say."""

    error: KafkaError | None
    replicas: dict[TopicPartition, ReplicaInfo]
    total_bytes: int
    usable_bytes: int


class ClusterOperations(ClusterClient):
    def describe_cluster(self) -> ClusterDescription:
        def attempt() -> ClusterDescription:
            client = self.any_node()
            if not client.versions().supports(ApiKey.DESCRIBE_CLUSTER):
                cluster = self.refresh(())
                return ClusterDescription(cluster.cluster_id, cluster.controller, nodes_by_id(cluster))
            response = self.call(client, DescribeClusterRequest())
            error = error_of(response.error_code, response.error_message)
            if error is not None:
                raise error
            nodes = {b.broker_id: Node(b.broker_id, b.host, b.port, b.rack) for b in response.brokers}
            return ClusterDescription(response.cluster_id, nodes.get(response.controller_id), sorted(nodes.values()))

        return self.retry("describeCluster", attempt)

    def api_versions(self) -> dict[Node, NodeApiVersions | KafkaError]:
        """What each live broker serves."""
        nodes = nodes_by_id(self.retry("listNodes", lambda: self.refresh(())))
        results: dict[Node, NodeApiVersions | KafkaError] = {}
        for node in nodes:
            try:
                results[node] = self.node(node.id).versions()
            except KafkaError as error:
                results[node] = error
        return results

    def describe_log_dirs(
        self, broker_ids: Iterable[int], timeout_ms: int | None = None
    ) -> Results[int, dict[str, LogDirDescription]]:
        """Broker id -> path -> what lies there."""

        def attempt(left: list[int]) -> Results[int, dict[str, LogDirDescription]]:
            results: Results[int, dict[str, LogDirDescription]] = {}
            for broker_id in left:
                try:
                    results[broker_id] = self._log_dirs_of(broker_id)
                except KafkaError as error:
                    results[broker_id] = error
            return results

        return self.retry_each(
            "describeLogDirs", broker_ids, attempt, timeout_ms, lambda error: error is Errors.REQUEST_TIMED_OUT
        )

    def _log_dirs_of(self, broker_id: int) -> dict[str, LogDirDescription]:
        response = self.call(self.node(broker_id), DescribeLogDirsRequest(topics=None))
        if response.error_code != 0:
            raise KafkaError(Errors.for_code(response.error_code))
        return {
            result.log_dir: LogDirDescription(
                error_of(result.error_code),
                {
                    TopicPartition(topic.name, p.partition_index): ReplicaInfo(
                        p.partition_size, p.offset_lag, p.is_future_key
                    )
                    for topic in result.topics
                    for p in topic.partitions
                },
                result.total_bytes,
                result.usable_bytes,
            )
            for result in response.results
        }
