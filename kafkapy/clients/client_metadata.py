"""The metadata of a client: the topics that it needs, and the last response (Kafka's `Metadata`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kafkapy.clients.metadata import ClusterMetadata, Node, PartitionMetadata, TopicMetadata
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.errors import LeaderNotAvailableError, UnknownTopicOrPartitionError, error_for
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkapy.runtime.completion import Completion

_log = logging.getLogger("kafkapy.clients")

Listener = Callable[[ClusterMetadata], object]

COORDINATOR_IDS = 0x7FFFFFFF


def coordinator_node_id(node_id: int) -> int:
    """Return the node id of a separate connection to a group's coordinator.

    As in the Java client, heartbeats use it, so that they never wait behind a long fetch. The function is its own
    inverse.
    """
    return COORDINATOR_IDS - node_id


class LeaderAndEpoch(NamedTuple):
    """`leader_id` -1: no leader at present. `epoch` -1: the broker is too old to report it."""

    leader_id: int
    epoch: int


class ClientMetadata:
    """The needed topics and the known cluster.

    Invariant: `cluster` is replaced as a whole, and `version` counts the replacements; within one topic id, a
    partition's leader epoch never decreases, and no partition disappears. `_heard` has epochs newer than the
    cluster's, with the topic's id at that time. `_wanted` is the completion of the next update; None: none is needed.
    """

    def __init__(self, request: Callable[[bool], None], allow_auto_topic_creation: bool = True) -> None:
        self.cluster = ClusterMetadata()
        self.version = 0
        self.topics: set[str] = set()
        """Topics of interest."""
        self.all_topics = False
        self.is_idle: Callable[[str], bool] = lambda topic: False
        """Returns whether a topic is no longer needed."""
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.listeners: list[Listener] = []
        """Called with the cluster after each update."""
        self._heard: dict[TopicPartition, tuple[bytes, int]] = {}
        self._request = request
        self._wanted: Completion[ClusterMetadata] | None = None

    # --- the needed topics

    def request_update(self) -> Completion[ClusterMetadata]:
        """Request metadata; the completion has a response to a request sent after this call.

        The request is repeated until a broker answers; it fails only if a repetition is useless (authentication,
        authorization, a closed client).
        """
        return self._want(False)

    def add_topics(self, topics: Iterable[str]) -> Completion[ClusterMetadata] | None:
        """Add topics to the needed ones; return the completion of their update, None if all are known."""
        new = set(topics) - self.topics
        if not new:
            return None
        self.topics |= new
        return self._want(True)

    def set_topics(self, topics: Iterable[str]) -> Completion[ClusterMetadata] | None:
        """Replace the needed topics; return the completion of their update, None if all are known."""
        wanted = set(topics)
        new = wanted - self.topics
        self.topics = wanted
        self.all_topics = False
        return self._want(True) if new else None

    def set_all_topics(self) -> Completion[ClusterMetadata]:
        """Request the metadata of all topics from now on (subscription by pattern)."""
        self.all_topics = True
        return self._want(True)

    def forget_idle_topics(self) -> None:
        """Drop unneeded topics before a request: they are not requested, and with the response no longer known."""
        self.topics = {topic for topic in self.topics if not self.is_idle(topic)}

    def _want(self, at_once: bool) -> Completion[ClusterMetadata]:
        if self._wanted is None:
            self._wanted = Completion()
        wanted = self._wanted
        self._request(at_once)
        return wanted

    @property
    def update_wanted(self) -> bool:
        return self._wanted is not None

    def take_wanted(self) -> Completion[ClusterMetadata] | None:
        wanted, self._wanted = self._wanted, None
        return wanted

    def give_back(self, wanted: Completion[ClusterMetadata]) -> None:
        """Process a failure: callers keep waiting for the next attempt."""
        newer, self._wanted = self._wanted, wanted
        if newer is not None:
            wanted.add_callback(lambda done: _pass_on(done, newer))

    # --- the known cluster

    def node(self, node_id: int) -> Node | None:
        """Return the node; `node_id` may also be that of `coordinator_node_id`. None if it is not known."""
        return self.cluster.nodes.get(node_id) or self.cluster.nodes.get(COORDINATOR_IDS - node_id)

    def partitions_of(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """Return the topic's partitions; empty if the topic is not known."""
        found = self.cluster.topics.get(topic)
        return found.partitions if found is not None else ()

    def topic_error(self, topic: str) -> Errors:
        """Return the topic's error in the last response; UNKNOWN_TOPIC_OR_PARTITION if no response had the topic."""
        found = self.cluster.topics.get(topic)
        return found.error if found is not None else Errors.UNKNOWN_TOPIC_OR_PARTITION

    def topic_id(self, topic: str) -> bytes:
        found = self.cluster.topics.get(topic)
        return found.topic_id if found is not None else ZERO_UUID

    def leader_of(self, partition: TopicPartition) -> LeaderAndEpoch | None:
        """Return the leader; None if the partition is not known.

        The leader is -1 if an epoch newer than the known leader's was recorded.
        """
        found = self.cluster.partition(partition)
        if found is None:
            return None
        heard = self._heard_epoch(partition)
        if heard > found.leader_epoch:
            return LeaderAndEpoch(-1, heard)
        leader = found.leader_id if found.leader_id in self.cluster.nodes else -1
        return LeaderAndEpoch(leader, found.leader_epoch)

    def leader_or_error(self, partition: TopicPartition) -> int | KafkaError:
        """Return the leader's id, or the error that explains why it is not known (such an error invalidates the
        metadata)."""
        error = self.topic_error(partition.topic)
        if error is not Errors.NONE:
            return error_for(error, f"Topic {partition.topic}: {error.message}")
        leader = self.leader_of(partition)
        if leader is None:
            return UnknownTopicOrPartitionError(f"Partition {partition} is not known to the cluster")
        if leader.leader_id < 0:
            return LeaderNotAvailableError(f"Partition {partition} has no leader at present")
        return leader.leader_id

    # --- updates

    def update(self, response: MetadataResponse) -> None:
        """Apply a response, except partitions whose leader epoch is older than the known one (KIP-320)."""
        fresh = ClusterMetadata.of(response)
        topics = {
            name: self._merged(topic) for name, topic in fresh.topics.items() if self.all_topics or name in self.topics
        }
        if not fresh.nodes:
            fresh = fresh._replace(nodes=self.cluster.nodes)
        self._replace(fresh._replace(topics=topics))

    def add_node(self, node: Node) -> None:
        """Add a broker from a FindCoordinator response."""
        if node.id not in self.cluster.nodes:
            self._replace(self.cluster._replace(nodes={**self.cluster.nodes, node.id: node}))

    def update_leader(self, partition: TopicPartition, leader_id: int, epoch: int, nodes: Iterable[Node] = ()) -> bool:
        """Apply the leader from a Produce or Fetch response (KIP-951). Return True if the leader has changed."""
        known = self.cluster.partition(partition)
        if known is None or epoch <= known.leader_epoch or leader_id < 0:
            return False
        topic = self.cluster.topics[partition.topic]
        changed = tuple(
            p._replace(leader_id=leader_id, leader_epoch=epoch) if p is known else p for p in topic.partitions
        )
        cluster = self.cluster
        all_nodes = {**cluster.nodes, **{node.id: node for node in nodes}}
        topics = {**cluster.topics, topic.name: topic._replace(partitions=changed)}
        self._replace(cluster._replace(nodes=all_nodes, topics=topics))
        return True

    def record_epoch(self, partition: TopicPartition, epoch: int) -> bool:
        """Record the leader epoch of a record or a committed offset; return True if it is newer than the known one.

        Then the known leader is outdated and may lack records that were read: it is no longer used, and metadata is
        requested (`Metadata.updateLastSeenEpochIfNewer`).
        """
        known = self.cluster.partition(partition)
        if known is None or known.leader_epoch < 0 or epoch <= max(known.leader_epoch, self._heard_epoch(partition)):
            return False
        self._heard[partition] = (self.topic_id(partition.topic), epoch)
        self.request_update()
        return True

    def _heard_epoch(self, partition: TopicPartition) -> int:
        """Return the recorded epoch; -1 if there is none, or if it belongs to a deleted topic of the same name."""
        topic_id, epoch = self._heard.get(partition, (b"", -1))
        return epoch if topic_id == self.topic_id(partition.topic) else -1

    def _is_still_news(self, partition: TopicPartition) -> bool:
        known = self.cluster.partition(partition)
        return known is None or 0 <= known.leader_epoch < self._heard_epoch(partition)

    def _replace(self, cluster: ClusterMetadata) -> None:
        self.cluster = cluster
        if self._heard:
            self._heard = {
                partition: heard for partition, heard in self._heard.items() if self._is_still_news(partition)
            }
        self.version += 1
        for listener in list(self.listeners):
            try:
                listener(cluster)
            except Exception:
                _log.exception("A listener for metadata failed")

    def _merged(self, topic: TopicMetadata) -> TopicMetadata:
        """Merge a topic's new metadata into the known one.

        Older leader epochs and missing partitions are ignored, because a broker that has just started may have
        incomplete metadata.
        """
        known = self.cluster.topics.get(topic.name)
        if known is None or known.topic_id != topic.topic_id or not topic.partitions:
            return topic
        before = {p.partition: p for p in known.partitions}
        partitions = {} if topic.topic_id == ZERO_UUID else dict(before)
        for fresh in topic.partitions:
            old = before.get(fresh.partition, fresh)
            stale = 0 <= fresh.leader_epoch < old.leader_epoch
            partitions[fresh.partition] = old if stale else fresh
        return topic._replace(partitions=tuple(partitions[number] for number in sorted(partitions)))


class MetadataRequestBuilder:
    """Builds a Metadata request in the version chosen for the broker. `topics` None: all topics."""

    API_KEY = MetadataRequest.API_KEY

    def __init__(self, topics: Iterable[str] | None, allow_auto_topic_creation: bool) -> None:
        self.topics = topics
        self.allow_auto_topic_creation = allow_auto_topic_creation

    def build(self, version: int) -> MetadataRequest:
        names = None if self.topics is None else sorted(self.topics)
        if names is None and version == 0:
            names = []  # version 0 has no null: an empty list means all topics there
        return MetadataRequest(
            topics=None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=version < 4 or self.allow_auto_topic_creation,
        )


def _pass_on(done: Completion[ClusterMetadata], to: Completion[ClusterMetadata]) -> None:
    error = done.exception()
    if error is None:
        to.set_result(done.result())
    else:
        to.set_exception(error)
