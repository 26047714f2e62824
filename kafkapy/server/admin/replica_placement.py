"""Assigns replicas of new partitions to brokers (Kafka's `AdminUtils`, with racks by KIP-36). No I/O.

Leaders are assigned round-robin. The shift between a leader and its followers grows with each round, so that the
followers of one broker's leaders are spread over all other brokers. With racks, the brokers are first ordered so that
racks alternate, and a rack that already has a replica is skipped while another one has none.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from kafkapy.protocol.errors import Errors, KafkaError

MAX_PARTITIONS: Final = 100_000
"""Maximum partitions of a topic. Its znode lists them all, and is limited to 1 MB by default (`jute.maxbuffer`): about
88,000 partitions."""


def assign_replicas_to_brokers(
    brokers: Mapping[int, str | None],
    num_partitions: int,
    replication_factor: int,
    fixed_start_index: int = -1,
    start_partition_id: int = -1,
) -> dict[int, list[int]]:
    """Return partition → brokers, the preferred leader first.

    Args:
        brokers: Broker id → rack.
        fixed_start_index: Index of the first partition's leader; a random one by default.
        start_partition_id: The first new partition.
    Raises:
        KafkaError: Kafka's error and message if the brokers are too few; INVALID_PARTITIONS if the topic would have
            more than `MAX_PARTITIONS`, where Kafka has no limit.
    """
    if num_partitions <= 0:
        raise KafkaError(Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    first = max(0, start_partition_id)
    if first + num_partitions > MAX_PARTITIONS:
        raise KafkaError(
            Errors.INVALID_PARTITIONS,
            f"Number of partitions must not be larger than {MAX_PARTITIONS}: more do not fit into the topic's ZooKeeper node.",
        )
    if replication_factor <= 0:
        raise KafkaError(Errors.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        raise KafkaError(
            Errors.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}.",
        )
    racks = {broker: rack for broker, rack in brokers.items() if rack is not None}
    if racks and len(racks) < len(brokers):
        raise KafkaError(
            Errors.UNKNOWN_SERVER_ERROR, "Not all brokers have rack information for replica rack aware assignment."
        )
    ring = rack_alternated_brokers(racks) if racks else list(brokers)
    start = fixed_start_index if fixed_start_index >= 0 else random.randrange(len(ring))
    shift = fixed_start_index if fixed_start_index >= 0 else random.randrange(len(ring))
    assignment = {}
    for partition in range(first, first + num_partitions):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        leader = (partition + start) % len(ring)
        if racks:
            assignment[partition] = _replicas_over_racks(ring, racks, leader, shift, replication_factor)
        else:
            followers = [ring[_follower(leader, shift, j, len(ring))] for j in range(replication_factor - 1)]
            assignment[partition] = [ring[leader], *followers]
    return assignment


def rack_alternated_brokers(racks: Mapping[int, str]) -> list[int]:
    """Return the brokers so that adjacent ones are in different racks: round robin over the racks."""
    by_rack: dict[str, list[int]] = {rack: [] for rack in sorted(set(racks.values()))}
    for broker in sorted(racks):
        by_rack[racks[broker]].append(broker)
    longest = max(map(len, by_rack.values()))
    return [members[i] for i in range(longest) for members in by_rack.values() if i < len(members)]


def _replicas_over_racks(
    ring: Sequence[int], racks: Mapping[int, str], leader: int, shift: int, replication_factor: int
) -> list[int]:
    num_racks = len(set(racks.values()))
    replicas = [ring[leader]]
    used_racks = {racks[ring[leader]]}
    step = 0
    while len(replicas) < replication_factor:
        broker = ring[_follower(leader, shift * num_racks, step, len(ring))]
        step += 1
        if (racks[broker] not in used_racks or len(used_racks) == num_racks) and broker not in replicas:
            replicas.append(broker)
            used_racks.add(racks[broker])
    return replicas


def _follower(leader: int, shift: int, index: int, num_brokers: int) -> int:
    """Return the position of follower number `index` in the list of brokers; never the leader's."""
    return (leader + 1 + (shift + index) % (num_brokers - 1)) % num_brokers
