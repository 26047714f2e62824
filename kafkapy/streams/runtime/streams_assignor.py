"""The partition assignor of an application's group, protocol `stream` (Kafka's `StreamsPartitionAssignor`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import (
    AbstractPartitionAssignor,
    ClusterPartitions,
    RebalanceProtocol,
    SubscribedMember,
    assignment_of,
)
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafkapy.streams.assignment.assignment_info import AssignmentInfo, decode_assignment_info
from kafkapy.streams.assignment.group_assignment import (
    ASSIGNMENT_ERROR,
    INCOMPLETE_SOURCE_TOPIC_METADATA,
    GroupAssignment,
    PartitionRacks,
    StreamsMember,
    TaskShare,
    error_assignment,
    racks_of_instances,
)
from kafkapy.streams.assignment.high_availability import AssignmentConfigs
from kafkapy.streams.assignment.partition_counts import (
    MissingSourceTopicsError,
    partition_groups,
    repartition_partitions,
)
from kafkapy.streams.assignment.rack_aware import NONE
from kafkapy.streams.assignment.subscription_info import LATEST_VERSION, SubscriptionInfo, decode_subscription_info
from kafkapy.streams.assignment.task_id import ProcessId, TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.runtime.internal_topic_manager import InternalTopicManager
from kafkapy.streams.topology.topology_builder import Subgraph, TopologyBuilder

log = logging.getLogger("kafkapy.streams")


class Assignment(NamedTuple):
    """The assignment of this member.

    Attributes:
        active: Tasks to run, with their partitions.
        standby: Tasks that need a standby replica here.
        info: The complete user data of the assignment.
    """

    active: dict[TaskId, list[TopicPartition]]
    standby: Mapping[TaskId, frozenset[TopicPartition]]
    info: AssignmentInfo


class StreamsPartitionAssignor(AbstractPartitionAssignor):
    """Assigns tasks to members. In the group's leader it also creates the internal topics.

    Invariant: `_version` is the version of encoded subscriptions: the highest that all members are known to support.

    Args:
        builder: The topology.
        config: The application's configuration.
        topics: Creates internal topics.
        process_id: Process id of the instance.
        offset_sums: Returns the sum of the changelog offsets of each task's stores.
        on_assignment: Called with this member's assignment, on the consumer's thread.
        on_join: Called before each request to join the group, on the consumer's I/O thread.
    """

    name: ClassVar[str] = "stream"
    in_user_thread: ClassVar[bool] = True
    """`assign` blocks on the admin client, so it runs on the polling thread and heartbeats continue."""

    def __init__(
        self,
        builder: TopologyBuilder,
        config: StreamsConfig,
        topics: InternalTopicManager,
        process_id: ProcessId,
        offset_sums: Callable[[], Mapping[TaskId, int]],
        on_assignment: Callable[[Assignment], None],
        on_join: Callable[[], None] = lambda: None,
    ) -> None:
        self._builder = builder
        self._config = config
        self._topics = topics
        self._process_id = process_id
        self._offset_sums = offset_sums
        self._on_assignment = on_assignment
        self._on_join = on_join
        self._version = LATEST_VERSION
        self._unique = 0
        self.error_code = 0
        """Error code in the next join of the group."""
        self.rejoin_now = False
        """The version has changed, so the member must rejoin."""

    def supported_protocols(self) -> Sequence[RebalanceProtocol]:
        return [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]

    def user_data(self, topics: Iterable[str]) -> bytes:
        self._on_join()
        self._unique = (self._unique + 1) % 128
        return SubscriptionInfo(
            self._version,
            LATEST_VERSION if self._version >= 3 else -1,
            self._process_id,
            self._config.application_server or None,
            self._offset_sums(),
            self._unique,
            self.error_code,
            self._config.client_tags,
        ).encode()

    def assign(
        self, cluster: ClusterPartitions, members: Sequence[SubscribedMember]
    ) -> dict[str, ConsumerProtocolAssignment]:
        joined = [_member(one) for one in members]
        try:
            shares = self._shares(cluster, joined)
        except MissingSourceTopicsError as error:
            log.error("No tasks are assigned: %s", error)
            shares = error_assignment(joined, INCOMPLETE_SOURCE_TOPIC_METADATA)
        except ValueError:
            log.exception("No tasks are assigned")
            shares = error_assignment(joined, ASSIGNMENT_ERROR)
        return {member: _message(share) for member, share in shares.items()}

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        partitions = sorted(
            TopicPartition(one.topic, number) for one in assignment.assigned_partitions for number in one.partitions
        )
        info = decode_assignment_info(assignment.user_data or b"")
        active: dict[TaskId, list[TopicPartition]] = {}
        if not info.error_code:
            if len(partitions) != len(info.active_tasks):
                raise ValueError(
                    f"Number of assigned partitions {len(partitions)} is not equal to the number of active taskIds "
                    f"{len(info.active_tasks)}"
                )
            for task, partition in zip(info.active_tasks, partitions, strict=True):
                active.setdefault(task, []).append(partition)
            self._follow_version(info)
        self._on_assignment(Assignment(active, info.standby_tasks, info))

    def _follow_version(self, info: AssignmentInfo) -> None:
        """Version probing: change to the highest version that all members support."""
        if info.commonly_supported_version > self._version or info.version < self._version:
            self._version = max(1, min(info.commonly_supported_version, LATEST_VERSION))
            self.rejoin_now = True

    # --- the leader's -----------------------------------------------------------------------------------------------------

    def _shares(self, cluster: ClusterPartitions, members: Sequence[StreamsMember]) -> dict[str, TaskShare]:
        prefix = self._config.topic_prefix
        subgraphs = self._builder.subgraphs(prefix)
        internal = self._builder.internal_topics(prefix, self._config.windowstore_changelog_additional_retention_ms)
        repartition = {name: topic for name, topic in internal.items() if topic.kind == "repartition"}
        counts = _cluster_counts(cluster, subgraphs, repartition)
        enforced = {name: topic.partitions for name, topic in repartition.items()}
        made = repartition_partitions(subgraphs, enforced, self._builder.copartition_groups(prefix), counts)
        self._topics.make_ready({name: (repartition[name], count) for name, count in made.items()})
        counts |= made
        tasks = partition_groups(subgraphs, counts)
        changelogs = _changelog_partitions(subgraphs, tasks)
        ends = self._prepare_changelogs(subgraphs, tasks, changelogs, internal)
        return GroupAssignment(
            members,
            tasks,
            list(changelogs),
            ends,
            self._assignment_configs(),
            self._process_id,
            int(time.time() * 1000),
            self._racks(members, tasks, changelogs),
        ).compute()

    def _assignment_configs(self) -> AssignmentConfigs:
        config = self._config
        return AssignmentConfigs(
            config.acceptable_recovery_lag,
            config.max_warmup_replicas,
            config.num_standby_replicas,
            config.probing_rebalance_interval_ms,
            tuple(config.rack_aware_assignment_tags),
            config.rack_aware_assignment_strategy,
            config.rack_aware_assignment_traffic_cost,
            config.rack_aware_assignment_non_overlap_cost,
        )

    def _racks(
        self,
        members: Sequence[StreamsMember],
        tasks: Mapping[TaskId, Sequence[TopicPartition]],
        changelogs: Mapping[TaskId, Sequence[TopicPartition]],
    ) -> PartitionRacks | None:
        """Return the racks of partitions; None if the assignment is not rack-aware, or a member or a broker has no
        rack."""
        if self._config.rack_aware_assignment_strategy == NONE:
            return None
        if racks_of_instances(members) is None:
            log.warning("Tasks do not go by racks: set client.rack for all instances")
            return None
        partitions = [one for of_task in (*tasks.values(), *changelogs.values()) for one in of_task]
        found = self._topics.replica_racks({partition.topic for partition in partitions})
        if found is None or not found.keys() >= set(partitions):
            log.warning("Tasks do not go by racks: set broker.rack for all brokers")
            return None
        return PartitionRacks(found, changelogs)

    def _prepare_changelogs(
        self,
        subgraphs: Sequence[Subgraph],
        tasks: Mapping[TaskId, Sequence[TopicPartition]],
        changelogs: Mapping[TaskId, Sequence[TopicPartition]],
        internal: Mapping[str, Any],
    ) -> dict[TaskId, int] | None:
        """Create changelogs; return the sum of end offsets of each task's changelogs, None if they are not known.

        Changelogs that were created now count as 0.
        """
        wanted: dict[str, int] = {}
        for partitions in changelogs.values():
            for topic, number in partitions:
                if topic in internal:
                    wanted[topic] = max(wanted.get(topic, 0), number + 1)
        new = self._topics.make_ready({topic: (internal[topic], count) for topic, count in wanted.items()})
        old = [one for partitions in changelogs.values() for one in partitions if one.topic not in new]
        ends = self._topics.end_offsets(old)
        if ends is None:
            return None
        return {task: sum(ends.get(one, 0) for one in partitions) for task, partitions in changelogs.items()}


def _member(one: SubscribedMember) -> StreamsMember:
    data = one.metadata
    owned = [TopicPartition(entry.topic, number) for entry in data.owned_partitions for number in entry.partitions]
    return StreamsMember(one.member_id, decode_subscription_info(data.user_data or b""), owned, data.rack_id or None)


def _message(share: TaskShare) -> ConsumerProtocolAssignment:
    message = assignment_of(share.partitions)
    message.user_data = share.info.encode()
    return message


def _cluster_counts(
    cluster: ClusterPartitions, subgraphs: Sequence[Subgraph], repartition: Mapping[str, Any]
) -> dict[str, int]:
    topics = {topic for one in subgraphs for topic in one.source_topics if topic not in repartition}
    found = {topic: cluster.partitions_for_topic(topic) for topic in topics}
    return {topic: len(partitions) for topic, partitions in found.items() if partitions}


def _changelog_partitions(subgraphs: Sequence[Subgraph], tasks: Iterable[TaskId]) -> dict[TaskId, list[TopicPartition]]:
    """Return the changelog partitions of each stateful task."""
    topics = {one.id: sorted(set(one.changelogs.values())) for one in subgraphs}
    return {
        task: [TopicPartition(topic, task.partition) for topic in topics[task.subtopology]]
        for task in tasks
        if topics.get(task.subtopology)
    }
