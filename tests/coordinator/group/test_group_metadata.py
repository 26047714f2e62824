from __future__ import annotations

import pytest
from group_harness import subscription

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.consumer_protocol import subscribed_topics
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.coordinator.group.group_offsets import GroupOffsets, OffsetAndMetadata
from kafkapy.coordinator.group.group_state import TRANSITIONS, GroupState
from kafkapy.coordinator.group.member_metadata import MemberMetadata, Protocols

EMPTY = GroupState.EMPTY
PREPARING = GroupState.PREPARING_REBALANCE
COMPLETING = GroupState.COMPLETING_REBALANCE
STABLE = GroupState.STABLE
DEAD = GroupState.DEAD

ALLOWED = {
    (EMPTY, PREPARING),
    (EMPTY, DEAD),
    (PREPARING, COMPLETING),
    (PREPARING, EMPTY),
    (PREPARING, DEAD),
    (COMPLETING, STABLE),
    (COMPLETING, PREPARING),
    (COMPLETING, DEAD),
    (STABLE, PREPARING),
    (STABLE, DEAD),
    (DEAD, DEAD),
}


@pytest.mark.parametrize("target", GroupState)
@pytest.mark.parametrize("state", GroupState)
def test_transitions(state: GroupState, target: GroupState) -> None:
    group = GroupMetadata("g", state, 1)
    if (state, target) in ALLOWED:
        group.transition_to(target, 2)
        assert (group.state, group.state_timestamp) == (target, 2)
    else:
        with pytest.raises(AssertionError):
            group.transition_to(target, 2)
        assert (group.state, group.state_timestamp) == (state, 1)


def test_the_table_has_all_states() -> None:
    assert TRANSITIONS.keys() == set(GroupState)
    assert [state for state in GroupState if GroupMetadata("g", state, 1).can_rebalance] == [EMPTY, COMPLETING, STABLE]


def member(name: str, *protocols: str, kind: str = "consumer", instance: str | None = None) -> MemberMetadata:
    supported: Protocols = [(protocol, b"") for protocol in protocols]
    return MemberMetadata(name, instance, "client", "/h", 100, 10, kind, supported)


def group_of(*members: MemberMetadata) -> GroupMetadata:
    group = GroupMetadata("g", PREPARING, 0)
    for one in members:
        group.add(one)
    return group


def test_votes() -> None:
    group = group_of(member("1", "a", "b"), member("2", "b", "a"), member("3", "b", "a", "c"))
    assert group.select_protocol() == "b"
    group.add(member("4", "c", "a"))
    assert group.select_protocol() == "a"
    group.remove("4")
    assert group.select_protocol() == "b"


def test_who_could_be_a_member() -> None:
    group = group_of(member("1", "a", "b"), member("2", "b"))
    assert group.supports_protocols("consumer", [("b", b"")])
    assert not group.supports_protocols("consumer", [("a", b"")])
    assert not group.supports_protocols("connect", [("b", b"")])
    group.remove("1")
    group.remove("2")
    assert group.supports_protocols("consumer", [("x", b"")])
    assert not group.supports_protocols("connect", [("x", b"")])


def test_leaders() -> None:
    group = group_of(member("1", "a"), member("2", "a"), member("3", "a"))
    assert group.leader_id == "1"
    assert not group.maybe_elect_new_joined_leader()
    group.set_awaiting_join(group.members["3"], lambda response: None)
    assert group.maybe_elect_new_joined_leader()
    assert group.leader_id == "3"
    group.remove("3")
    assert group.leader_id == "1"
    group.remove("1")
    group.remove("2")
    assert group.leader_id is None
    assert not group.maybe_elect_new_joined_leader()


def test_a_static_member_goes_on_under_a_new_id() -> None:
    group = group_of(member("1", "a", instance="i"))
    group.pending_sync.add("1")
    one = group.replace_static_member("i", "1", "2")
    assert (one.member_id, group.leader_id, group.static_member_id("i"), group.pending_sync) == ("2", "2", "2", {"2"})
    group.remove("2")
    assert group.static_member_id("i") is None


def test_an_unknown_leader_in_a_record_is_replaced() -> None:
    group = GroupMetadata.loaded("g", 1, "consumer", "a", "gone", 1, [member("1", "a"), member("2", "a")])
    assert group.leader_id == "1"


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        (subscription(), set()),
        (subscription("a", "ü"), {"a", "ü"}),
        (b"\0\3" + subscription("a")[2:] + b"whatever v3 adds", {"a"}),
        (b"", None),
        (b"\0", None),
        (subscription("a")[:-1], None),
        (b"\0\0\xff\xff\xff\xff" + b"\xff\xff\xff\xff", None),
        (b"\0\0\x7f\xff\xff\xff", None),
    ],
)
def test_subscriptions(metadata: bytes, topics: set[str] | None) -> None:
    assert subscribed_topics(metadata) == topics


T = TopicPartition("t", 0)


def offset(number: int) -> OffsetAndMetadata:
    return OffsetAndMetadata(number, -1, "", 0)


def test_a_transaction_holds_only_where_no_later_commit_does() -> None:
    offsets = GroupOffsets()
    offsets.prepare_transactional(7, {T: offset(1)})
    assert offsets.is_pending(T)
    offsets.append_transactional(7, T, offset(1), 10)
    offsets.prepare({T: offset(2)})
    offsets.complete(T, offset(2), 11)
    assert offsets.is_pending(T)
    offsets.complete_transaction(7, commit=True)
    assert offsets.get(T) == offset(2)
    assert not offsets.is_pending(T)

    offsets.prepare_transactional(7, {T: offset(3)})
    offsets.append_transactional(7, T, offset(3), 12)
    offsets.complete_transaction(7, commit=True)
    assert offsets.get(T) == offset(3)


def test_transactions_that_fail_or_abort() -> None:
    offsets = GroupOffsets()
    offsets.prepare_transactional(7, {T: offset(1)})
    offsets.fail_transactional(7, T)
    offsets.fail_transactional(8, T)
    assert not offsets
    offsets.prepare_transactional(7, {T: offset(1)})
    offsets.append_transactional(7, T, offset(1), 10)
    assert list(offsets.producers) == [7]
    offsets.complete_transaction(7, commit=False)
    assert not offsets
    offsets.prepare_transactional(7, {T: offset(1)})
    assert offsets.remove([T]) == []
    assert not offsets
