"""The metadata of a client: the needed topics, and the last response (Kafka's `Metadata`)."""

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
    """The id under which a group keeps a connection of its own to its coordinator, so that a heartbeat never waits
    behind a long fetch (as the Java client does). It is its own inverse."""
    return COORDINATOR_IDS - node_id


class LeaderAndEpoch(NamedTuple):
    """`leader_id` -1: none at present. `epoch` -1: the broker is too old to say."""

    leader_id: int
    epoch: int


class ClientMetadata:
    """What is wanted and what is known.

    Invariant: `cluster` is replaced as a whole, `version` counts that; within one topic id, a partition's leader epoch
    never goes back, and no partition goes away. `_heard` has epochs newer than the cluster's, with the topic's id then.
    `_wanted` is the completion of the update that is to be asked for next; None: none is needed.
    """

    def __init__(self, request: Callable[[bool], None], allow_auto_topic_creation: bool = True) -> None:
        self.cluster = ClusterMetadata()
        self.version = 0
        self.topics: set[str] = set()
        """Topics of interest."""
        self.all_topics = False
        self.is_idle: Callable[[str], bool] = lambda topic: False
        """Return whether this topic is no longer needed."""
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.listeners: list[Listener] = []
        """Called with the cluster after each update."""
        self._heard: dict[TopicPartition, tuple[bytes, int]] = {}
        self._request = request
        self._wanted: Completion[ClusterMetadata] | None = None

    # --- what is wanted

    def request_update(self) -> Completion[ClusterMetadata]:
        """News, asked for after now. Repeated until a broker answers; fails only if there is no use in that
        (authentication, authorization, a closed client)."""
        return self._want(False)

    def add_topics(self, topics: Iterable[str]) -> Completion[ClusterMetadata] | None:
        """Take an interest in these too; None if there is news of nothing to wait for."""
        new = set(topics) - self.topics
        if not new:
            return None
        self.topics |= new
        return self._want(True)

    def set_topics(self, topics: Iterable[str]) -> Completion[ClusterMetadata] | None:
        """Take an interest in these only."""
        wanted = set(topics)
        new = wanted - self.topics
        self.topics = wanted
        self.all_topics = False
        return self._want(True) if new else None

    def set_all_topics(self) -> Completion[ClusterMetadata]:
        """Take an interest in whatever there is (subscription by pattern)."""
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

    # --- what is known

    def node(self, node_id: int) -> Node | None:
        """Also under the id of `coordinator_node_id`."""
        return self.cluster.nodes.get(node_id) or self.cluster.nodes.get(COORDINATOR_IDS - node_id)

    def partitions_of(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """Empty if it is not known."""
        found = self.cluster.topics.get(topic)
        return found.partitions if found is not None else ()

    def topic_error(self, topic: str) -> Errors:
        """What the broker said of a topic; UNKNOWN_TOPIC_OR_PARTITION if nothing was heard."""
        found = self.cluster.topics.get(topic)
        return found.error if found is not None else Errors.UNKNOWN_TOPIC_OR_PARTITION

    def topic_id(self, topic: str) -> bytes:
        found = self.cluster.topics.get(topic)
        return found.topic_id if found is not None else ZERO_UUID

    def leader_of(self, partition: TopicPartition) -> LeaderAndEpoch | None:
        """None if the partition is not known. No leader if a newer epoch than the known leader's was heard of."""
        found = self.cluster.partition(partition)
        if found is None:
            return None
        heard = self._heard_epoch(partition)
        if heard > found.leader_epoch:
            return LeaderAndEpoch(-1, heard)
        leader = found.leader_id if found.leader_id in self.cluster.nodes else -1
        return LeaderAndEpoch(leader, found.leader_epoch)

    def leader_or_error(self, partition: TopicPartition) -> int | KafkaError:
        """The leader's id, or why it is not known (an error that says to ask for metadata)."""
        error = self.topic_error(partition.topic)
        if error is not Errors.NONE:
            return error_for(error, f"Topic {partition.topic}: {error.message}")
        leader = self.leader_of(partition)
        if leader is None:
            return UnknownTopicOrPartitionError(f"Partition {partition} is not known to the cluster")
        if leader.leader_id < 0:
            return LeaderNotAvailableError(f"Partition {partition} has no leader at present")
        return leader.leader_id

    # --- news

    def update(self, response: MetadataResponse) -> None:
        """Take over what a broker answered, as far as it is to be believed (KIP-320)."""
        fresh = ClusterMetadata.of(response)
        topics = {
            name: self._merged(topic) for name, topic in fresh.topics.items() if self.all_topics or name in self.topics
        }
        if not fresh.nodes:
            fresh = fresh._replace(nodes=self.cluster.nodes)
        self._replace(fresh._replace(topics=topics))

    def add_node(self, node: Node) -> None:
        """A broker that was named by the look-up of a coordinator."""
        if node.id not in self.cluster.nodes:
            self._replace(self.cluster._replace(nodes={**self.cluster.nodes, node.id: node}))

    def update_leader(self, partition: TopicPartition, leader_id: int, epoch: int, nodes: Iterable[Node] = ()) -> bool:
        """A leader that a Produce or Fetch response named (KIP-951). True if that is news."""
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

    def hear_of_epoch(self, partition: TopicPartition, epoch: int) -> bool:
        """There was a leader of this epoch: a record, or a committed offset, says so. If that is news, the leader known here
        is an older one, who may not have all that was read; it is not asked any more, and metadata is. True if it is news
        (`Metadata.updateLastSeenEpochIfNewer`)."""
        known = self.cluster.partition(partition)
        if known is None or known.leader_epoch < 0 or epoch <= max(known.leader_epoch, self._heard_epoch(partition)):
            return False
        self._heard[partition] = (self.topic_id(partition.topic), epoch)
        self.request_update()
        return True

    def _heard_epoch(self, partition: TopicPartition) -> int:
        """-1 if there is none, or one of a topic of that name that is gone."""
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
        """Older leader epochs than known ones are not believed, nor that partitions are gone: a broker that has just started
        may know a part of them."""
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
    """A Metadata request in whichever version the broker knows. `topics` None: all of them."""

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
