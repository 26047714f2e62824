from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.consumer.assignors import CooperativeStickyAssignor
from kafkapy.consumer.group.consumer_protocol import decode_subscription
from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    IllegalStateError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    UnknownTopicOrPartitionError,
    WakeupException,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.runtime.completion import spawn
from kafkapy.structs import OffsetAndMetadata
from tests.consumer.group.memory_group import P0, P1, Group


class Listener(ConsumerRebalanceListener):
    def __init__(self) -> None:
        self.log: list[tuple[str, list[int]]] = []

    def _note(self, sign: str, partitions: Any) -> None:
        self.log.append((sign, sorted(p.partition for p in partitions)))

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._note("-", revoked)

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._note("+", assigned)

    def on_partitions_lost(self, lost: Any) -> None:
        self._note("lost", lost)


def commit(group: Group, offset: int = 5, within_ms: int = 2000) -> None:
    task = spawn(group.core.commit({P0: OffsetAndMetadata(offset)}, within_ms - 1))
    group.driver.result_of(task, within_ms)


def test_a_member_joins_and_gets_its_share() -> None:
    group = Group().join()
    assert group.assignment == [P0, P1]
    first, second = group.asked(ApiKey.JOIN_GROUP)
    assert (first.member_id, second.member_id) == ("", "me")
    assert [p.name for p in second.protocols] == ["range", "roundrobin"]
    assert (second.session_timeout_ms, second.rebalance_timeout_ms) == (45_000, 300_000)


def test_the_leader_assigns() -> None:
    group = Group()
    group.leads = True
    group.join()
    assert group.assignment == [P0, P1]
    assert [a.member_id for a in group.asked(ApiKey.SYNC_GROUP)[0].assignments] == ["me"]


def test_the_leader_sees_new_partitions() -> None:
    group = Group(leader=-1)
    group.leads = True
    group.join()
    group.cluster.add_topic("t", [-1, -1, -1])
    for _ in range(20):
        group.poll(100)
    assert len(group.assignment) == 3


def test_positions_come_from_commits_or_the_policy() -> None:
    group = Group()
    group.offsets[P0] = 7
    group.join()
    group.poll(500)
    assert {p: at.offset for p, at in group.core.positions().items()} == {P0: 7, P1: 10}


def test_an_old_leader_is_not_asked_for_what_was_committed_under_a_newer_one() -> None:
    """It may know less, and would say that the offset is out of range."""
    group = Group(share=[P0])
    group.offsets[P0] = 7
    group.offset_epochs[P0] = 3
    group.join()
    group.poll(2000)
    assert group.asked(ApiKey.FETCH) == group.asked(ApiKey.LIST_OFFSETS) == []
    group.cluster.add_topic("t", [0, 0], epoch=3)
    group.poll(2000)
    (request,) = group.asked(ApiKey.FETCH)
    assert [p.fetch_offset for topic in request.topics for p in topic.partitions] == [7]


def test_heartbeats_go_out_while_nobody_polls() -> None:
    group = Group(max_poll_interval_ms=60_000).join()
    group.driver.advance(30_000)
    assert len(group.asked(ApiKey.HEARTBEAT)) >= 9
    assert group.state == "stable"


def test_who_does_not_poll_leaves_and_comes_back() -> None:
    listener = Listener()
    group = Group(max_poll_interval_ms=5_000).join(listener)
    beats = len(group.asked(ApiKey.HEARTBEAT))
    group.driver.advance(6_000)
    assert len(group.asked(ApiKey.HEARTBEAT)) - beats <= 2
    assert (group.state, len(group.asked(ApiKey.LEAVE_GROUP))) == ("unjoined", 1)
    assert listener.log == [("+", [0, 1])]  # nobody is told behind his back
    sleeps = next(group.driver._ids)
    group.driver.advance(30_000)
    assert next(group.driver._ids) - sleeps < 400  # it does not spin while it is out
    assert len(group.asked(ApiKey.LEAVE_GROUP)) == 1
    with pytest.raises(CommitFailedError):
        commit(group)
    for _ in range(4):
        group.poll(100)
    assert listener.log == [("+", [0, 1]), ("lost", [0, 1]), ("+", [0, 1])]
    assert group.state == "stable"


def test_a_rebalance_waits_for_the_poll() -> None:
    listener = Listener()
    group = Group(enable_auto_commit=False).join(listener)
    group.share = [P0]
    group.errors[ApiKey.HEARTBEAT] = [Errors.REBALANCE_IN_PROGRESS]
    group.driver.advance(10_000)
    assert len(listener.log) == 1
    assert group.core.needs_poll
    for _ in range(4):
        group.poll(100)
    assert listener.log[1:] == [("-", [0, 1]), ("+", [0])]
    assert group.assignment == [P0]


def test_listeners_hear_of_an_eager_rebalance_even_if_they_lose_nothing() -> None:
    listener = Listener()
    group = Group(share=[], enable_auto_commit=False).join(listener)
    group.errors[ApiKey.HEARTBEAT] = [Errors.REBALANCE_IN_PROGRESS]
    group.driver.advance(10_000)
    for _ in range(4):
        group.poll(100)
    assert listener.log == [("+", []), ("-", []), ("+", [])]


def test_cooperative_members_give_up_only_what_moves() -> None:
    listener = Listener()
    group = Group(partition_assignment_strategy=[CooperativeStickyAssignor]).join(listener)
    group.share = [P0]
    group.errors[ApiKey.HEARTBEAT] = [Errors.REBALANCE_IN_PROGRESS]
    group.driver.advance(4_000)
    for _ in range(6):
        group.poll(100)
    assert listener.log == [("+", [0, 1]), ("-", [1]), ("+", []), ("+", [])]
    owned = [decode_subscription(r.protocols[0].metadata).owned_partitions for r in group.asked(ApiKey.JOIN_GROUP)]
    assert [[o.partitions for o in each] for each in owned] == [[], [], [[0, 1]], [[0]]]


def test_offsets_are_committed_before_partitions_go() -> None:
    group = Group().join()
    group.poll(500)
    group.core.seek(P0, 42)
    group.errors[ApiKey.HEARTBEAT] = [Errors.REBALANCE_IN_PROGRESS]
    group.driver.advance(4_000)
    group.poll(500)
    assert group.offsets[P0] == 42


def test_auto_commit_by_the_clock() -> None:
    group = Group(auto_commit_interval_ms=2000).join()
    group.poll(500)
    group.core.seek(P0, 42)
    group.poll(400)
    assert P0 not in group.offsets
    group.poll(1600)
    assert group.offsets[P0] == 42


@pytest.mark.parametrize("error", [Errors.NOT_COORDINATOR, Errors.COORDINATOR_NOT_AVAILABLE])
def test_the_coordinator_moves(error: Errors) -> None:
    group = Group(brokers=2).join()
    group.coordinator = 1
    group.errors[ApiKey.HEARTBEAT] = [error]
    group.driver.advance(4_000)
    assert group.cluster.brokers[1].asked(ApiKey.HEARTBEAT)
    assert (group.state, group.assignment) == ("stable", [P0, P1])


def test_a_cut_connection_is_not_worth_a_word() -> None:
    group = Group().join()
    group.cluster.brokers[0].cut()
    group.driver.advance(4_000)
    group.poll(100)
    commit(group)
    assert (group.state, group.offsets[P0]) == ("stable", 5)


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION])
def test_a_member_that_is_not_known_joins_anew(error: Errors) -> None:
    listener = Listener()
    group = Group().join(listener)
    group.errors[ApiKey.HEARTBEAT] = [error]
    group.driver.advance(4_000)
    for _ in range(4):
        group.poll(100)
    assert listener.log[1:] == [("lost", [0, 1]), ("+", [0, 1])]
    joined = group.asked(ApiKey.JOIN_GROUP)[2]
    assert joined.member_id == ("me" if error is Errors.ILLEGAL_GENERATION else "")


@pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION])
def test_transactions_of_a_member_that_is_not_known_are_fenced_by_its_last_generation(error: Errors) -> None:
    """Without a generation the coordinator would take offsets of partitions that another member has."""
    group = Group().join()
    assert group.core.group_metadata()[:3] == ("g", 1, "me")
    group.errors[ApiKey.HEARTBEAT] = [error]
    group.driver.advance(4_000)
    assert group.state == "unjoined"
    assert group.core.group_metadata()[:3] == ("g", 1, "me")


@pytest.mark.parametrize(
    ("api", "error"),
    [
        (ApiKey.JOIN_GROUP, Errors.COORDINATOR_LOAD_IN_PROGRESS),
        (ApiKey.JOIN_GROUP, Errors.UNKNOWN_MEMBER_ID),
        (ApiKey.JOIN_GROUP, Errors.NOT_COORDINATOR),
        (ApiKey.JOIN_GROUP, Errors.REBALANCE_IN_PROGRESS),
        (ApiKey.SYNC_GROUP, Errors.REBALANCE_IN_PROGRESS),
        (ApiKey.SYNC_GROUP, Errors.ILLEGAL_GENERATION),
        (ApiKey.SYNC_GROUP, Errors.COORDINATOR_NOT_AVAILABLE),
        (ApiKey.OFFSET_FETCH, Errors.UNSTABLE_OFFSET_COMMIT),
        (ApiKey.OFFSET_COMMIT, Errors.COORDINATOR_LOAD_IN_PROGRESS),
    ],
)
def test_errors_that_the_user_never_sees(api: ApiKey, error: Errors) -> None:
    group = Group()
    group.errors[api] = [error, error]
    group.core.subscribe(["t"], None, None)
    for _ in range(20):
        group.poll(100)
    commit(group)
    assert (group.state, group.offsets[P0]) == ("stable", 5)


@pytest.mark.parametrize("timeout_ms", [None, 500])
def test_offsets_that_stay_unstable_are_not_waited_for_without_end(timeout_ms: int | None) -> None:
    """Of a transaction that hangs, for example."""
    group = Group(request_timeout_ms=2000)
    group.errors[ApiKey.OFFSET_FETCH] = [Errors.UNSTABLE_OFFSET_COMMIT] * 1000
    found = spawn(group.core.committed([P0], timeout_ms))
    group.driver.advance((timeout_ms or 2000) - 1)
    assert not found.done
    group.driver.advance(1)
    assert isinstance(found.exception(), KafkaTimeoutError)


def test_an_error_for_the_user_comes_from_poll() -> None:
    group = Group()
    group.errors[ApiKey.JOIN_GROUP] = [Errors.GROUP_AUTHORIZATION_FAILED]
    group.core.subscribe(["t"], None, None)
    with pytest.raises(GroupAuthorizationFailedError):
        for _ in range(3):
            group.poll(100)


def test_a_broker_before_3_0_allows_30_seconds() -> None:
    group = Group()
    group.errors[ApiKey.JOIN_GROUP] = [Errors.INVALID_SESSION_TIMEOUT]
    group.join()
    assert group.asked(ApiKey.JOIN_GROUP)[-1].session_timeout_ms == 30_000


def test_static_members_stay_when_they_close() -> None:
    group = Group(group_instance_id="one").join()
    group.driver.result_of(spawn(group.core.close(True, 1000)), 1000)
    assert group.asked(ApiKey.LEAVE_GROUP) == []


def test_dynamic_members_leave_when_they_close_and_commit_first() -> None:
    group = Group().join()
    group.poll(500)
    group.core.seek(P1, 8)
    group.driver.result_of(spawn(group.core.close(True, 1000)), 1000)
    (request,) = group.asked(ApiKey.LEAVE_GROUP)
    assert [m.member_id for m in request.members] == ["me"]
    assert group.offsets[P1] == 8
    group.driver.advance(60_000)
    assert len(group.asked(ApiKey.HEARTBEAT)) <= 1


def test_closing_ends_in_time_without_a_broker() -> None:
    group = Group().join()
    group.cluster.brokers[0].silent = True
    group.driver.result_of(spawn(group.core.close(True, 1000)), 1001)
    assert group.core.closed


def test_a_fenced_static_member_tells_the_user() -> None:
    group = Group(group_instance_id="one").join()
    group.errors[ApiKey.HEARTBEAT] = [Errors.FENCED_INSTANCE_ID]
    group.driver.advance(4_000)
    with pytest.raises(FencedInstanceIdError):
        group.poll(100)


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (Errors.REBALANCE_IN_PROGRESS, RebalanceInProgressError),
        (Errors.UNKNOWN_MEMBER_ID, CommitFailedError),
        (Errors.ILLEGAL_GENERATION, CommitFailedError),
        (Errors.FENCED_INSTANCE_ID, FencedInstanceIdError),
        (Errors.GROUP_AUTHORIZATION_FAILED, GroupAuthorizationFailedError),
    ],
)
def test_commits_that_fail(error: Errors, raised: type[Exception]) -> None:
    group = Group().join()
    group.errors[ApiKey.OFFSET_COMMIT] = [error]
    with pytest.raises(raised):
        commit(group)
    assert group.core.needs_poll or error in (Errors.FENCED_INSTANCE_ID, Errors.GROUP_AUTHORIZATION_FAILED)


def test_a_commit_gives_up_in_time() -> None:
    group = Group().join()
    group.cluster.brokers[0].silent = True
    with pytest.raises(KafkaTimeoutError):
        commit(group, within_ms=500)


def test_commit_callbacks_are_called_by_the_poll() -> None:
    group = Group().join()
    seen: list[Any] = []
    group.core.commit_async({P0: OffsetAndMetadata(3)}, lambda offsets, outcome: seen.append((offsets, outcome)))
    group.driver.advance(10)
    assert (group.offsets[P0], seen) == (3, [])
    group.poll(100)
    assert seen[0][0] == {P0: OffsetAndMetadata(3)}


def test_a_failing_listener_is_heard_of_and_the_group_goes_on() -> None:
    class Failing(Listener):
        def on_partitions_assigned(self, assigned: Any) -> None:
            super().on_partitions_assigned(assigned)

    group = Group()
    group.core.subscribe(["t"], None, Failing())
    error: Exception | None = None
    for _ in range(6):
        try:
            group.driver.result_of(spawn(group.core.poll(100)), 101)
        except Exception as raised:
            error = raised
        for call in group.core.take_calls():
            call.completion.set_exception(ValueError("mine"))
            group.driver.run()
    assert isinstance(error.__cause__ if error else None, ValueError)
    assert (group.state, group.assignment) == ("stable", [P0, P1])


def test_unsubscribe_leaves() -> None:
    group = Group().join()
    group.driver.result_of(spawn(group.core.unsubscribe()), 100)
    assert (group.state, group.assignment, len(group.asked(ApiKey.LEAVE_GROUP))) == ("unjoined", [], 1)
    group.core.assign([P0])
    group.poll(100)
    assert group.asked(ApiKey.JOIN_GROUP)[2:] == []


def test_a_pattern_finds_new_topics() -> None:
    group = Group(leader=-1)
    group.leads = True
    group.core.subscribe((), "t.*", None)
    for _ in range(5):
        group.poll(100)
    assert group.assignment == [P0, P1]
    group.cluster.add_topic("t2", [-1])
    for _ in range(30):
        group.poll(100)
    assert len(group.assignment) == 3


def test_without_a_group_all_partitions_are_read() -> None:
    group = Group(group_id=None)
    group.core.subscribe(["t"], None, None)
    group.poll(100)
    assert group.assignment == [P0, P1]
    with pytest.raises(IllegalStateError):
        group.core.commit_async(None, None)


def test_health() -> None:
    group = Group().join()
    group.poll(500)
    group.core.subscriptions.state(P0).high_watermark = 30
    group.driver.advance(2_000)
    health = group.core.health()
    assert (health.assigned, health.group_state, health.coordinator) == (True, "stable", 0)
    assert (health.lag, health.partitions[P0].records, health.partitions[P1].records) == (20, 20, None)
    assert health.last_poll_seconds == 2.0


def test_after_an_outage_of_any_length_it_fetches_within_2_s() -> None:
    group = Group().join()
    group.poll(500)
    group.cluster.down.add(0)
    group.cluster.brokers[0].cut()
    group.poll(25_000)
    before = len(group.asked(ApiKey.FETCH))
    group.cluster.down.clear()
    group.poll(2_000)
    assert len(group.asked(ApiKey.FETCH)) > before


def test_a_commit_for_a_partition_that_does_not_exist() -> None:
    group = Group().join()
    group.errors[ApiKey.OFFSET_COMMIT] = [Errors.UNKNOWN_TOPIC_OR_PARTITION]
    with pytest.raises(UnknownTopicOrPartitionError, match="t-0 does not exist"):
        commit(group, within_ms=100)


def test_a_commit_that_times_out_names_its_cause() -> None:
    group = Group().join()
    group.errors[ApiKey.OFFSET_COMMIT] = [Errors.COORDINATOR_LOAD_IN_PROGRESS] * 100
    with pytest.raises(KafkaTimeoutError, match=r"timed out after 999 ms.*CoordinatorLoadInProgress"):
        commit(group, within_ms=1000)


def test_without_a_reset_policy_a_listener_may_seek() -> None:
    """Positions are asked for when it has ended, however long that takes."""
    group = Group(auto_offset_reset="none")
    group.core.subscribe(["t"], None, Listener())
    seen = []
    for _ in range(8):
        group.driver.result_of(spawn(group.core.poll(100)), 101)
        for call in group.core.take_calls():
            seen.append(call.f.__name__)
            group.driver.advance(500)
            for partition in group.assignment:
                group.core.seek(partition, 4)
            call.completion.set_result(None)
            group.driver.run()
    assert "on_partitions_assigned" in seen
    assert {p: at.offset for p, at in group.core.positions().items()} == {P0: 4, P1: 4}


def test_a_seek_puts_a_missing_position_right() -> None:
    """Also if it was found missing before."""
    group = Group(auto_offset_reset="none")
    group.core.subscribe(["t"], None, None)
    while not group.assignment:
        group.poll(0)
        group.driver.advance(1)
    group.driver.advance(100)
    assert group.core._error is not None
    for partition in (P0, P1):
        group.core.seek(partition, 4)
    group.poll(100)
    assert {p: at.offset for p, at in group.core.positions().items()} == {P0: 4, P1: 4}


def test_health_as_json_and_topics_in_trouble(caplog: pytest.LogCaptureFixture) -> None:
    group = Group()
    group.core.subscribe(["t", "nowhere"], None, None)
    for _ in range(40):
        group.poll(100)
    health = group.core.health()
    assert list(health.topics) == ["nowhere"]
    assert caplog.text.count("Topic nowhere cannot be read: This server does not host") == 1
    plain = json.loads(json.dumps(health.as_dict()))
    assert plain["partitions"]["t"]["0"]["position"] == 10
    assert plain["group_state"] == "stable"


def test_a_poll_is_woken_up() -> None:
    """The next one, if none waits; nothing is changed by it."""
    group = Group().join()
    poll = spawn(group.core.poll(5_000))
    group.driver.run()
    group.core.woken = True
    group.core.wake()
    with pytest.raises(WakeupException):
        group.driver.result_of(poll)
    group.core.woken = True
    assert group.core.needs_poll
    with pytest.raises(WakeupException):
        group.poll(100)
    assert not group.core.needs_poll
    group.poll(100)
    assert group.state == "stable"
