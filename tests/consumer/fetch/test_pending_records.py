from __future__ import annotations

from itertools import islice
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.pending_records import PendingRecords
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.consumer.subscription_state import FetchPosition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def record(partition: TopicPartition, offset: int) -> ConsumerRecord:
    return ConsumerRecord(*partition, 3, offset, 1000 + offset, 0, None, b"", [], None, -1, 0, -1)


def pending(**counts: int) -> PendingRecords:
    found = PendingRecords()
    partitions = {TopicPartition("t", int(name[1:])): count for name, count in counts.items()}
    records: dict[TopicPartition, list[Any]] = {p: [record(p, i) for i in range(n)] for p, n in partitions.items()}
    found.add(records, {partition: FetchPosition(0, 2, 4) for partition in partitions})
    return found


def free(partition: TopicPartition) -> bool:
    return False


def offsets(taken: dict[TopicPartition, list[Any]]) -> dict[TopicPartition, list[int]]:
    return {partition: [r.offset for r in records] for partition, records in taken.items()}


def test_take_gives_each_record_once_and_positions_follow() -> None:
    found = pending(p0=3, p1=2)
    assert found.positions() == {P0: FetchPosition(0, 2, 4), P1: FetchPosition(0, 2, 4)}
    assert offsets(found.take(2, free)) == {P0: [0, 1]}
    assert found.positions()[P0] == FetchPosition(2, 3, 4)
    assert offsets(found.take(2, free)) == {P0: [2], P1: [0]}
    assert found.positions() == {P1: FetchPosition(1, 3, 4)}
    assert offsets(found.take(9, free)) == {P1: [1]}
    assert not found.available(free)
    assert found.last_timestamps == {P0: 1002, P1: 1001}


def test_what_is_held_waits() -> None:
    found = pending(p0=1, p1=1)
    assert offsets(found.take(9, lambda p: p == P0)) == {P1: [0]}
    assert not found.available(lambda p: p == P0)
    assert found.available(free)


def test_positions_follow_an_iterator_without_its_help() -> None:
    found = pending(p0=5)
    walk = found.walk(3, free)
    assert walk is not None
    assert [r.offset for r in islice(walk, 2)] == [0, 1]
    assert found.positions() == {P0: FetchPosition(2, 3, 4)}
    assert [r.offset for r in walk] == [2]
    assert found.positions() == {P0: FetchPosition(3, 3, 4)}


def test_a_walk_goes_on_where_the_loop_was_left() -> None:
    found = pending(p0=3)
    for _ in found.walk(3, free) or ():
        break
    assert [r.offset for r in found.walk(3, free) or ()] == [1, 2]
    assert found.walk(3, free) is None


def test_records_that_come_when_a_walk_is_at_its_end_are_all_given() -> None:
    """Nobody asked for them in between: the group had to be looked after first."""
    found = pending(p0=2)
    assert [r.offset for r in found.walk(3, free) or ()] == [0, 1]
    found.add({P0: [record(P0, offset) for offset in (2, 3, 4)]}, {P0: FetchPosition(2, 3, 4)})
    assert found.positions() == {P0: FetchPosition(2, 3, 4)}
    assert [r.offset for r in found.walk(3, free) or ()] == [2, 3, 4]


def test_take_after_a_loop_that_was_left() -> None:
    found = pending(p0=3)
    next(found.walk(3, free) or iter(()))
    assert offsets(found.take(9, free)) == {P0: [1, 2]}


def test_seek_ends_the_loop() -> None:
    found = pending(p0=3, p1=1)
    seen = []
    for r in found.walk(3, free) or ():
        seen.append(r.offset)
        found.drop([P0])
    assert seen == [0]
    assert found.positions() == {P1: FetchPosition(0, 2, 4)}


def test_pause_ends_the_loop_and_keeps_the_rest() -> None:
    found = pending(p0=3)
    for _ in found.walk(3, free) or ():
        found.hold(P0)
    assert found.positions() == {P0: FetchPosition(1, 3, 4)}
    assert not found.available(lambda p: True)
    assert offsets(found.take(9, free)) == {P0: [1, 2]}
