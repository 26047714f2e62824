"""Requests that name very many things: others have their turn while they are answered, and the answer is the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.coordinator.group.group_harness import GROUP
from tests.server.broker_core import TOPIC, MakeCore, topic_id_of
from tests.server.handlers.test_groups import Broker, deny

MANY = 10_000


def offset_fetch(topics: int) -> OffsetFetchRequest:
    return OffsetFetchRequest(
        group_id=GROUP,
        topics=[
            OffsetFetchRequest.OffsetFetchRequestTopic(name=f"t{n}", partition_indexes=list(range(MANY // topics)))
            for n in range(topics)
        ],
    )


def offset_fetch_of_groups(topics: int) -> OffsetFetchRequest:
    partitions = list(range(MANY // topics))
    wanted = [
        OffsetFetchRequest.OffsetFetchRequestTopics(name=f"t{n}", partition_indexes=partitions) for n in range(topics)
    ]
    groups = [
        OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=wanted),
        OffsetFetchRequest.OffsetFetchRequestGroup(group_id="none", topics=None),
    ]
    return OffsetFetchRequest(groups=groups)


def names() -> list[str]:
    return [f"g{n}" for n in range(MANY)]


REQUESTS: dict[str, tuple[int, Callable[[], Message]]] = {
    "offsets of a group": (5, lambda: offset_fetch(1)),
    "offsets of a group in many topics": (5, lambda: offset_fetch(MANY)),
    "offsets of groups": (8, lambda: offset_fetch_of_groups(1)),
    "offsets of groups in many topics": (8, lambda: offset_fetch_of_groups(MANY)),
    "groups": (0, lambda: DescribeGroupsRequest(groups=names())),
    "coordinators": (4, lambda: FindCoordinatorRequest(key_type=0, coordinator_keys=names())),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_others_have_their_turn_while_many_things_are_answered(name: str) -> None:
    version, make = REQUESTS[name]
    broker = Broker()
    broker.h.commit({("t0", p): p for p in range(0, MANY, 7)})
    deny(broker, "DESCRIBE", "TOPIC", "t3")
    deny(broker, "DESCRIBE", "GROUP", "g3")
    in_one_turn = broker.ask(make(), version)
    assert broker.clock.turns == 0
    now = iter(range(10 * MANY))
    broker.clock.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    assert broker.ask(make(), version) == in_one_turn
    assert broker.clock.turns >= 3


OF_TOPICS: dict[str, tuple[int, Callable[[], Message]]] = {
    "unknown topics": (4, lambda: metadata([f"t{n}" for n in range(MANY)], allow_auto_topic_creation=False)),
    "what is allowed": (8, lambda: metadata([TOPIC, *names()], include_topic_authorized_operations=True)),
    "unknown ids": (12, lambda: metadata_by_ids([topic_id_of(TOPIC), *(n.to_bytes(16) for n in range(1, MANY))])),
    "the ends of logs": (1, lambda: list_offsets(MANY, -1)),
    "offsets at a time": (1, lambda: list_offsets(MANY, 1)),
    "old offsets": (0, lambda: list_offsets(MANY, -1)),
}


def metadata(topics: list[str], allow_auto_topic_creation: bool = False, **more: bool) -> MetadataRequest:
    named = [MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=named, allow_auto_topic_creation=allow_auto_topic_creation, **more)


def metadata_by_ids(ids: list[bytes]) -> MetadataRequest:
    named = [MetadataRequest.MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids]
    return MetadataRequest(topics=named, allow_auto_topic_creation=False)


def list_offsets(partitions: int, timestamp: int) -> ListOffsetsRequest:
    wanted = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=max(0, p - 1), timestamp=timestamp, max_num_offsets=1)
        for p in range(partitions)
    ]  # the first one is named twice
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=wanted) for name in (TOPIC, "none")]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


@pytest.mark.parametrize("name", OF_TOPICS)
def test_others_have_their_turn_while_many_topics_are_answered(make_core: MakeCore, name: str) -> None:
    version, make = OF_TOPICS[name]
    core = make_core()
    core.create_topic(TOPIC, partitions=3)
    client = core.connect()
    core.time.turns = 0
    in_one_turn = client.call(make(), version)
    assert core.time.turns == 0
    now = iter(range(10 * MANY))
    core.time.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    assert client.call(make(), version) == in_one_turn
    assert core.time.turns >= 1


def test_a_commit_shows_as_a_whole_or_not_at_all() -> None:
    broker = Broker()
    before = {("t", p): 1 for p in range(MANY)}
    broker.h.commit(before)
    steps = broker.h.coordinator.fetch_offsets(GROUP, None, False)
    next(steps)
    broker.h.commit({("t", p): 2 for p in range(MANY + 5)})
    with pytest.raises(StopIteration) as done:
        while True:
            next(steps)
    [topic] = done.value.value.topics
    assert {p.committed_offset for p in topic.partitions} == {1}
    assert len(topic.partitions) == MANY
    assert set(broker.h.offsets().values()) == {2}
