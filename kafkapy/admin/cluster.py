"""Operations on the cluster: its brokers and their API versions."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.admin.results import Answer, raise_failure
from kafkapy.admin.router import Call, Router
from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.metadata import ClusterMetadata, Node
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.describe_cluster import DescribeClusterRequest


class ClusterDescription(NamedTuple):
    cluster_id: str | None
    controller: Node | None
    nodes: list[Node]


class ClusterOperations(Router):
    async def describe_cluster(self) -> ClusterDescription:
        answer = await self.description(self.call("describeCluster"), operations=False)
        if answer is None:
            cluster = await self.retry(self.call("describeCluster"), lambda: self.refresh(()))
            return ClusterDescription(cluster.cluster_id, cluster.controller, _by_id(cluster))
        response = answer.response
        nodes = {b.broker_id: Node(b.broker_id, b.host, b.port, b.rack) for b in response.brokers}
        return ClusterDescription(response.cluster_id, nodes.get(response.controller_id), sorted(nodes.values()))

    async def description(self, call: Call, operations: bool) -> Answer[Any] | None:
        """Return the DescribeCluster response; None if the broker is older than 2.8, whose Metadata response has the
        data."""

        async def attempt() -> Answer[Any] | None:
            node_id = await self.any_node()
            if not (await self.client.connect(node_id)).supports(ApiKey.DESCRIBE_CLUSTER):
                return None
            answer = await self.ask(node_id, DescribeClusterRequest(include_cluster_authorized_operations=operations))
            raise_failure(answer.response)
            return answer

        return await self.retry(call, attempt)

    async def api_versions(self) -> dict[Node, NodeApiVersions | KafkaError]:
        """Return the API versions of each live broker."""
        results: dict[Node, NodeApiVersions | KafkaError] = {}
        for node in _by_id(await self.retry(self.call("listNodes"), lambda: self.refresh(()))):
            try:
                results[node] = await self.client.connect(node.id)
            except KafkaError as error:
                results[node] = error
        return results


def _by_id(cluster: ClusterMetadata) -> list[Node]:
    return sorted(cluster.nodes.values())
