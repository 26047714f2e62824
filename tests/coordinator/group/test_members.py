from __future__ import annotations

import pytest

from kafkapy.coordinator.group.members import ClassicGroupMember, Members, Protocols, subscribed_topics
from tests.coordinator.group.group_harness import subscription


def member(name: str, *protocols: str, instance: str | None = None) -> ClassicGroupMember:
    supported: Protocols = [(protocol, b"") for protocol in protocols]
    return ClassicGroupMember(name, instance, "client", "/h", 100, 10, "consumer", supported)


def members_of(*members: ClassicGroupMember) -> Members:
    result = Members()
    for one in members:
        result.add(one)
    return result


def test_votes() -> None:
    members = members_of(member("1", "a", "b"), member("2", "b", "a"), member("3", "b", "a", "c"))
    assert members.select_protocol() == "b"
    members.add(member("4", "c", "a"))
    assert members.select_protocol() == "a"
    members.remove("4")
    assert members.select_protocol() == "b"


def test_protocols_that_all_support() -> None:
    members = members_of(member("1", "a", "b"), member("2", "b"))
    assert members.all_support_one_of([("x", b""), ("b", b"")])
    assert not members.all_support_one_of([("a", b"")])
    members.update(members["2"], [("a", b"")], 100, 10)
    assert members.all_support_one_of([("a", b"")])


def test_leaders() -> None:
    members = members_of(member("1", "a"), member("2", "a"), member("3", "a"))
    assert members.leader_id == "1"
    assert not members.elect_joined_leader()
    members.set_awaiting_join(members["3"], lambda response: None)
    assert members.elect_joined_leader()
    assert members.leader_id == "3"
    members.remove("3")
    assert members.leader_id == "1"
    members.remove("1")
    members.remove("2")
    assert members.leader_id is None
    assert not members.elect_joined_leader()


def test_all_have_joined_when_nobody_is_missing_and_no_id_is_out() -> None:
    members = members_of(member("1", "a"))
    members.pending.add("2")
    assert members.set_awaiting_join(members["1"], print) is None
    assert not members.have_all_joined
    members.remove("2")
    assert members.have_all_joined
    assert members.set_awaiting_join(members["1"], None) is print
    assert not members.have_all_joined


def test_a_static_member_goes_on_under_a_new_id() -> None:
    members = members_of(member("1", "a", instance="i"))
    members.pending_sync.add("1")
    one = members.replace_static("i", "1", "2")
    assert (one.member_id, members.leader_id, members.static_member_id("i")) == ("2", "2", "2")
    assert members.pending_sync == {"2"}
    members.remove("2")
    assert members.static_member_id("i") is None


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
