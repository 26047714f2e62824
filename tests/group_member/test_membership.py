from __future__ import annotations

import pytest

from kafkapy.group_member.membership import (
    NO_GENERATION,
    Api,
    Event,
    Generation,
    GroupMembership,
    MembershipState,
    Verdict,
)
from kafkapy.protocol.errors import Errors

SEVEN = Generation(7, "me", "range")


def stable() -> GroupMembership:
    membership = GroupMembership()
    membership.on(Event.JOIN)
    membership.joined(SEVEN)
    assert membership.synced(SEVEN)
    return membership


def test_the_way_into_the_group() -> None:
    membership = GroupMembership()
    assert (membership.state, membership.rejoin_needed, membership.heartbeats) == (
        MembershipState.UNJOINED,
        True,
        False,
    )
    membership.on(Event.JOIN)
    assert membership.state is MembershipState.JOINING
    membership.joined(SEVEN)
    assert (membership.state, membership.heartbeats, membership.stable_generation) == (
        MembershipState.SYNCING,
        True,
        NO_GENERATION,
    )
    membership.synced(SEVEN)
    assert (membership.state, membership.rejoin_needed, membership.stable_generation) == (
        MembershipState.STABLE,
        False,
        SEVEN,
    )


def test_an_answer_of_an_earlier_life_changes_nothing() -> None:
    membership = GroupMembership()
    assert not membership.joined(SEVEN)
    assert not membership.synced(SEVEN)
    assert (membership.state, membership.generation) == (MembershipState.UNJOINED, NO_GENERATION)


def test_thrown_out_between_join_and_sync() -> None:
    membership = GroupMembership()
    membership.on(Event.JOIN)
    membership.joined(SEVEN)
    membership.judge(Api.HEARTBEAT, Errors.UNKNOWN_MEMBER_ID, SEVEN)
    assert not membership.synced(SEVEN)
    assert membership.rejoin_needed


def test_a_new_member_keeps_the_id_it_is_given() -> None:
    membership = GroupMembership()
    membership.on(Event.JOIN)
    membership.given_id("me")
    assert (membership.state, membership.generation, membership.rejoin_needed) == (
        MembershipState.UNJOINED,
        Generation(member_id="me"),
        True,
    )


@pytest.mark.parametrize(
    ("error", "verdict", "state", "generation", "rejoin"),
    [
        (Errors.NONE, Verdict.OK, MembershipState.STABLE, SEVEN, False),
        (Errors.REBALANCE_IN_PROGRESS, Verdict.AGAIN, MembershipState.STABLE, SEVEN, True),
        (Errors.NOT_COORDINATOR, Verdict.FIND_COORDINATOR, MembershipState.STABLE, SEVEN, False),
        (Errors.UNKNOWN_MEMBER_ID, Verdict.RESET_MEMBER, MembershipState.UNJOINED, NO_GENERATION, True),
        (
            Errors.ILLEGAL_GENERATION,
            Verdict.RESET_GENERATION,
            MembershipState.UNJOINED,
            Generation(member_id="me"),
            True,
        ),
        (Errors.FENCED_INSTANCE_ID, Verdict.FATAL, MembershipState.UNJOINED, NO_GENERATION, True),
        (Errors.GROUP_AUTHORIZATION_FAILED, Verdict.FATAL, MembershipState.STABLE, SEVEN, False),
    ],
)
def test_heartbeats(
    error: Errors, verdict: Verdict, state: MembershipState, generation: Generation, rejoin: bool
) -> None:
    membership = stable()
    assert membership.judge(Api.HEARTBEAT, error, SEVEN) is verdict
    assert (membership.state, membership.generation, membership.rejoin_needed) == (state, generation, rejoin)


def test_a_heartbeat_of_the_generation_before_means_nothing() -> None:
    membership = stable()
    old = Generation(6, "me", "range")
    for error in (Errors.ILLEGAL_GENERATION, Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID):
        assert membership.judge(Api.HEARTBEAT, error, old) is Verdict.OK
    assert membership.state is MembershipState.STABLE


@pytest.mark.parametrize("api", [Api.JOIN, Api.SYNC])
def test_a_failed_rebalance_starts_anew(api: Api) -> None:
    membership = stable()
    membership.on(Event.JOIN)
    assert membership.judge(api, Errors.NOT_COORDINATOR, SEVEN) is Verdict.FIND_COORDINATOR
    assert membership.state is MembershipState.UNJOINED


def test_join_errors_for_the_user() -> None:
    for error in (Errors.INCONSISTENT_GROUP_PROTOCOL, Errors.GROUP_MAX_SIZE_REACHED, Errors.FENCED_INSTANCE_ID):
        assert GroupMembership().judge(Api.JOIN, error, NO_GENERATION) is Verdict.FATAL


def test_leaving() -> None:
    membership = stable()
    membership.on(Event.LEAVE)
    assert membership.state is MembershipState.LEAVING
    membership.left("registry left the group")
    assert (membership.state, membership.generation) == (MembershipState.UNJOINED, NO_GENERATION)
