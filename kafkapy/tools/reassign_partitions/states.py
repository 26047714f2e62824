"""The progress of a reassignment, for `--verify` and `--list` of kafka-reassign-partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkapy.admin.replicas import ReplicaLogDirInfo
from kafkapy.admin.results import value_of
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartitionReplica

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.admin.replicas import PartitionReassignment
    from kafkapy.clients.metadata import TopicMetadata


class MoveState(NamedTuple):
    """The current replicas of a partition (none: it does not exist) and the target; `done`: no reassignment is under
    way."""

    current: Sequence[int]
    target: Sequence[int]
    done: bool


def partition_states(
    admin: AdminClient,
    targets: Iterable[tuple[TopicPartition, Sequence[int]]],
    reassignments: Mapping[TopicPartition, PartitionReassignment],
) -> dict[TopicPartition, MoveState]:
    """The state of each partition. `reassignments`: all that are under way."""
    targets = list(targets)
    topics = admin.describe_topics(p.topic for p, _ in targets if p not in reassignments)
    states = {}
    for partition, target in targets:
        if partition in reassignments:
            states[partition] = MoveState(reassignments[partition].replicas, target, False)
        else:
            states[partition] = MoveState(_replicas(topics[partition.topic], partition), target, True)
    return states


def _replicas(topic: TopicMetadata | KafkaError, partition: TopicPartition) -> Sequence[int]:
    if isinstance(topic, KafkaError) and topic.error is Errors.UNKNOWN_TOPIC_OR_PARTITION:
        return ()
    for described in value_of(topic).partitions:
        if described.partition == partition.partition:
            return tuple(described.replicas)
    return ()


def format_partition_states(states: Mapping[TopicPartition, MoveState]) -> str:
    lines = ["Status of partition reassignment:"]
    for partition, state in sorted(states.items()):
        if not state.done:
            lines.append(f"Reassignment of partition {partition} is still in progress.")
        elif tuple(state.current) == tuple(state.target):
            lines.append(f"Reassignment of partition {partition} is completed.")
        else:
            lines.append(
                f"There is no active reassignment of partition {partition}, "
                f"but replica set is {_ids(state.current)} rather than {_ids(state.target)}."
            )
    return "\n".join(lines)


def moves_are_done(infos: Mapping[TopicPartitionReplica, ReplicaLogDirInfo]) -> bool:
    """Is no replica being moved between directories? A replica that is in none, or in another one, will not be moved
    either."""
    return all(info.future is None or info.current is None for info in infos.values())


def format_moves(
    targets: Mapping[TopicPartitionReplica, str], infos: Mapping[TopicPartitionReplica, ReplicaLogDirInfo]
) -> str:
    by_broker = sorted(targets, key=lambda replica: (replica.broker_id, replica.topic, replica.partition))
    return "\n".join(_format_move(replica, targets[replica], infos[replica]) for replica in by_broker)


def _format_move(replica: TopicPartitionReplica, target: str, info: ReplicaLogDirInfo) -> str:
    partition = f"Partition {replica.topic}-{replica.partition}"
    if info.current is None:
        return (
            f"{partition} is not found in any live log dir on broker {replica.broker_id}. "
            "There is likely an offline log directory on the broker."
        )
    if info.future is None and info.current == target:
        return f"Reassignment of replica {replica_name(replica)} completed successfully."
    if info.future is None:
        return f"{partition} on broker {replica.broker_id} is not being moved from log dir {info.current} to {target}."
    if info.future == target:
        return f"Reassignment of replica {replica_name(replica)} is still in progress."
    return f"{partition} on broker {replica.broker_id} is being moved to log dir {info.future} instead of {target}."


def format_reassignments(reassignments: Mapping[TopicPartition, PartitionReassignment]) -> str:
    if not reassignments:
        return "No partition reassignments found."
    lines = ["Current partition reassignments:"]
    for partition, reassignment in sorted(reassignments.items()):
        line = f"{partition}: replicas: {_ids(reassignment.replicas)}."
        if reassignment.adding_replicas:
            line += f" adding: {_ids(reassignment.adding_replicas)}."
        if reassignment.removing_replicas:
            line += f" removing: {_ids(reassignment.removing_replicas)}."
        lines.append(line)
    return "\n".join(lines)


def replica_name(replica: TopicPartitionReplica) -> str:
    return f"{replica.topic}-{replica.partition}-{replica.broker_id}"


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
