"""The pure rules of leader election."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderRecoveryState
from kafkapy.controller.election import (
    controlled_shutdown_leader_election,
    leader_for_controlled_shutdown,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassignment,
    offline_partition_leader_election,
    preferred_replica_leader_election,
    reassign_partition_leader_election,
)


def test_offline_takes_the_first_of_the_assignment_that_is_alive_and_in_sync() -> None:
    assert offline_partition_leader_election([2, 4], [2, 4], {4}, False) == 4
    assert offline_partition_leader_election([3, 1, 2], [2, 1], {1, 2, 3}, False) == 1


def test_offline_without_live_in_sync_replica() -> None:
    assert offline_partition_leader_election([2, 4], [2], {4}, unclean_allowed=False) is None
    assert offline_partition_leader_election([2, 4], [2], {4}, unclean_allowed=True) == 4
    assert offline_partition_leader_election([2, 4], [2], set(), unclean_allowed=True) is None


def test_reassignment_takes_the_first_of_the_target() -> None:
    assert reassign_partition_leader_election([2, 4], [2, 4], {4}) == 4
    assert reassign_partition_leader_election([2, 4], [2], {4}) is None
    assert reassign_partition_leader_election([2, 4], [4], set()) is None


def test_preferred_is_the_first_replica_or_nobody() -> None:
    assert preferred_replica_leader_election([2, 4], [2, 4], {2, 4}) == 2
    assert preferred_replica_leader_election([2, 4], [2, 4], {4}) is None
    assert preferred_replica_leader_election([2, 4], [4], {2, 4}) is None
    assert preferred_replica_leader_election([], [], set()) is None


def test_controlled_shutdown_passes_over_who_shuts_down() -> None:
    assert controlled_shutdown_leader_election([2, 4], [2, 4], {2, 4}, {2}) == 4
    assert controlled_shutdown_leader_election([2, 4], [2], {2, 4}, {2}) is None
    assert controlled_shutdown_leader_election([2, 4], [2, 4], {2, 4}, {2, 4}) is None


STATE = LeaderAndIsr(leader=1, isr=(1, 2, 3), leader_epoch=7, partition_epoch=9)


def test_state_after_clean_election() -> None:
    result = leader_for_offline((1, 2, 3), STATE, {3, 2}, False)
    assert result.leader_and_isr == LeaderAndIsr(2, (2, 3), 8, LeaderRecoveryState.RECOVERED, 9)
    assert result.recipients == (2, 3)


def test_state_after_unclean_election_is_recovering_with_the_leader_alone() -> None:
    result = leader_for_offline((1, 2, 3, 4, 5), STATE, {4, 5}, True)
    assert result.leader_and_isr == LeaderAndIsr(4, (4,), 8, LeaderRecoveryState.RECOVERING, 9)
    assert result.recipients == (4, 5)
    assert leader_for_offline((1, 2, 3, 4, 5), STATE, {4, 5}, False).leader_and_isr is None


def test_state_after_reassignment_and_preferred_election_keeps_the_isr() -> None:
    result = leader_for_reassignment((3, 2), STATE, {1, 2, 3})
    assert result.leader_and_isr == LeaderAndIsr(3, (1, 2, 3), 8, partition_epoch=9)
    assert result.recipients == (3, 2)
    result = leader_for_preferred_replica((2, 1, 3), STATE, {1, 2, 3})
    assert result.leader_and_isr == LeaderAndIsr(2, (1, 2, 3), 8, partition_epoch=9)
    assert result.recipients == (2, 1, 3)


def test_state_after_controlled_shutdown() -> None:
    result = leader_for_controlled_shutdown((1, 2, 3), STATE, {1, 2}, {1})
    assert result.leader_and_isr == LeaderAndIsr(2, (2, 3), 8, partition_epoch=9)
    assert result.recipients == (1, 2)
    assert leader_for_controlled_shutdown((1, 2, 3), STATE, {1}, {1}).leader_and_isr is None


brokers = st.integers(0, 5)


@settings(max_examples=200)
@given(
    assignment=st.lists(brokers, min_size=1, unique=True),
    in_sync=st.sets(brokers, min_size=1),
    live=st.sets(brokers),
    unclean=st.booleans(),
)
def test_an_elected_leader_is_assigned_and_alive_and_clean_unless_allowed(
    assignment: list[int], in_sync: set[int], live: set[int], unclean: bool
) -> None:
    isr = tuple(r for r in assignment if r in in_sync) or (assignment[0],)
    state = LeaderAndIsr(-1, isr, 3)
    elected = leader_for_offline(assignment, state, live, unclean).leader_and_isr
    clean_possible = not live.isdisjoint(isr)
    if elected is None:
        assert not clean_possible and not (unclean and live.intersection(assignment))
        return
    assert elected.leader in assignment and elected.leader in live
    assert elected.leader in elected.isr and elected.leader_epoch == 4
    assert set(elected.isr) <= live
    assert (elected.leader_recovery_state is LeaderRecoveryState.RECOVERED) == clean_possible
