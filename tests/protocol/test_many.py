"""Which messages have so much in them that they are written in a thread."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.protocol import many
from kafkapy.protocol.many import free, has_many_names, has_many_structs
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest


def offsets(topics: int, partitions: int) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=str(t),
                partitions=[
                    ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=p) for p in range(partitions)
                ],
            )
            for t in range(topics)
        ]
    )


def test_structs_at_any_depth_count() -> None:
    assert not has_many_structs(HeartbeatResponse(), 0)
    assert not has_many_structs(offsets(10, 9), 100)
    assert has_many_structs(offsets(10, 10), 100)
    assert has_many_structs(offsets(1, 100), 100)
    assert has_many_structs(offsets(101, 0), 100)


class Tracked:
    """In the place of a struct; says when it goes, and how many still refer to the first of its parts then."""

    def __init__(self, gone: list[tuple[str, int]], name: str, partitions: list[Tracked]) -> None:
        self._gone = gone
        self._name = name
        self.partitions = partitions
        self.old_style_offsets = None

    def __del__(self) -> None:
        others = sys.getrefcount(self.partitions[0]) - 2 if self.partitions else 0
        self._gone.append((self._name, others))


def test_what_nobody_refers_to_any_more_is_freed_a_part_at_a_time() -> None:
    gone: list[tuple[str, int]] = []
    topics: Any = [Tracked(gone, name, [Tracked(gone, f"{name}{p}", []) for p in range(2)]) for name in "abc"]
    kept = topics[1]
    messages: list[Message] = [ListOffsetsResponse(topics=topics), HeartbeatResponse()]
    del topics
    free(messages)
    assert messages == []
    # Whose turn it is to go has parts that are held until it is theirs.
    assert gone == [("a", 1), ("c", 1), ("a0", 0), ("a1", 0), ("c0", 0), ("c1", 0)]
    assert len(kept.partitions) == 2


class Text(str):
    """One that can be watched."""


def test_long_lists_of_other_values_are_freed_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = [Text(n) for n in range(2500)]
    watched = [weakref.ref(name) for name in names]
    left: list[int] = []
    monkeypatch.setattr(many, "yield_gil", lambda: left.append(sum(name() is not None for name in watched)))
    messages: list[Message] = [DescribeGroupsRequest(groups=names)]
    del names
    free(messages)
    assert left == [1500, 500, 0]


def test_dicts_are_freed_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [Text(n) for n in range(1250)]
    watched = [weakref.ref(key) for key in keys]
    left: list[int] = []
    things: list[Any] = [{key: number for number, key in enumerate(keys)}]
    del keys
    monkeypatch.setattr(many, "yield_gil", lambda: left.append(sum(key() is not None for key in watched)))
    emptied = things[0]
    free(things)
    assert (things, emptied) == ([], {})
    assert left == [1250, 250, 0, 0]


@pytest.mark.parametrize(
    "made",
    [
        lambda values: {"t": values},
        lambda values: {"t": dict.fromkeys(values, 0)},
        lambda values: {"t": (1, values)},
        lambda values: {"t": DescribeGroupsRequest(groups=values)},
        lambda values: [("t", values)],
    ],
    ids=["list", "dict", "tuple", "message", "list of tuples"],
)
def test_what_is_in_a_dict_or_list_is_freed_a_part_at_a_time(
    made: Callable[[list[str]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values: list[str] = [Text(n) for n in range(2500)]
    watched = [weakref.ref(value) for value in values]
    things: list[Any] = [made(values)]
    del values
    left: list[int] = []
    monkeypatch.setattr(many, "yield_gil", lambda: left.append(sum(value() is not None for value in watched)))
    free(things)
    assert left[-1] == 0
    assert max(before - after for before, after in zip([2500, *left], left, strict=False)) <= 1000


def test_a_list_in_a_dict_stays_as_it_is_for_others() -> None:
    shared = [1, 2]
    kept: dict[str, list[int]] = {"t": shared}
    free([kept])
    assert (kept, shared) == ({}, [1, 2])


def test_what_a_request_names_counts_whatever_it_is() -> None:
    assert has_many_names(DescribeGroupsRequest(groups=["g"] * 101), 100)
    assert not has_many_names(DescribeGroupsRequest(groups=["g"] * 100), 100)
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[1] * 60)
    assert has_many_names(OffsetFetchRequest(group_id="g", topics=[topic, topic]), 100)
    assert not has_many_names(OffsetFetchRequest(group_id="g", topics=[topic]), 100)
    assert not has_many_names(OffsetFetchRequest(group_id="g", topics=None), 0)
    assert has_many_names(offsets(1, 100), 100)
