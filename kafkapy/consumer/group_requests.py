"""The requests of a rebalance, and the view of the cluster that a leader assigns by. Nothing here is sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.group_membership import Generation
from kafkapy.consumer.group_protocol import PROTOCOL_TYPE, encode_subscription
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest

_REASON_LENGTH = 255


def join_request(
    config: ConsumerConfig,
    generation: Generation,
    session_timeout_ms: int,
    topics: Iterable[str],
    owned: Iterable[TopicPartition],
    reason: str,
) -> JoinGroupRequest:
    """One protocol for each assignor, in order of preference. A rebalance may take as long as the user between polls."""
    topics, owned, rack = frozenset(topics), list(owned), config.client_rack or None
    protocol = JoinGroupRequest.JoinGroupRequestProtocol
    return JoinGroupRequest(
        group_id=config.group_id or "",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=config.max_poll_interval_ms,
        member_id=generation.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[
            protocol(name=a.name, metadata=encode_subscription(a.metadata(topics), owned, generation.id, rack))
            for a in config.assignors
        ],
        reason=reason[:_REASON_LENGTH],
    )


def sync_request(
    config: ConsumerConfig, generation: Generation, assignments: list[SyncGroupRequest.SyncGroupRequestAssignment]
) -> SyncGroupRequest:
    """`assignments`: of the whole group from its leader, none from the others."""
    return SyncGroupRequest(
        group_id=config.group_id or "",
        generation_id=generation.id,
        member_id=generation.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=generation.protocol,
        assignments=assignments,
    )


class LeaveRequest:
    """One member id before version 3, a list from then on."""

    API_KEY = LeaveGroupRequest.API_KEY

    def __init__(self, group_id: str, member_id: str, reason: str) -> None:
        self._group_id = group_id
        self._member_id = member_id
        self._reason = reason

    def build(self, version: int) -> LeaveGroupRequest:
        if version < 3:
            return LeaveGroupRequest(group_id=self._group_id, member_id=self._member_id)
        member = LeaveGroupRequest.MemberIdentity(member_id=self._member_id, reason=self._reason[:_REASON_LENGTH])
        return LeaveGroupRequest(group_id=self._group_id, members=[member])


class ClusterView:
    """What assignors ask of the metadata."""

    def __init__(self, cluster: ClusterMetadata) -> None:
        self._cluster = cluster

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        found = self._cluster.topics.get(topic)
        return None if found is None or not found.partitions else {p.partition for p in found.partitions}

    def replica_racks(self, partition: TopicPartition) -> frozenset[str]:
        found = self._cluster.partition(partition)
        nodes = [self._cluster.nodes.get(replica) for replica in found.replicas] if found is not None else []
        return frozenset(node.rack for node in nodes if node is not None and node.rack)


def partition_snapshot(cluster: ClusterMetadata, topics: Iterable[str], with_racks: bool) -> dict[str, Any]:
    """What of the metadata an assignment depends on: topic -> an entry for each partition."""
    view = ClusterView(cluster)
    return {
        topic: tuple(
            view.replica_racks(TopicPartition(topic, p.partition)) if with_racks else None
            for p in cluster.topics[topic].partitions
        )
        for topic in topics
        if topic in cluster.topics and cluster.topics[topic].partitions
    }
