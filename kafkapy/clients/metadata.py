"""A client's view of a cluster: bootstrap servers, brokers, leaders (Kafka's `Metadata`, `Cluster`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.metadata import MetadataResponse

NO_NODE_ID = -1

_ADDRESS = re.compile(r"^(?:\w+://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)$")


class Address(NamedTuple):
    """Host and port of a listener; an IPv6 host is without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Node(NamedTuple):
    """A broker as clients see it (Kafka's `Node`)."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (id: {self.id} rack: {self.rack if self.rack is not None else 'null'})"


def parse_bootstrap_servers(servers: str | Iterable[str]) -> list[Address]:
    """Parse `"a:9092,[::1]:9093"` or a list of addresses (Kafka's `ClientUtils.parseAndValidateAddresses`).

    Raises `KafkaError(INVALID_CONFIG)` if there is none, or one without a host or a port.
    """
    parts = [servers] if isinstance(servers, str) else servers
    addresses = []
    for server in (piece.strip() for part in parts for piece in part.split(",")):
        if not server:
            continue
        match = _ADDRESS.match(server)
        if match is None or not match.group(1):
            raise KafkaError(Errors.INVALID_CONFIG, f"Invalid url in bootstrap.servers: {server}")
        port = int(match.group(2))
        if port > 65535:
            raise KafkaError(Errors.INVALID_CONFIG, f"Invalid port in bootstrap.servers: {server}")
        addresses.append(Address(match.group(1), port))
    if not addresses:
        raise KafkaError(Errors.INVALID_CONFIG, "No resolvable bootstrap urls given in bootstrap.servers")
    return addresses


class PartitionMetadata(NamedTuple):
    """One partition; broker ids of brokers that are down have no `Node` in the cluster."""

    topic: str
    partition: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    error: Errors = Errors.NONE


class TopicMetadata(NamedTuple):
    """One topic with its partitions, ordered by id; `error` is the topic's error in the response."""

    name: str
    topic_id: bytes
    internal: bool
    partitions: tuple[PartitionMetadata, ...]
    error: Errors = Errors.NONE


class ClusterMetadata(NamedTuple):
    """One Metadata response, indexed. Immutable."""

    cluster_id: str | None = None
    controller_id: int = NO_NODE_ID
    nodes: Mapping[int, Node] = MappingProxyType({})
    topics: Mapping[str, TopicMetadata] = MappingProxyType({})

    @classmethod
    def of(cls, response: MetadataResponse) -> ClusterMetadata:
        nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
        topics = {t.name: _topic_metadata(t) for t in response.topics if t.name is not None}
        return cls(response.cluster_id, response.controller_id, nodes, topics)

    @property
    def controller(self) -> Node | None:
        return self.nodes.get(self.controller_id)

    def partition(self, partition: TopicPartition) -> PartitionMetadata | None:
        topic = self.topics.get(partition.topic)
        if topic is None:
            return None
        partitions, number = topic.partitions, partition.partition
        if 0 <= number < len(partitions) and partitions[number].partition == number:
            return partitions[number]
        return next((p for p in partitions if p.partition == number), None)

    def leader_of(self, partition: TopicPartition) -> Node:
        """Return the live leader. Raises `KafkaError`: the topic's error, or LEADER_NOT_AVAILABLE if there is none."""
        topic = self.topics.get(partition.topic)
        if topic is None:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {partition.topic} is not known to the cluster")
        if topic.error is not Errors.NONE:
            raise KafkaError(topic.error, f"Topic {partition.topic}: {topic.error.message}")
        found = self.partition(partition)
        if found is None:
            raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"Partition {partition} is not known to the cluster")
        leader = self.nodes.get(found.leader_id)
        if leader is None:
            raise KafkaError(Errors.LEADER_NOT_AVAILABLE, f"Partition {partition} has no leader at present")
        return leader


def _topic_metadata(topic: MetadataResponse.MetadataResponseTopic) -> TopicMetadata:
    name = topic.name or ""
    partitions = tuple(
        PartitionMetadata(
            name,
            p.partition_index,
            p.leader_id,
            p.leader_epoch,
            tuple(p.replica_nodes),
            tuple(p.isr_nodes),
            tuple(p.offline_replicas),
            Errors.for_code(p.error_code),
        )
        for p in sorted(topic.partitions, key=lambda p: p.partition_index)
    )
    topic_id = topic.topic_id or ZERO_UUID
    return TopicMetadata(name, topic_id, topic.is_internal, partitions, Errors.for_code(topic.error_code))
