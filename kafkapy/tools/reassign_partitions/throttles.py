"""The throttles of a reassignment: the replicas and brokers for which they are set (KIP-73).

Throttled are the leaders' side of all current replicas of a partition and the followers' side of the new ones. Rates
are bytes per second, set at every broker that has or gets a replica.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import values_of
from kafkapy.admin.types import ConfigResource
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import AlterConfigOp, ConfigResourceType

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.admin.replicas import PartitionReassignment

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class PartitionMove(NamedTuple):
    """The brokers that have a replica and those that get one."""

    sources: frozenset[int]
    destinations: frozenset[int]


Moves = dict[TopicPartition, PartitionMove]


def proposed_moves(
    current_reassignments: Mapping[TopicPartition, PartitionReassignment],
    proposed: Mapping[TopicPartition, Sequence[int]],
    current: Mapping[TopicPartition, Sequence[int]],
) -> Moves:
    """All moves: those under way, and the proposed ones in their place or in addition."""
    moves: Moves = {}
    for partition, reassignment in current_reassignments.items():
        adding = frozenset(reassignment.adding_replicas)
        moves[partition] = PartitionMove(frozenset(reassignment.replicas) - adding, adding)
    for partition, replicas in proposed.items():
        under_way = moves.get(partition)
        sources = frozenset(current[partition]) if under_way is None else under_way.sources
        moves[partition] = PartitionMove(sources, frozenset(replicas) - sources)
    return moves


def throttled_replicas(moves: Moves) -> dict[str, tuple[str, str]]:
    """Topic -> values of its two configs: `partition:broker,...` for the leaders' and for the followers' side."""
    sides: dict[str, tuple[set[str], set[str]]] = {}
    for (topic, partition), move in moves.items():
        leaders, followers = sides.setdefault(topic, (set(), set()))
        leaders.update(f"{partition}:{broker}" for broker in move.sources)
        followers.update(f"{partition}:{broker}" for broker in move.destinations)
    return {
        topic: (",".join(sorted(leaders)), ",".join(sorted(followers))) for topic, (leaders, followers) in sides.items()
    }


def throttle_moves(admin: AdminClient, moves: Moves, rate: int) -> None:
    """Set the throttled replicas first, then the rate."""
    values_of(
        admin.incremental_alter_configs(
            {
                ConfigResource(ConfigResourceType.TOPIC, topic): [
                    ConfigChange(LEADER_REPLICAS, leaders),
                    ConfigChange(FOLLOWER_REPLICAS, followers),
                ]
                for topic, (leaders, followers) in throttled_replicas(moves).items()
            }
        )
    )
    brokers = {broker for move in moves.values() for broker in move.sources | move.destinations}
    _set_rates(admin, brokers, rate, LEADER_RATE, FOLLOWER_RATE)
    print(f"The inter-broker throttle limit was set to {rate} B/s")


def throttle_log_dirs(admin: AdminClient, brokers: Iterable[int], rate: int) -> None:
    _set_rates(admin, brokers, rate, LOG_DIRS_RATE)
    print(f"The replica-alter-dir throttle limit was set to {rate} B/s")


def clear_all_throttles(admin: AdminClient, partitions: Iterable[tuple[TopicPartition, Sequence[int]]]) -> None:
    """Remove the throttles at all brokers, since the sources of the moves are no longer known."""
    partitions = list(partitions)
    brokers = {node.id for node in admin.describe_cluster().nodes}
    brokers.update(broker for _, replicas in partitions for broker in replicas)
    print(f"Clearing broker-level throttles on broker{_plural(brokers)} {','.join(map(str, sorted(brokers)))}")
    _delete(admin, ConfigResourceType.BROKER, map(str, sorted(brokers)), LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
    topics = {partition.topic for partition, _ in partitions}
    print(f"Clearing topic-level throttles on topic{_plural(topics)} {','.join(sorted(topics))}")
    _delete(admin, ConfigResourceType.TOPIC, sorted(topics), LEADER_REPLICAS, FOLLOWER_REPLICAS)


def _set_rates(admin: AdminClient, brokers: Iterable[int], rate: int, *configs: str) -> None:
    changes = {
        ConfigResource(ConfigResourceType.BROKER, str(broker)): [ConfigChange(config, str(rate)) for config in configs]
        for broker in sorted(brokers)
    }
    values_of(admin.incremental_alter_configs(changes))


def _delete(admin: AdminClient, type_: ConfigResourceType, names: Iterable[str], *configs: str) -> None:
    deletions = [ConfigChange(config, None, AlterConfigOp.DELETE) for config in configs]
    values_of(admin.incremental_alter_configs({ConfigResource(type_, name): deletions for name in names}))


def _plural(things: set[int] | set[str]) -> str:
    return "" if len(things) == 1 else "s"
