"""The current leader, which Produce and Fetch responses contain if this broker is not the leader (KIP-951)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kafkapy.clients.metadata import Node
from kafkapy.common.leader_and_isr import NO_EPOCH, NO_LEADER
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.produce import ProduceResponse
from kafkapy.server.replication.hosted_partitions import HostedPartitions


class Leader(NamedTuple):
    id: int
    epoch: int
    nodes: set[Node]
    """The leader's address on the client's listener; empty if it is not alive."""


def current_leader(replicas: HostedPartitions, name: TopicPartition, listener_name: str) -> Leader | None:
    """Return the leader in this broker's metadata; None if it is unknown."""
    local = replicas.partition(name)
    state = replicas.metadata_cache.partition_state(*name) if local is None else None
    if local is not None:
        leader, epoch = local.leader_id, local.leader_epoch
    elif state is not None:
        leader, epoch = state.leader, state.leader_epoch
    else:
        return None
    if (leader, epoch) == (NO_LEADER, NO_EPOCH):
        return None
    node = replicas.metadata_cache.alive_broker(leader, listener_name)
    return Leader(leader, epoch, set() if node is None else {node})


def add_current_leaders(
    replicas: HostedPartitions,
    listener_name: str,
    response: FetchResponse | ProduceResponse,
    refused: Iterable[tuple[TopicPartition, Any]],
) -> None:
    """Set the leader in each `refused` partition's part of the response, and add the leaders' addresses."""
    nodes: set[Node] = set()
    for name, answer in refused:
        leader = current_leader(replicas, name, listener_name)
        if leader is not None:
            answer.current_leader = response.LeaderIdAndEpoch(leader_id=leader.id, leader_epoch=leader.epoch)
            nodes |= leader.nodes
    known = {endpoint.node_id for endpoint in response.node_endpoints}
    endpoints: list[Any] = response.node_endpoints
    endpoints += [
        response.NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
        for node in nodes
        if node.id not in known
    ]
    endpoints.sort(key=lambda endpoint: endpoint.node_id)
