from __future__ import annotations

from typing import Any

import pytest

from kafkapy.coordinator.group.records import group_key, read_group_value
from kafkapy.protocol.errors import Errors
from tests.coordinator.group.group_harness import DELAY, GROUP, REBALANCE, SESSION, Harness, Reply, subscription


@pytest.fixture
def h() -> Harness:
    return Harness()


def completing(h: Harness, size: int = 2) -> tuple[str, list[str]]:
    """The leader and the others of a group that waits for its assignment."""
    joins = [h.join() for _ in range(size)]
    h.advance(2 * DELAY)
    leader = joins[0].response.leader
    return leader, [j.response.member_id for j in joins if j.response.member_id != leader]


def test_the_leaders_assignment_goes_to_everybody(h: Harness) -> None:
    leader, [early, late] = completing(h, 3)
    first = h.sync(early)
    assert not first.done
    second = h.sync(leader, assignment={leader: b"L", early: b"E"}, protocol_type="consumer", protocol_name="range")
    assert first.response.assignment == b"E"
    assert second.response.assignment == b"L"
    assert (second.response.protocol_type, second.response.protocol_name) == ("consumer", "range")
    assert h.state() == "Stable"
    assert h.sync(late).response.assignment == b""  # the leader forgot it


def test_the_assignment_is_in_the_log_before_anybody_has_it(h: Harness) -> None:
    leader, [follower] = completing(h)
    h.log.hold = True
    replies = [h.sync(follower), h.sync(leader, assignment={leader: b"L", follower: b"F"})]
    assert not any(reply.done for reply in replies)
    assert h.state() == "CompletingRebalance"
    h.log.release()
    assert [reply.response.assignment for reply in replies] == [b"F", b"L"]
    key, value = h.log.records(h.log_of())[-1]
    assert key == group_key(GROUP)
    assert value is not None
    stored = read_group_value(GROUP, value)
    assert {m.member_id: m.assignment for m in stored.members} == {leader: b"L", follower: b"F"}
    assert (stored.generation, stored.protocol, stored.leader) == (1, "range", leader)


@pytest.mark.parametrize(
    ("append_error", "error"),
    [
        (Errors.NOT_ENOUGH_REPLICAS, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.COORDINATOR_NOT_AVAILABLE),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_COORDINATOR),
        (Errors.KAFKA_STORAGE_ERROR, Errors.NOT_COORDINATOR),
        (Errors.REQUEST_TIMED_OUT, Errors.REBALANCE_IN_PROGRESS),
        (Errors.MESSAGE_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.RECORD_LIST_TOO_LARGE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.INVALID_FETCH_SIZE, Errors.UNKNOWN_SERVER_ERROR),
        (Errors.CORRUPT_MESSAGE, Errors.CORRUPT_MESSAGE),
    ],
)
def test_when_the_append_fails_everybody_is_told_and_joins_again(
    h: Harness, append_error: Errors, error: Errors
) -> None:
    leader, [follower] = completing(h)
    h.log.error = append_error
    replies = [h.sync(follower), h.sync(leader)]
    assert [reply.error for reply in replies] == [error, error]
    assert [reply.response.assignment for reply in replies] == [b"", b""]
    assert replies[0].response.protocol_name is None
    assert h.state() == "PreparingRebalance"


def test_an_append_that_comes_too_late_changes_nothing(h: Harness) -> None:
    leader, [follower] = completing(h)
    h.log.hold = True
    reply = h.sync(leader, assignment={leader: b"L"})
    h.join(follower, protocols=[("range", subscription("u"))])
    assert reply.error is Errors.REBALANCE_IN_PROGRESS
    again = h.join(leader)
    assert again.response.generation_id == 2
    h.log.release()
    assert h.state() == "CompletingRebalance"
    assert h.group().members[leader].assignment == b""


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"group_id": "nobody"}, Errors.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, Errors.INVALID_GROUP_ID),
        ({"member_id": "ghost"}, Errors.UNKNOWN_MEMBER_ID),
        ({"generation": 2}, Errors.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, Errors.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "roundrobin"}, Errors.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_refused(h: Harness, wrong: dict[str, Any], error: Errors) -> None:
    leader, _ = completing(h)
    reply = h.sync(**{"member_id": leader, **wrong})
    assert reply.error is error
    assert reply.response.assignment == b""


def test_sync_while_preparing(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    h.join(leader)
    assert h.sync(follower).error is Errors.REBALANCE_IN_PROGRESS


def test_sync_of_a_stable_member_gets_the_assignment_and_renews_its_session(h: Harness) -> None:
    [leader] = h.stable_group()
    h.advance(SESSION - 1)
    assert h.sync(leader).response.assignment == leader.encode()
    h.advance(SESSION - 1)
    assert h.state() == "Stable"


def test_a_second_sync_of_a_waiting_member_takes_the_place_of_the_first(h: Harness) -> None:
    leader, [follower] = completing(h)
    first, second = h.sync(follower), h.sync(follower)
    assert first.error is Errors.REBALANCE_IN_PROGRESS
    h.sync(leader, assignment={follower: b"F"})
    assert second.response.assignment == b"F"


# -------------------------------------------------------------------------------------------------- pending sync


def keep_alive(h: Harness, ms: int, *members: str, generation: int = 1) -> None:
    for _ in range(ms // 5_000):
        h.advance(5_000)
        for member in members:
            assert h.heartbeat(member, generation) is Errors.NONE


def test_a_member_that_never_syncs_is_dropped_after_the_rebalance_timeout(h: Harness) -> None:
    leader, [follower] = completing(h)
    h.sync(leader)
    assert h.state() == "Stable"
    keep_alive(h, REBALANCE - 5_000, leader, follower)
    h.advance(5_000)
    assert h.state() == "PreparingRebalance"
    assert h.heartbeat(leader) is Errors.REBALANCE_IN_PROGRESS
    assert h.heartbeat(follower) is Errors.UNKNOWN_MEMBER_ID


def test_a_leader_that_never_syncs_is_dropped_after_the_rebalance_timeout(h: Harness) -> None:
    leader, [follower] = completing(h)
    waiting = h.sync(follower)
    keep_alive(h, REBALANCE - 5_000, leader)
    h.advance(5_000)
    assert waiting.error is Errors.REBALANCE_IN_PROGRESS
    again = h.join(follower)
    assert again.response.leader == follower
    assert again.response.generation_id == 2


def test_nobody_is_dropped_when_all_have_synced(h: Harness) -> None:
    members = h.stable_group(2)
    keep_alive(h, 2 * REBALANCE, *members)
    assert h.state() == "Stable"


def test_the_sync_timer_of_an_old_generation_is_gone(h: Harness) -> None:
    leader, [follower] = completing(h)
    h.sync(leader)
    keep_alive(h, REBALANCE // 2, leader, follower)
    joins = [h.join(leader), h.join(follower)]
    assert [reply.response.generation_id for reply in joins] == [2, 2]
    h.sync(leader, 2)
    h.sync(follower, 2)
    keep_alive(h, REBALANCE, leader, follower, generation=2)
    assert h.state() == "Stable"


# -------------------------------------------------------------------------------------------------- heartbeats


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"group_id": "nobody"}, Errors.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, Errors.INVALID_GROUP_ID),
        ({"member_id": "ghost"}, Errors.UNKNOWN_MEMBER_ID),
        ({"generation": 0}, Errors.ILLEGAL_GENERATION),
        ({"instance": "i"}, Errors.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeat_refused(h: Harness, wrong: dict[str, Any], error: Errors) -> None:
    [leader] = h.stable_group()
    assert h.heartbeat(**{"member_id": leader, **wrong}) is error


def test_heartbeats_keep_a_member(h: Harness) -> None:
    [leader] = h.stable_group()
    keep_alive(h, 10 * SESSION, leader)
    h.advance(SESSION - 1)
    assert h.state() == "Stable"
    h.advance(1)
    assert h.state() == "Empty"


def test_a_heartbeat_costs_no_timer(h: Harness) -> None:
    [leader] = h.stable_group()
    timers = len(h.clock._tasks._queue)
    for _ in range(100):
        h.heartbeat(leader)
    assert len(h.clock._tasks._queue) == timers


def test_heartbeats_while_completing_are_fine_and_count(h: Harness) -> None:
    leader, [follower] = completing(h)
    keep_alive(h, 3 * SESSION, leader, follower)
    h.advance(SESSION)
    assert h.state() == "Empty"


def test_a_member_that_fails_starts_a_rebalance(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    h.advance(SESSION // 2)
    h.heartbeat(leader)
    h.advance(SESSION // 2)
    assert h.state() == "PreparingRebalance"
    assert h.heartbeat(follower) is Errors.UNKNOWN_MEMBER_ID
    assert h.join(leader).response.generation_id == 2


def test_the_last_member_that_fails_leaves_an_empty_generation_in_the_log(h: Harness) -> None:
    h.stable_group()
    h.advance(SESSION)
    assert h.state() == "Empty"
    _, value = h.log.records(h.log_of())[-1]
    assert value is not None
    stored = read_group_value(GROUP, value)
    assert (stored.generation, stored.protocol, stored.leader, stored.members) == (2, None, None, [])
    assert stored.protocol_type == "consumer"


def test_waiting_for_the_assignment_pauses_the_session(h: Harness) -> None:
    leader, [follower] = completing(h)
    h.log.hold = True
    replies: list[Reply] = [h.sync(follower), h.sync(leader, assignment={})]
    h.advance(3 * SESSION)
    assert len(h.group().members) == 2
    h.log.release()
    assert all(reply.error is Errors.NONE for reply in replies)
    h.advance(SESSION - 1)
    assert h.state() == "Stable"
    h.advance(1)
    assert h.state() == "Empty"


# -------------------------------------------------------------------------------------------------- leave


def test_leaving_starts_a_rebalance(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    assert h.leave(follower) == [Errors.NONE]
    assert h.heartbeat(leader) is Errors.REBALANCE_IN_PROGRESS
    assert h.join(leader).response.generation_id == 2


def test_the_last_one_to_leave_empties_the_group(h: Harness) -> None:
    [leader] = h.stable_group()
    h.leave(leader)
    assert h.state() == "Empty"
    assert h.group().generation_id == 2


def test_leaving_in_batches(h: Harness) -> None:
    one, other = h.stable_group(2)
    assert h.leave(one, "ghost", other) == [Errors.NONE, Errors.UNKNOWN_MEMBER_ID, Errors.NONE]
    assert h.state() == "Empty"


def test_leaving_unknown_groups(h: Harness) -> None:
    assert h.leave("x", group_id="nobody") == [Errors.UNKNOWN_MEMBER_ID]
    assert h.leave_group("x", group_id="").error_code == Errors.INVALID_GROUP_ID.code


def test_before_v3_the_members_error_is_on_top(h: Harness) -> None:
    from kafkapy.protocol.messages.leave_group import LeaveGroupRequest

    [leader] = h.stable_group()
    for member_id, error in ((leader, Errors.NONE), (leader, Errors.UNKNOWN_MEMBER_ID)):
        response = h.coordinator.leave_group(LeaveGroupRequest(group_id=GROUP, member_id=member_id), 2)
        assert (response.error_code, response.members) == (error.code, [])


def test_whoever_leaves_gets_its_waiting_requests_answered(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    join = h.join(leader)
    h.leave(leader)
    assert join.error is Errors.UNKNOWN_MEMBER_ID
    join = h.join(follower)
    sync = h.sync(follower, 2)
    assert sync.error is Errors.NONE  # alone, it leads

    other = Harness()
    leader, [follower] = completing(other)
    sync = other.sync(follower)
    other.leave(follower)
    assert sync.error is Errors.UNKNOWN_MEMBER_ID


def test_leaving_ends_the_wait_of_the_others(h: Harness) -> None:
    leader, follower = h.stable_group(2)
    join = h.join(leader)
    h.leave(follower)
    assert join.response.generation_id == 2
