"""Leader election as pure functions of a partition's assignment, in-sync replicas and live replicas.

The four rules are Kafka's `PartitionLeaderElectionAlgorithms`; the `leader_for_*` functions apply one of them to a
partition's current state and return the next one (Kafka's `Election`). No I/O.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import NamedTuple

from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderRecoveryState


class ElectionStrategy(Enum):
    """The reason for an election, which determines the rule.

    The value is Kafka's name, for error messages of ElectLeaders; `cause` is for the log.
    """

    cause: str

    def __new__(cls, name: str, cause: str) -> ElectionStrategy:
        strategy = object.__new__(cls)
        strategy._value_ = name
        strategy.cause = cause
        return strategy

    OFFLINE_PARTITION = "OfflinePartitionLeaderElectionStrategy(false)", "the partition has no live leader"
    UNCLEAN = "OfflinePartitionLeaderElectionStrategy(true)", "an unclean election was asked for"
    REASSIGNMENT = "ReassignPartitionLeaderElectionStrategy", "its replicas are reassigned"
    PREFERRED_REPLICA = "PreferredReplicaPartitionLeaderElectionStrategy", "the preferred replica is to lead"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy", "a broker is shutting down"


class ElectionResult(NamedTuple):
    """The next state, None if no replica can lead; `recipients` are the replicas to be notified."""

    leader_and_isr: LeaderAndIsr | None
    recipients: tuple[int, ...]


def offline_partition_leader_election(
    assignment: Sequence[int], isr: Collection[int], live: Collection[int], unclean_allowed: bool
) -> int | None:
    """Return the first live in-sync replica of the assignment; without one and with `unclean_allowed`, the first live
    replica."""
    clean = next((r for r in assignment if r in live and r in isr), None)
    if clean is not None or not unclean_allowed:
        return clean
    return next((r for r in assignment if r in live), None)


def reassign_partition_leader_election(
    target: Sequence[int], isr: Collection[int], live: Collection[int]
) -> int | None:
    """Return the first live in-sync replica of the target."""
    return next((r for r in target if r in live and r in isr), None)


def preferred_replica_leader_election(
    assignment: Sequence[int], isr: Collection[int], live: Collection[int]
) -> int | None:
    """Return the first replica of the assignment, if it is alive and in sync."""
    preferred = next(iter(assignment), None)
    return preferred if preferred in live and preferred in isr else None


def controlled_shutdown_leader_election(
    assignment: Sequence[int], isr: Collection[int], live: Collection[int], shutting_down: Collection[int]
) -> int | None:
    """Return the first live in-sync replica on a broker that is not shutting down."""
    return next((r for r in assignment if r in live and r in isr and r not in shutting_down), None)


def leader_for_offline(
    assignment: Sequence[int],
    state: LeaderAndIsr,
    live: Collection[int],
    unclean_allowed: bool,
    recovery_supported: bool = True,
) -> ElectionResult:
    """Return the state after an election for an offline partition. A clean leader keeps the ISR's live replicas; an
    unclean one is the only ISR member, and in recovery (KIP-704) if that is supported."""
    live_replicas = tuple(r for r in assignment if r in live)
    leader = offline_partition_leader_election(assignment, state.isr, live_replicas, unclean_allowed)
    if leader is None:
        return ElectionResult(None, live_replicas)
    if leader in state.isr:
        elected = state.new_leader_and_isr(leader, [r for r in state.isr if r in live])
    else:
        elected = state.new_leader_and_isr(leader, [leader])
        if recovery_supported:
            elected = elected._replace(leader_recovery_state=LeaderRecoveryState.RECOVERING)
    return ElectionResult(elected, live_replicas)


def leader_for_reassignment(target: Sequence[int], state: LeaderAndIsr, live: Collection[int]) -> ElectionResult:
    """Return the state after an election by a reassignment, with the same ISR. `target`: the replicas after the
    reassignment."""
    leader = reassign_partition_leader_election(target, state.isr, live)
    return ElectionResult(None if leader is None else state.new_leader(leader), tuple(target))


def leader_for_preferred_replica(
    assignment: Sequence[int], state: LeaderAndIsr, live: Collection[int]
) -> ElectionResult:
    """Return the state after an election of the preferred replica, with the same ISR."""
    leader = preferred_replica_leader_election(assignment, state.isr, live)
    return ElectionResult(None if leader is None else state.new_leader(leader), tuple(assignment))


def leader_for_controlled_shutdown(
    assignment: Sequence[int],
    state: LeaderAndIsr,
    live_or_shutting_down: Collection[int],
    shutting_down: Collection[int],
) -> ElectionResult:
    """Return the state after an election by a controlled shutdown, without the stopping brokers in the ISR."""
    recipients = tuple(r for r in assignment if r in live_or_shutting_down)
    leader = controlled_shutdown_leader_election(assignment, state.isr, recipients, shutting_down)
    if leader is None:
        return ElectionResult(None, recipients)
    return ElectionResult(
        state.new_leader_and_isr(leader, [r for r in state.isr if r not in shutting_down]), recipients
    )
