"""The machine of a group alone: every event in every state, and the effects it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.group_events import Commit, Join
from kafkapy.coordinator.group.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    TRANSITIONS,
    ClassicGroupState,
)
from kafkapy.coordinator.group.joining import NEW_MEMBER_JOIN_TIMEOUT_MS
from kafkapy.coordinator.group.offsets import GroupOffset
from kafkapy.coordinator.runtime.effects import CancelTimer, Effect, Reply, StartTimer, Write
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.coordinator.group.group_harness import REBALANCE, SESSION, subscription

NOW = 1_000
DELAY = 3_000
T0 = TopicPartition("t", 0)
BATCH = b"a batch"


def nobody(response: object) -> None:
    raise AssertionError("a machine calls nobody")


def joining(member_id: str = "", new_id: str = "n", topic: str = "t", instance: str | None = None) -> Join:
    protocols = [("range", subscription(topic))]
    return Join(
        member_id, instance, new_id, False, True, "client", "/h", REBALANCE, SESSION, "consumer", protocols, "why", nobody
    )  # fmt: skip


def syncing(member_id: str, generation: int = 1) -> SyncGroupRequest:
    assigned = [SyncGroupRequest.SyncGroupRequestAssignment(member_id=m, assignment=m.encode()) for m in "ab"]
    return SyncGroupRequest(member_id=member_id, generation_id=generation, assignments=assigned)


def committing(member_id: str = "", generation: int = -1, producer_id: int = -1) -> Commit:
    offsets = {T0: GroupOffset(5, -1, "", NOW)}
    return Commit(member_id, None, generation, offsets, producer_id, 0, batch=BATCH)


def leaving(member_id: str) -> list[LeaveGroupRequest.MemberIdentity]:
    return [LeaveGroupRequest.MemberIdentity(member_id=member_id)]


def group_in(state: ClassicGroupState) -> ClassicGroup:
    """With the leader a and the follower b, unless it is Empty or Dead; PreparingRebalance: a has joined again."""
    group = ClassicGroup("g", GroupConfig(initial_rebalance_delay_ms=DELAY), NOW)
    if state in (EMPTY, DEAD):
        if state is DEAD:
            group.on_unloaded(NOW)
        return group
    group.join(joining(new_id="a"), NOW)
    group.join(joining(new_id="b"), NOW)
    group.timer_fired("rebalance", "", NOW)  # b has prolonged it
    group.timer_fired("rebalance", "", NOW)
    if state is not COMPLETING_REBALANCE:
        group.sync(syncing("b"), nobody)
        [*_, write] = group.sync(syncing("a"), nobody)
        assert isinstance(write, Write)
        group.written(write.then, Errors.NONE, 0, NOW)
    if state is PREPARING_REBALANCE:
        group.join(joining("a"), NOW)
    assert group.is_in(state)
    return group


def told(effects: Iterable[Effect]) -> list[str]:
    """The effects in short."""
    lines = []
    for effect in effects:
        match effect:
            case Reply(_, dict() as errors):
                lines.append(f"reply {errors[T0].name}")
            case Reply(to, response):
                assert to is nobody
                lines.append(f"reply {Errors.for_code(getattr(response, 'error_code', 0)).name}")
            case StartTimer(timer, of, delay_ms):
                lines.append(f"start {timer} {of} {delay_ms}".replace("  ", " "))
            case CancelTimer(timer, of):
                lines.append(f"cancel {timer} {of}".rstrip())
            case Write(_, then):
                lines.append(f"write {type(then).__name__}")
    return lines


Event = Callable[[ClassicGroup], Any]

EVENTS: dict[str, Event] = {
    "a new member joins": lambda g: g.join(joining(), NOW),
    "the follower joins again": lambda g: g.join(joining("b"), NOW),
    "the follower joins, changed": lambda g: g.join(joining("b", topic="u"), NOW),
    "the leader joins again": lambda g: g.join(joining("a"), NOW),
    "the follower syncs": lambda g: g.sync(syncing("b"), nobody),
    "the leader syncs": lambda g: g.sync(syncing("a"), nobody),
    "a heartbeat": lambda g: g.heartbeat("b", None, 1),
    "the follower leaves": lambda g: g.leave(leaving("b"), NOW),
    "the follower commits": lambda g: g.commit(committing("b", 1)),
    "nobody's member commits": lambda g: g.commit(committing()),
    "the follower is silent": lambda g: g.timer_fired("heartbeat", "b", NOW),
    "the join time is over": lambda g: g.timer_fired("rebalance", "", NOW),
    "the sync time is over": lambda g: g.timer_fired("sync", "", NOW),
    "another coordinator": lambda g: g.on_unloaded(NOW),
}

HEARTBEAT_B, NEW = f"start heartbeat b {SESSION}", f"start heartbeat n {NEW_MEMBER_JOIN_TIMEOUT_MS}"
JOIN, SYNC = f"start rebalance {REBALANCE}", f"start sync {REBALANCE}"
DROP_B = ["reply UNKNOWN_MEMBER_ID", "cancel heartbeat b"]
GONE = ["cancel rebalance", "cancel sync", "cancel heartbeat a", "cancel heartbeat b"]
UNKNOWN: tuple[ClassicGroupState, list[str]] = (EMPTY, ["reply UNKNOWN_MEMBER_ID"])
ALL_JOINED = ["cancel rebalance", "reply NONE", f"start heartbeat a {SESSION}", "reply NONE", HEARTBEAT_B, SYNC]
A_JOINED = ["cancel rebalance", "reply NONE", f"start heartbeat a {SESSION}", SYNC]
P, C, S = PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE

TABLE: dict[str, dict[ClassicGroupState, tuple[ClassicGroupState, list[str]]]] = {
    "a new member joins": {
        EMPTY: (P, [NEW, "cancel sync", f"start rebalance {DELAY}"]),
        P: (P, [NEW]),
        C: (P, [NEW, "cancel sync", JOIN]),
        S: (P, [NEW, "cancel sync", JOIN]),
    },
    "the follower joins again": {
        EMPTY: UNKNOWN,
        P: (C, ALL_JOINED),
        C: (C, ["reply NONE"]),
        S: (S, ["reply NONE"]),
    },
    "the follower joins, changed": {
        EMPTY: UNKNOWN,
        P: (C, ALL_JOINED),
        C: (P, ["cancel sync", JOIN]),
        S: (P, ["cancel sync", JOIN]),
    },
    "the leader joins again": {
        EMPTY: UNKNOWN,
        P: (P, ["reply REBALANCE_IN_PROGRESS"]),
        C: (C, ["reply NONE"]),
        S: (P, ["cancel sync", JOIN]),
    },
    "the follower syncs": {
        EMPTY: UNKNOWN,
        P: (P, ["reply REBALANCE_IN_PROGRESS"]),
        C: (C, []),
        S: (S, ["cancel sync", "reply NONE", HEARTBEAT_B]),
    },
    "the leader syncs": {
        EMPTY: UNKNOWN,
        P: (P, ["reply REBALANCE_IN_PROGRESS"]),
        C: (C, ["write NewAssignment"]),
        S: (S, ["cancel sync", "reply NONE", f"start heartbeat a {SESSION}"]),
    },
    "a heartbeat": {
        EMPTY: (EMPTY, ["UNKNOWN_MEMBER_ID"]),
        P: (P, ["REBALANCE_IN_PROGRESS", HEARTBEAT_B]),
        C: (C, ["NONE", HEARTBEAT_B]),
        S: (S, ["NONE", HEARTBEAT_B]),
    },
    "the follower leaves": {
        EMPTY: (EMPTY, ["UNKNOWN_MEMBER_ID"]),
        P: (C, ["NONE", "cancel heartbeat b", *A_JOINED]),
        C: (P, ["NONE", "cancel heartbeat b", "cancel sync", JOIN]),
        S: (P, ["NONE", "cancel heartbeat b", "cancel sync", JOIN]),
    },
    "the follower commits": {
        EMPTY: (EMPTY, ["reply UNKNOWN_MEMBER_ID"]),
        P: (P, [HEARTBEAT_B, "write Commit"]),
        C: (C, ["reply REBALANCE_IN_PROGRESS"]),
        S: (S, [HEARTBEAT_B, "write Commit"]),
    },
    "nobody's member commits": {
        EMPTY: (EMPTY, ["write Commit"]),
        P: (P, ["reply UNKNOWN_MEMBER_ID"]),
        C: (C, ["reply UNKNOWN_MEMBER_ID"]),
        S: (S, ["reply UNKNOWN_MEMBER_ID"]),
    },
    "the follower is silent": {
        P: (C, ["cancel heartbeat b", *A_JOINED]),
        C: (P, ["cancel heartbeat b", "cancel sync", JOIN]),
        S: (P, ["cancel heartbeat b", "cancel sync", JOIN]),
    },
    "the join time is over": {P: (C, ["cancel rebalance", "cancel heartbeat b", *A_JOINED[1:]])},
    "the sync time is over": {C: (P, ["cancel sync", "cancel rebalance"]), S: (S, [])},
    "another coordinator": {
        EMPTY: (DEAD, GONE[:2]),
        P: (DEAD, [*GONE, "reply NOT_COORDINATOR"]),
        C: (DEAD, GONE),
        S: (DEAD, GONE),
    },
}


@pytest.mark.parametrize(("event", "state"), [(event, state) for event, row in TABLE.items() for state in row])
def test_every_event_in_every_state(event: str, state: ClassicGroupState) -> None:
    group = group_in(state)
    after, expected = TABLE[event][state]
    result = EVENTS[event](group)
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], (Errors, list)):
        error, effects = result
        lines = [(error[0] if isinstance(error, list) else error).name, *told(effects)]
    else:
        lines = told(result)
    if event == "the sync time is over" and state is COMPLETING_REBALANCE:
        assert {"cancel heartbeat a", "cancel heartbeat b", "write EmptyGeneration"} <= set(lines)
        after = EMPTY  # nobody had synced, nobody is left
    else:
        assert lines == expected
    assert group.state is after
    assert group.take_effects() == []


def committed(effects: Iterable[Effect]) -> str:
    [reply] = [effect for effect in effects if isinstance(effect, Reply)]
    assert isinstance(reply.response, dict)
    error: Errors = reply.response[T0]
    return error.name


@pytest.mark.parametrize("target", ClassicGroupState)
@pytest.mark.parametrize("state", ClassicGroupState)
def test_there_is_no_way_but_those_of_the_table(state: ClassicGroupState, target: ClassicGroupState) -> None:
    group = ClassicGroup("g", GroupConfig(), 1, state)
    if target in TRANSITIONS[state]:
        group.transition_to(target, 2)
        assert (group.state, group.state_timestamp) == (target, 2)
    else:
        with pytest.raises(AssertionError):
            group.transition_to(target, 2)
        assert (group.state, group.state_timestamp) == (state, 1)


def test_the_transitions() -> None:
    assert {EMPTY: {P, DEAD}, P: {C, EMPTY, DEAD}, C: {S, P, DEAD}, S: {P, DEAD}, DEAD: {DEAD}} == TRANSITIONS


# -------------------------------------------------------------------------------------------------- writes


def leaders_write(group: ClassicGroup) -> Write:
    [*_, write] = group.sync(syncing("a"), nobody)
    assert isinstance(write, Write)
    return write


def test_an_assignment_is_given_out_when_it_is_written() -> None:
    group = group_in(COMPLETING_REBALANCE)
    group.sync(syncing("b"), nobody)
    write = leaders_write(group)
    assert write.base_sequence == -1
    effects = group.written(write.then, Errors.NONE, 0, NOW + 1)
    responses = [effect.response for effect in effects if isinstance(effect, Reply)]
    assert [response.assignment for response in responses if isinstance(response, SyncGroupResponse)] == [b"a", b"b"]
    assert len(responses) == 2
    assert (group.state, group.state_timestamp) == (STABLE, NOW + 1)


def test_an_assignment_that_is_not_written_is_a_rebalance() -> None:
    group = group_in(COMPLETING_REBALANCE)
    write = leaders_write(group)
    assert told(group.written(write.then, Errors.NOT_LEADER_OR_FOLLOWER, -1, NOW)) == [
        "reply NOT_COORDINATOR",
        f"start heartbeat a {SESSION}",
        "cancel sync",
        JOIN,
    ]
    assert group.is_in(PREPARING_REBALANCE)


@pytest.mark.parametrize("between", ["a new member joins", "the follower leaves", "another coordinator"])
def test_an_assignment_that_comes_too_late_has_no_effect(between: str) -> None:
    group = group_in(COMPLETING_REBALANCE)
    write = leaders_write(group)
    EVENTS[between](group)
    state = group.state
    assert told(group.written(write.then, Errors.NONE, 0, NOW)) == []
    assert group.state is state


def test_a_static_member_comes_back() -> None:
    group = ClassicGroup("g", GroupConfig(initial_rebalance_delay_ms=0), NOW)
    group.join(joining(new_id="a", instance="i"), NOW)
    group.timer_fired("rebalance", "", NOW)
    group.written(leaders_write(group).then, Errors.NONE, 0, NOW)
    effects = group.join(joining(new_id="z", instance="i"), NOW)
    assert told(effects) == ["cancel heartbeat a", f"start heartbeat z {SESSION}", "write ReplacedMember"]
    write = effects[-1]
    assert isinstance(write, Write)
    failed = group.written(write.then, Errors.NOT_ENOUGH_REPLICAS, -1, NOW)
    assert told(failed) == ["reply COORDINATOR_NOT_AVAILABLE", "cancel heartbeat z", f"start heartbeat a {SESSION}"]
    assert (group.members.leader_id, group.state) == ("a", STABLE)


def test_an_id_that_is_given_out_has_a_timer_until_somebody_joins_with_it() -> None:
    group = group_in(EMPTY)
    first = joining(new_id="n")
    first.require_known_member_id = True
    assert told(group.join(first, NOW)) == [f"start pending member n {SESSION}", "reply MEMBER_ID_REQUIRED"]
    assert group.is_in(EMPTY)
    assert told(group.join(joining("n"), NOW))[0] == "cancel pending member n"
    assert group.is_in(PREPARING_REBALANCE)


# -------------------------------------------------------------------------------------------------- offsets


def commit(group: ClassicGroup, event: Commit) -> Write:
    [*_, write] = group.commit(event)
    assert isinstance(write, Write)
    return write


@pytest.mark.parametrize("error", [Errors.NONE, Errors.MESSAGE_TOO_LARGE])
def test_a_commit_counts_when_it_is_written(error: Errors) -> None:
    group = group_in(EMPTY)
    write = commit(group, committing())
    assert write.records == BATCH
    assert group.offsets.is_pending(T0)
    answer = committed(group.written(write.then, error, 7, NOW))
    assert answer == ("NONE" if error is Errors.NONE else "INVALID_COMMIT_OFFSET_SIZE")
    assert not group.offsets.is_pending(T0)
    assert (group.offsets.get(T0) is not None) == (error is Errors.NONE)


def test_a_commit_in_a_transaction_counts_when_that_is_committed() -> None:
    group = group_in(STABLE)
    write = commit(group, committing("b", 1, producer_id=9))
    assert committed(group.written(write.then, Errors.NONE, 7, NOW)) == "NONE"
    assert (group.offsets.get(T0), group.offsets.is_pending(T0)) == (None, True)
    group.offsets.complete_transaction(9, commit=True)
    assert group.offsets.get(T0) is not None


def test_the_last_offset_to_go_takes_an_empty_group_along() -> None:
    group = group_in(EMPTY)
    group.written(commit(group, committing()).then, Errors.NONE, 7, NOW)
    retention = OffsetConfig().retention_ms
    assert group.expire_offsets(NOW + retention - 1) == (0, [])
    count, effects = group.expire_offsets(NOW + retention)
    assert (count, told(effects), group.state) == (1, ["write Tombstones"], DEAD)
    [write] = effects
    assert isinstance(write, Write)
    assert not isinstance(write.records, bytes)
    assert [value for _, value in write.records] == [None]
    assert told(group.written(write.then, Errors.REQUEST_TIMED_OUT, -1, NOW)) == []


def test_a_deleted_group_leaves_tombstones_and_no_timers() -> None:
    group = group_in(STABLE)
    group.leave(leaving("a"), NOW)
    group.leave(leaving("b"), NOW)
    assert group.is_in(EMPTY)
    assert told(group.delete(NOW)) == ["cancel rebalance", "cancel sync", "write Tombstones"]
    assert group.is_in(DEAD)
