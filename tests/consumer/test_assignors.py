from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors import (
    AbstractPartitionAssignor,
    CooperativeStickyAssignor,
    RangePartitionAssignor,
    RebalanceProtocol,
    RoundRobinPartitionAssignor,
    StickyPartitionAssignor,
)
from kafkapy.consumer.assignors.abstract import GroupMember
from kafkapy.consumer.assignors.sticky import decode_owned, encode_owned
from kafkapy.consumer.group.consumer_protocol import decode_subscription, encode_subscription, partitions_of
from kafkapy.protocol.consumer_protocol import ConsumerProtocolSubscription

BUILTIN: dict[str, Callable[[], AbstractPartitionAssignor]] = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
JAVA = (Path(__file__).parent / "java_assignments.txt").read_text().splitlines()
"""What Kafka 3.9.1's assignors gave, a case a line: assignor;topic:partition:racks,..., then for each member
;member|instance|topics|owned|generation|rack|user data, then -> member=partitions;..."""


class Cluster:
    def __init__(self, partitions: dict[tuple[str, int], frozenset[str]]) -> None:
        self.partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return {number for name, number in self.partitions if name == topic} or None

    def replica_racks(self, partition: TopicPartition) -> frozenset[str]:
        return self.partitions[partition]


def of(**topics: int) -> Cluster:
    return Cluster({(topic, number): frozenset() for topic, count in topics.items() for number in range(count)})


def joined(
    assignor: Any, name: str, topics: list[str], owned: list[TopicPartition] | None = None, generation: int = -1
) -> GroupMember:
    data = encode_subscription(assignor.metadata(topics), owned or [], generation, None)
    return GroupMember(name, None, decode_subscription(data))


def assigned(assignor: Any, cluster: Cluster, members: list[GroupMember]) -> dict[str, list[TopicPartition]]:
    return {member: partitions_of(share) for member, share in assignor.assign(cluster, members).items()}


def names(text: str) -> list[TopicPartition]:
    pairs = (name.split(":") for name in text.split(",") if name)
    return [TopicPartition(topic, int(number)) for topic, number in pairs]


@pytest.mark.parametrize("line", JAVA)
def test_the_same_as_java(line: str) -> None:
    question, _, answer = line.partition(" -> ")
    strategy, table, *lines = question.split(";")
    racks = {}
    for entry in table.split(","):
        topic, number, rack = entry.split(":")
        racks[(topic, int(number))] = frozenset(rack.split("+")) - {""}
    members = []
    for entry in lines:
        name, instance, topics, owned, generation, rack, data = entry.split("|")
        metadata = ConsumerProtocolSubscription(topics=topics.split(","), user_data=bytes.fromhex(data) or None)
        encoded = encode_subscription(metadata, names(owned), int(generation), rack or None)
        members.append(GroupMember(name, instance or None, decode_subscription(encoded)))
    found = assigned(BUILTIN[strategy](), Cluster(racks), members)
    expected = dict(entry.split("=") for entry in answer.split(";"))
    assert {m: sorted(f"{t}:{p}" for t, p in share) for m, share in found.items()} == {
        m: sorted(filter(None, share.split(","))) for m, share in expected.items()
    }


def test_range_gives_the_first_members_one_more() -> None:
    assignor = RangePartitionAssignor()
    members = [joined(assignor, name, ["t0", "t1"]) for name in ("C1", "C0")]
    found = assigned(assignor, of(t0=3, t1=3), members)
    assert found == {"C0": names("t0:0,t0:1,t1:0,t1:1"), "C1": names("t0:2,t1:2")}


def test_static_members_come_first() -> None:
    assignor = RangePartitionAssignor()
    members = [joined(assignor, "a", ["t"]), joined(assignor, "b", ["t"])._replace(group_instance_id="z")]
    assert assigned(assignor, of(t=1), members) == {"a": [], "b": names("t:0")}


def test_a_topic_that_is_not_known_is_left_out() -> None:
    for make in BUILTIN.values():
        assignor = make()
        assert assigned(assignor, of(t=1), [joined(assignor, "a", ["t", "missing"])]) == {"a": names("t:0")}


def test_protocols() -> None:
    assert StickyPartitionAssignor().supported_protocols() == [RebalanceProtocol.EAGER]
    assert CooperativeStickyAssignor().supported_protocols() == [RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER]


def test_sticky_user_data_is_javas() -> None:
    data = encode_owned(names("ab:1,ab:0"), 7)
    assert data == bytes.fromhex("000000010002616200000002000000010000000000000007")
    assert decode_owned(data) == (names("ab:1,ab:0"), 7)
    assert decode_owned(data[:-4]) == (names("ab:1,ab:0"), None)
    assert decode_owned(b"\x00\x00\x00\x09garbage") == ([], -1)


def test_user_data_of_new_members() -> None:
    assert StickyPartitionAssignor().user_data(["t"]) is None
    assert CooperativeStickyAssignor().user_data(["t"]) == b"\xff\xff\xff\xff"
    assert RangePartitionAssignor().user_data(["t"]) is None


def test_cooperative_gives_a_moving_partition_in_the_second_round() -> None:
    assignor = CooperativeStickyAssignor()
    old, new = joined(assignor, "old", ["t"], names("t:0,t:1"), 1), joined(assignor, "new", ["t"])
    first = assigned(assignor, of(t=2), [old, new])
    assert first == {"old": names("t:0"), "new": []}
    second = assigned(assignor, of(t=2), [joined(assignor, "old", ["t"], names("t:0"), 2), new])
    assert second == {"old": names("t:0"), "new": names("t:1")}


topics = st.dictionaries(st.sampled_from(["t0", "t1", "t2", "t3"]), st.integers(1, 6), min_size=1)


@settings(max_examples=60, deadline=None)
@given(topics, st.integers(1, 5), st.randoms(use_true_random=False), st.sampled_from(sorted(BUILTIN)))
def test_every_partition_has_one_owner_through_joins_and_leaves(
    counts: dict[str, int], size: int, random: Any, strategy: str
) -> None:
    cluster = of(**counts)
    assignors = {f"m{i}": BUILTIN[strategy]() for i in range(size)}
    wanted = {name: random.sample(sorted(counts), random.randint(1, len(counts))) for name in assignors}
    owned: dict[str, list[TopicPartition]] = {name: [] for name in assignors}
    for generation in range(1, 5):
        for _ in range(3):  # cooperative rebalances take more than one round
            members = [joined(a, name, wanted[name], owned[name], generation) for name, a in assignors.items()]
            shares = next(iter(assignors.values())).assign(cluster, members)
            owned = {name: partitions_of(share) for name, share in shares.items()}
            for name, assignor in assignors.items():
                assignor.on_assignment(shares[name], generation)
        got = sorted(partition for share in owned.values() for partition in share)
        assert got == sorted((t, p) for t in set().union(*wanted.values()) for p in range(counts[t]))
        assert all(partition.topic in wanted[name] for name, share in owned.items() for partition in share)
        if len(assignors) > 1:
            gone = random.choice(sorted(assignors))
            del assignors[gone], wanted[gone], owned[gone]
