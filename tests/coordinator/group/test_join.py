from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.runtime.completion import Completion
from tests.coordinator.group.group_harness import DELAY, REBALANCE, SESSION, Harness, Reply, subscription


@pytest.fixture
def h() -> Harness:
    return Harness()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"group_id": ""}, Errors.INVALID_GROUP_ID),
        ({"session": 5_999}, Errors.INVALID_SESSION_TIMEOUT),
        ({"session": 1_800_001}, Errors.INVALID_SESSION_TIMEOUT),
        ({"member_id": "ghost"}, Errors.UNKNOWN_MEMBER_ID),
        ({"protocols": []}, Errors.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, Errors.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_refused_at_once(h: Harness, wrong: dict[str, Any], error: Errors) -> None:
    reply = h.join(**wrong)
    assert reply.error is error
    assert reply.response.generation_id == -1
    assert reply.response.protocol_name is None
    assert reply.response.leader == ""
    assert reply.response.member_id == wrong.get("member_id", "")


def test_first_generation_after_the_initial_delay(h: Harness) -> None:
    reply = h.join()
    h.advance(DELAY - 1)
    assert not reply.done
    assert h.state() == "PreparingRebalance"
    h.advance(1)
    response = reply.response
    assert reply.error is Errors.NONE
    assert (response.generation_id, response.protocol_type, response.protocol_name) == (1, "consumer", "range")
    assert response.leader == response.member_id
    assert response.member_id.startswith("client-")
    assert [m.member_id for m in response.members] == [response.member_id]
    assert response.members[0].metadata == subscription("t")
    assert not response.skip_assignment
    assert h.state() == "CompletingRebalance"


def test_initial_delay_is_prolonged_while_members_come(h: Harness) -> None:
    replies = [h.join()]
    h.advance(DELAY - 1)
    replies.append(h.join())
    h.advance(DELAY)
    assert not any(reply.done for reply in replies)
    replies.append(h.join())
    h.advance(DELAY)
    assert not any(reply.done for reply in replies)
    h.advance(DELAY)
    assert {reply.response.generation_id for reply in replies} == {1}
    assert sum(len(reply.response.members) for reply in replies) == 3


def test_initial_delay_is_never_longer_than_the_rebalance_timeout(h: Harness) -> None:
    first = h.join(rebalance=7_000)
    for _ in range(6):
        h.advance(1_000)
        h.join(rebalance=7_000)
        assert not first.done
    h.advance(1_000)
    assert first.done


def test_no_initial_delay_for_an_empty_group_with_delay_zero() -> None:
    h = Harness(config=GroupConfig(initial_rebalance_delay_ms=0))
    reply = h.join()
    h.advance(0)
    assert reply.error is Errors.NONE


def test_v4_gets_its_id_first(h: Harness) -> None:
    first = h.join(version=4)
    assert first.error is Errors.MEMBER_ID_REQUIRED
    member_id = first.response.member_id
    assert member_id.startswith("client-")
    second = h.join(member_id, version=4)
    h.advance(DELAY)
    assert second.error is Errors.NONE
    assert second.response.member_id == member_id


def test_a_static_member_needs_no_second_round(h: Harness) -> None:
    reply = h.join(version=5, instance="i")
    h.advance(DELAY)
    assert reply.error is Errors.NONE
    assert reply.response.member_id.startswith("i-")
    assert reply.response.members[0].group_instance_id == "i"


def test_an_id_that_nobody_joins_with_is_forgotten_after_the_session_timeout(h: Harness) -> None:
    member_id = h.join(version=4).response.member_id
    h.advance(SESSION)
    assert h.join(member_id, version=4).error is Errors.UNKNOWN_MEMBER_ID


def test_the_join_phase_waits_for_pending_members(h: Harness) -> None:
    [leader] = h.stable_group()
    pending = h.join(version=4).response.member_id
    assert h.state() == "Stable"
    again = h.join(leader)
    assert not again.done
    late = h.join(pending, version=4)
    assert again.response.generation_id == late.response.generation_id == 2


def test_the_join_phase_goes_on_when_a_pending_member_leaves(h: Harness) -> None:
    [leader] = h.stable_group()
    pending = h.join(version=4).response.member_id
    again = h.join(leader)
    assert h.leave(pending) == [Errors.NONE]
    assert again.response.generation_id == 2


def test_rebalance_timeout_of_v0_is_the_session_timeout(h: Harness) -> None:
    h.join(version=0, rebalance=-1)
    assert h.group().members.rebalance_timeout_ms == SESSION


def test_another_protocol_type_or_no_common_protocol(h: Harness) -> None:
    [leader] = h.stable_group(protocols=[("range", b"")])
    assert h.join(protocol_type="connect").error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert h.join(protocols=[("roundrobin", b"")]).error is Errors.INCONSISTENT_GROUP_PROTOCOL
    # A single member may change all of its protocols only together with the others.
    assert h.join(leader, protocols=[("roundrobin", b"")]).error is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert h.state() == "Stable"


def test_an_empty_group_takes_any_protocol_type(h: Harness) -> None:
    [leader] = h.stable_group()
    h.leave(leader)
    assert h.state() == "Empty"
    reply = h.join(protocol_type="connect", protocols=[("sessioned", b"x")])
    h.advance(DELAY)
    assert (reply.response.protocol_type, reply.response.protocol_name) == ("connect", "sessioned")


def test_a_protocol_named_twice_counts_once(h: Harness) -> None:
    reply = h.join(protocols=[("range", b"1"), ("range", b"2")])
    h.advance(DELAY)
    assert reply.response.protocol_name == "range"


def test_most_votes_win_among_the_common_protocols(h: Harness) -> None:
    replies = [
        h.join(protocols=[("a", b""), ("b", b""), ("c", b"")]),
        h.join(protocols=[("c", b""), ("b", b"")]),
        h.join(protocols=[("d", b""), ("b", b""), ("c", b"")]),
    ]
    h.advance(2 * DELAY)
    assert {reply.response.protocol_name for reply in replies} == {"b"}


# -------------------------------------------------------------------------------------------------- known members


def test_leader_of_a_stable_group_starts_a_rebalance(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    first = h.join(leader)
    assert h.state() == "PreparingRebalance"
    assert h.heartbeat(follower) is Errors.REBALANCE_IN_PROGRESS
    second = h.join(follower)
    assert first.response.generation_id == second.response.generation_id == 2
    assert len(first.response.members) == 2
    assert second.response.members == []


def test_unchanged_follower_of_a_stable_group_gets_the_generation_again(h: Harness) -> None:
    _, follower = h.stable_group(2)
    reply = h.join(follower)
    assert (reply.error, reply.response.generation_id, reply.response.members) == (Errors.NONE, 1, [])
    assert h.state() == "Stable"


def test_changed_follower_of_a_stable_group_starts_a_rebalance(h: Harness) -> None:
    _, follower = h.stable_group(2)
    reply = h.join(follower, protocols=[("range", subscription("t", "u"))])
    assert not reply.done
    assert h.state() == "PreparingRebalance"


def test_unchanged_member_gets_its_lost_answer_again_while_completing(h: Harness) -> None:
    joins = [h.join(), h.join()]
    h.advance(2 * DELAY)
    assert h.state() == "CompletingRebalance"
    leader = joins[0].response.leader
    for reply in joins:
        again = h.join(reply.response.member_id)
        assert again.response == reply.response
        assert len(again.response.members) == (2 if again.response.member_id == leader else 0)


def test_changed_member_while_completing_starts_over_and_sync_is_told(h: Harness) -> None:
    joins = [h.join(), h.join()]
    h.advance(2 * DELAY)
    one, other = (reply.response.member_id for reply in joins)
    waiting = h.sync(other if joins[0].response.leader == one else one)
    assert not waiting.done
    h.join(one, protocols=[("range", subscription("u"))])
    assert waiting.error is Errors.REBALANCE_IN_PROGRESS
    assert waiting.response.assignment == b""
    assert h.state() == "PreparingRebalance"


def test_members_that_do_not_join_again_are_dropped_after_the_rebalance_timeout(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    reply = h.join(leader)
    for _ in range(REBALANCE // 5_000 - 1):
        h.advance(5_000)
        assert h.heartbeat(follower) is Errors.REBALANCE_IN_PROGRESS
    assert not reply.done
    h.advance(5_000)
    assert reply.response.generation_id == 2
    assert len(reply.response.members) == 1
    assert h.heartbeat(follower) is Errors.UNKNOWN_MEMBER_ID


def test_the_lead_passes_to_a_member_that_joined(h: Harness) -> None:
    leader, *followers = h.stable_group(3)
    replies = [h.join(follower, protocols=[("range", subscription("u"))]) for follower in followers]
    h.advance(SESSION)  # the leader is silent
    assert {reply.response.leader for reply in replies} == {followers[0]}
    assert h.heartbeat(leader) is Errors.UNKNOWN_MEMBER_ID


def test_a_second_request_of_a_waiting_member_takes_the_place_of_the_first(h: Harness) -> None:
    leader, _ = h.stable_group(2)
    first = h.join(leader)
    second = h.join(leader)
    assert first.error is Errors.REBALANCE_IN_PROGRESS
    h.advance(SESSION)
    assert second.response.generation_id == 2


def test_new_members_wait_five_minutes_and_are_dropped(h: Harness) -> None:
    [leader] = h.stable_group()
    new = h.join(rebalance=NEW_MEMBER_JOIN_TIMEOUT_MS + 50_000, session=SESSION)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000 - 1):
        h.advance(5_000)
        assert h.heartbeat(leader) is Errors.REBALANCE_IN_PROGRESS
    assert not new.done
    h.advance(5_000)
    assert new.error is Errors.UNKNOWN_MEMBER_ID
    assert new.response.member_id == ""
    assert len(h.group().members) == 1


def test_a_waiting_member_need_not_send_heartbeats(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    reply = h.join(leader)
    for _ in range(6):
        h.advance(SESSION - 1)
        h.heartbeat(follower)
    h.advance(6)
    assert reply.response.generation_id == 2
    h.advance(SESSION - 1)
    assert h.heartbeat(leader, 2) is Errors.NONE
    h.advance(SESSION)
    assert h.state() == "Empty"


# -------------------------------------------------------------------------------------------------- group.max.size


def small() -> Harness:
    return Harness(config=GroupConfig(max_size=2))


def test_a_full_group_takes_nobody() -> None:
    h = small()
    members = h.stable_group(2)
    reply = h.join()
    assert reply.error is Errors.GROUP_MAX_SIZE_REACHED
    assert reply.response.member_id == ""
    assert h.join(members[1]).error is Errors.NONE


def test_a_full_join_phase_takes_nobody() -> None:
    h = small()
    joins = [h.join() for _ in range(3)]
    assert joins[2].error is Errors.GROUP_MAX_SIZE_REACHED
    h.advance(2 * DELAY)
    assert [reply.error for reply in joins[:2]] == [Errors.NONE, Errors.NONE]


def test_late_members_of_an_overfull_group_have_to_go() -> None:
    big = Harness()
    members = big.stable_group(3)
    h = Harness(log=big.log, config=GroupConfig(max_size=2))
    assert h.state() == "PreparingRebalance"
    first = [h.join(member) for member in members[:2]]
    late = h.join(members[2])
    assert late.error is Errors.GROUP_MAX_SIZE_REACHED
    assert [reply.error for reply in first] == [Errors.NONE, Errors.NONE]
    assert first[0].response.generation_id == 2


# -------------------------------------------------------------------------------------------------- answers


def test_a_client_whose_next_request_is_handled_while_it_is_answered(h: Harness) -> None:
    """The network handles a pipelined request as soon as the answer before it is out: the group must be complete then."""
    seen: list[Errors] = []

    class Eager(Reply):
        def __call__(self, response: object) -> None:
            super().__call__(response)
            seen.append(h.leave(self.response.member_id)[0])

    def read(reply: Reply, answer: Completion[JoinGroupResponse]) -> None:
        reply(answer.result())

    eager, patient = Eager(), Reply()
    for reply in (eager, patient):
        request = JoinGroupRequest(
            group_id="group",
            session_timeout_ms=SESSION,
            rebalance_timeout_ms=REBALANCE,
            protocol_type="consumer",
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        h.coordinator.join_group(request, 3, "client", "/127.0.0.1").add_callback(partial(read, reply))
    h.advance(2 * DELAY)
    assert seen == [Errors.NONE]
    assert patient.response.generation_id == 1
    assert h.state() == "PreparingRebalance"
    assert h.join(patient.response.member_id).response.generation_id == 2


def test_a_reply_that_fails_does_not_keep_others_from_theirs(h: Harness) -> None:
    def broken(answer: object) -> None:
        raise OSError("no more")

    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=SESSION,
        rebalance_timeout_ms=REBALANCE,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
    )
    h.coordinator.join_group(request, 3, "client", "/127.0.0.1").add_callback(broken)
    other = h.join()
    h.advance(2 * DELAY)
    assert other.error is Errors.NONE
