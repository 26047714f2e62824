"""Leader election: pure functions of a partition's assignment, in-sync replicas and live replicas.

The four rules are Kafka's `PartitionLeaderElectionAlgorithms`; the `leader_for_*` functions apply one of them to a
partition's present state and give its next state (Kafka's `Election`). Nothing here reads or writes anything.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import NamedTuple

from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderRecoveryState


class ElectionStrategy(Enum):
    """Why a leader is elected, hence by which rule.

    The value is Kafka's name of it, which error messages of ElectLeaders have; `cause` is for the log.
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
    """The first replica of the assignment that is alive and in sync; with `unclean_allowed` else the first alive."""
    clean = next((r for r in assignment if r in live and r in isr), None)
    if clean is not None or not unclean_allowed:
        return clean
    return next((r for r in assignment if r in live), None)


def reassign_partition_leader_election(
    target: Sequence[int], isr: Collection[int], live: Collection[int]
) -> int | None:
    """The first replica of the target that is alive and in sync."""
    return next((r for r in target if r in live and r in isr), None)


def preferred_replica_leader_election(
    assignment: Sequence[int], isr: Collection[int], live: Collection[int]
) -> int | None:
    """The first replica of the assignment, if it is alive and in sync."""
    preferred = next(iter(assignment), None)
    return preferred if preferred in live and preferred in isr else None


def controlled_shutdown_leader_election(
    assignment: Sequence[int], isr: Collection[int], live: Collection[int], shutting_down: Collection[int]
) -> int | None:
    """The first replica that is alive, in sync and stays."""
    return next((r for r in assignment if r in live and r in isr and r not in shutting_down), None)


def leader_for_offline(
    assignment: Sequence[int],
    state: LeaderAndIsr,
    live: Collection[int],
    unclean_allowed: bool,
    recovery_supported: bool = True,
) -> ElectionResult:
    """A clean leader keeps the live part of the ISR; an unclean one is the ISR, and recovering (KIP-704) if that is supported."""
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
    """`target`: the replicas that stay when the reassignment is done. The ISR does not change."""
    leader = reassign_partition_leader_election(target, state.isr, live)
    return ElectionResult(None if leader is None else state.new_leader(leader), tuple(target))


def leader_for_preferred_replica(
    assignment: Sequence[int], state: LeaderAndIsr, live: Collection[int]
) -> ElectionResult:
    """The ISR does not change."""
    leader = preferred_replica_leader_election(assignment, state.isr, live)
    return ElectionResult(None if leader is None else state.new_leader(leader), tuple(assignment))


def leader_for_controlled_shutdown(
    assignment: Sequence[int],
    state: LeaderAndIsr,
    live_or_shutting_down: Collection[int],
    shutting_down: Collection[int],
) -> ElectionResult:
    """Takes the brokers that shut down out of the ISR in the same step."""
    recipients = tuple(r for r in assignment if r in live_or_shutting_down)
    leader = controlled_shutdown_leader_election(assignment, state.isr, recipients, shutting_down)
    if leader is None:
        return ElectionResult(None, recipients)
    return ElectionResult(
        state.new_leader_and_isr(leader, [r for r in state.isr if r not in shutting_down]), recipients
    )
