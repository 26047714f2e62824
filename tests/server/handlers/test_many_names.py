"""Requests that name very many things: others have their turn while they are answered, and the answer is the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.coordinator.group.group_harness import GROUP
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
