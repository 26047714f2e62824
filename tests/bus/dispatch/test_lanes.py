"""The order of a dispatcher, with random ends."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest

from kafkapy.bus.dispatch.lanes import Lanes, Work
from kafkapy.common.topic_partition import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def taken(lanes: Lanes) -> list[Work]:
    found = []
    while (work := lanes.next()) is not None:
        found.append(work)
    return found


def test_a_key_is_handled_one_by_one_and_keys_side_by_side() -> None:
    lanes = Lanes()
    for offset, key in enumerate([b"a", b"a", b"b", None, None, b"a"]):
        lanes.add(P0, offset, key, None)
    first = taken(lanes)
    assert [work.offset for work in first] == [0, 2, 3, 4]
    assert (lanes.queued, lanes.running) == (2, 4)
    lanes.finished(first[0], handled=True)
    assert [work.offset for work in taken(lanes)] == [1]


def test_only_what_is_done_is_committed() -> None:
    lanes = Lanes()
    for offset in (5, 6, 9):
        lanes.add(P0, offset, None, None)
    works = taken(lanes)
    lanes.finished(works[1], handled=True)
    assert lanes.to_commit() == {}
    lanes.finished(works[0], handled=True)
    assert lanes.to_commit() == {P0: 7}
    lanes.committed({P0: 7})
    assert lanes.to_commit() == {}
    lanes.finished(works[2], handled=True)
    assert lanes.to_commit() == {P0: 10}


def test_what_is_given_up_is_never_passed_nor_is_its_lane() -> None:
    lanes = Lanes()
    for offset in range(3):
        lanes.add(P0, offset, b"a", None)
    (work,) = taken(lanes)
    lanes.finished(work, handled=False)
    assert taken(lanes) == []
    assert lanes.to_commit() == {}


def test_a_partition_that_comes_back_begins_anew() -> None:
    lanes = Lanes()
    lanes.add(P0, 0, b"a", None)
    lanes.add(P0, 1, b"a", None)
    lanes.add(P1, 0, b"a", None)
    works = taken(lanes)
    lanes.drop_queued([P0])
    assert (lanes.queued, lanes.running_in([P0])) == (0, 1)
    lanes.forget([P0])
    lanes.add(P0, 0, b"a", None)
    (again,) = taken(lanes)
    lanes.finished(works[0], handled=True)
    assert lanes.to_commit() == {}, "the earlier time does not count"
    lanes.finished(again, handled=True)
    assert lanes.to_commit() == {P0: 1}
    assert lanes.running == 1


@pytest.mark.parametrize("seed", range(30))
def test_any_order_of_ends(seed: int) -> None:
    chance = random.Random(seed)
    lanes = Lanes()
    offsets = {P0: 0, P1: 0}
    running: list[Work] = []
    handled: dict[tuple[TopicPartition, bytes | None], list[int]] = defaultdict(list)
    done: dict[TopicPartition, set[int]] = {P0: set(), P1: set()}
    for _ in range(400):
        if chance.random() < 0.5:
            partition = chance.choice([P0, P1])
            lanes.add(partition, offsets[partition], chance.choice([None, b"a", b"b", b"c"]), None)
            offsets[partition] += chance.choice([1, 1, 3])
        elif running and chance.random() < 0.7:
            work = running.pop(chance.randrange(len(running)))
            done[work.owner.partition].add(work.offset)
            if work.key is not None:
                handled[work.key].append(work.offset)
            lanes.finished(work, handled=True)
        if chance.random() < 0.5 and (found := lanes.next()) is not None:
            assert found.key is None or found.key not in {other.key for other in running}
            running.append(found)
        for partition, position in lanes.to_commit().items():
            taken_offsets = [work.offset for work in running if work.owner.partition == partition]
            assert all(offset >= position for offset in taken_offsets)
    assert all(order == sorted(order) for order in handled.values())
    for work in running:
        lanes.finished(work, handled=True)
    while (left := lanes.next()) is not None:
        lanes.finished(left, handled=True)
    assert (lanes.queued, lanes.running) == (0, 0)
    assert lanes.to_commit().keys() == {partition for partition, offset in offsets.items() if offset}
