from __future__ import annotations

import pytest

from kafkapy.coordinator.group.records import read_group_value
from kafkapy.protocol.errors import Errors
from tests.coordinator.group.group_harness import DELAY, GROUP, RANGE, REBALANCE, SESSION, Harness, subscription


@pytest.fixture
def h() -> Harness:
    return Harness()


@pytest.fixture
def members(h: Harness) -> list[str]:
    """Leader i0 and follower i1 of a Stable group."""
    return h.stable_group(2, instances=True)


def instance_of(h: Harness, member_id: str) -> str:
    return h.group().members[member_id].group_instance_id or ""


def test_a_follower_comes_back_without_a_rebalance(h: Harness, members: list[str]) -> None:
    leader, follower = members
    reply = h.join(instance=instance_of(h, follower), version=5)
    response = reply.response
    assert (reply.error, response.generation_id, response.leader, response.members) == (Errors.NONE, 1, leader, [])
    assert response.member_id != follower
    assert not response.skip_assignment
    assert h.state() == "Stable"
    assert h.sync(response.member_id).response.assignment == follower.encode()
    assert h.heartbeat(follower) is Errors.UNKNOWN_MEMBER_ID
    assert h.heartbeat(leader) is Errors.NONE
    _, value = h.log.records(h.log_of())[-1]
    assert value is not None
    assert response.member_id in {m.member_id for m in read_group_value(GROUP, value).members}


def test_before_v9_a_leader_that_comes_back_is_told_its_old_id(h: Harness, members: list[str]) -> None:
    leader, _ = members
    response = h.join(instance=instance_of(h, leader), version=8).response
    assert (response.leader, response.members, response.skip_assignment) == (leader, [], False)
    assert h.group().members.leader_id == response.member_id


def test_from_v9_on_it_is_told_to_skip_the_assignment(h: Harness, members: list[str]) -> None:
    leader, follower = members
    response = h.join(instance=instance_of(h, leader), version=9).response
    assert response.leader == response.member_id
    assert response.skip_assignment
    assert {m.member_id for m in response.members} == {response.member_id, follower}
    follower_response = h.join(instance=instance_of(h, follower), version=9).response
    assert (follower_response.skip_assignment, follower_response.members) == (False, [])


def test_the_old_id_is_fenced(h: Harness, members: list[str]) -> None:
    _, old = members
    instance = instance_of(h, old)
    new = h.join(instance=instance, version=5).response.member_id
    assert h.heartbeat(old, instance=instance) is Errors.FENCED_INSTANCE_ID
    assert h.sync(old, instance=instance).error is Errors.FENCED_INSTANCE_ID
    assert h.join(old, instance=instance).error is Errors.FENCED_INSTANCE_ID
    assert h.leave((old, instance)) == [Errors.FENCED_INSTANCE_ID]
    assert h.commit({("t", 0): 1}, old, 1, instance=instance) is Errors.FENCED_INSTANCE_ID
    assert h.heartbeat(new, instance=instance) is Errors.NONE


def test_an_instance_nobody_knows(h: Harness, members: list[str]) -> None:
    assert h.heartbeat(members[0], instance="nobody") is Errors.UNKNOWN_MEMBER_ID
    assert h.leave(("", "nobody")) == [Errors.UNKNOWN_MEMBER_ID]


def test_waiting_requests_of_the_old_id_are_fenced(h: Harness, members: list[str]) -> None:
    leader, follower = members
    instance = instance_of(h, leader)
    waiting = h.join(leader, instance=instance)
    assert h.state() == "PreparingRebalance"
    again = h.join(instance=instance, version=5)
    assert waiting.error is Errors.FENCED_INSTANCE_ID
    assert waiting.response.member_id == leader
    h.join(follower, instance=instance_of(h, follower))
    assert again.response.generation_id == 2


def test_coming_back_while_completing_starts_over(h: Harness, members: list[str]) -> None:
    leader, follower = members
    joins = [h.join(leader), h.join(follower)]
    assert [reply.response.generation_id for reply in joins] == [2, 2]
    instance = instance_of(h, follower)
    waiting = h.sync(follower, 2)
    back = h.join(instance=instance, version=5)
    assert waiting.error is Errors.FENCED_INSTANCE_ID
    assert h.state() == "PreparingRebalance"
    h.join(leader)
    assert back.response.generation_id == 3


def test_a_change_of_the_groups_protocol_is_a_rebalance() -> None:
    h = Harness()
    protocols = [("range", subscription("t")), ("roundrobin", subscription("t"))]
    leader, follower = h.stable_group(2, instances=True, protocols=protocols)
    reply = h.join(instance=instance_of(h, follower), protocols=protocols[1:], version=5)
    assert not reply.done
    assert h.state() == "PreparingRebalance"
    h.join(leader, protocols=protocols)
    assert reply.response.protocol_name == "roundrobin"


def test_when_the_new_id_cannot_be_stored_the_old_one_stays(h: Harness, members: list[str]) -> None:
    leader, _ = members
    instance = instance_of(h, leader)
    h.log.error = Errors.NOT_ENOUGH_REPLICAS
    reply = h.join(instance=instance, version=9, session=20_000, protocols=[("range", subscription("u"))])
    assert reply.error is Errors.COORDINATOR_NOT_AVAILABLE
    assert (reply.response.member_id, reply.response.leader) == ("", leader)
    assert h.group().members.leader_id == leader
    assert h.group().members.static_member_id(instance) == leader
    assert h.group().members[leader].session_timeout_ms == SESSION
    assert h.group().members[leader].protocols == RANGE
    assert h.heartbeat(leader, instance=instance) is Errors.NONE
    assert h.state() == "Stable"


def test_a_rebalance_that_comes_before_the_new_id_is_stored_answers_the_join(h: Harness, members: list[str]) -> None:
    leader, follower = members
    h.log.hold = True
    back = h.join(instance=instance_of(h, follower), version=9)
    h.join(leader, instance=instance_of(h, leader))
    assert back.response.generation_id == 2
    h.log.release()
    assert h.state() == "CompletingRebalance"


def test_an_unload_that_comes_before_the_new_id_is_stored_answers_the_join(h: Harness, members: list[str]) -> None:
    h.log.hold = True
    back = h.join(instance=instance_of(h, members[1]), version=9)
    h.coordinator.on_resignation(h.coordinator.partition_for(GROUP), 2)
    assert back.error is Errors.NOT_COORDINATOR
    h.log.release()


def test_static_members_stay_through_a_rebalance_they_miss(h: Harness, members: list[str]) -> None:
    leader, follower = members
    reply = h.join(leader, session=300_000)
    h.group().members[follower].set_session(follower, 300_000)
    h.heartbeat(follower)
    h.advance(REBALANCE)
    assert reply.response.generation_id == 2
    assert {m.member_id for m in reply.response.members} == set(members)


def test_if_no_static_member_joins_the_rebalance_waits_on() -> None:
    h = Harness()
    leader, follower = h.stable_group(2, instances=True)
    for member in h.group().members:
        member.set_session(member.member_id, 300_000)
        h.heartbeat(member.member_id)
    dynamic = h.join()  # starts a rebalance that nobody but the new member joins
    new_id = next(m.member_id for m in h.group().members if m.member_id not in (leader, follower))
    h.leave(new_id)
    assert dynamic.error is Errors.UNKNOWN_MEMBER_ID
    h.advance(REBALANCE)
    assert h.state() == "PreparingRebalance"
    h.advance(REBALANCE)
    assert h.state() == "PreparingRebalance"
    join = h.join(follower)
    h.advance(REBALANCE)
    assert (join.response.generation_id, join.response.leader) == (2, follower)


def test_static_members_fail_like_others(h: Harness, members: list[str]) -> None:
    h.advance(SESSION)
    assert h.state() == "Empty"
    assert h.group().members.static_member_id("i0") is None


def test_an_administrator_removes_them_by_instance(h: Harness, members: list[str]) -> None:
    assert h.leave(("", "i0"), ("", "nobody"), ("", "i1")) == [Errors.NONE, Errors.UNKNOWN_MEMBER_ID, Errors.NONE]
    assert h.state() == "Empty"


def test_a_static_member_that_has_not_synced_yet_comes_back(h: Harness) -> None:
    joins = [h.join(instance=f"i{n}", version=5) for n in range(2)]
    h.advance(2 * DELAY)
    leader = joins[0].response.leader
    follower = next(j.response.member_id for j in joins if j.response.member_id != leader)
    h.sync(leader)
    assert h.state() == "Stable"
    back = h.join(instance=instance_of(h, follower), version=9).response.member_id
    assert h.group().members.pending_sync == {back}
    h.sync(back)
    assert h.group().members.pending_sync == set()
    assert h.timers("sync") == set()
