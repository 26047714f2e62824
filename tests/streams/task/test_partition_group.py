"""Which record of a task is next."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.partition_group import PartitionGroup, RecordQueue
from kafkapy.streams.topology.nodes import SourceNode


class OwnTime:
    def extract(self, record: ConsumedRecord, partition_time: int) -> int:
        if record.value == "boom":
            raise KeyError("boom")
        return record.timestamp


def record(topic: str, offset: int, timestamp: int, value: object = "v") -> ConsumedRecord:
    return ConsumedRecord(topic, 0, offset, timestamp, None, value, [])


class Group:
    """A group of topics with one partition each."""

    def __init__(self, topics: Sequence[str], idle_ms: int = 0, lag: int | None = 0) -> None:
        self.dropped = 0
        self.lag = lag
        queues = [self.queue(topic) for topic in topics]
        self.group = PartitionGroup(queues, idle_ms, lambda topic, number: self.lag)

    def queue(self, topic: str) -> RecordQueue:
        return RecordQueue(topic, 0, SourceNode(topic, None, None, None), OwnTime(), self.deserialize, self.drop)

    def deserialize(self, source: SourceNode, raw: ConsumedRecord) -> ConsumedRecord | None:
        return None if raw.value == "corrupted" else raw

    def drop(self) -> None:
        self.dropped += 1

    def taken(self) -> list[tuple[str, int]]:
        found = []
        while (one := self.group.next()) is not None:
            found.append((one[1].topic, one[0].record.offset))
        return found


def test_the_least_time_is_first_and_a_partition_keeps_its_order() -> None:
    both = Group(["a", "b"])
    both.group.add("a", 0, [record("a", 0, 10), record("a", 1, 1)])
    both.group.add("b", 0, [record("b", 0, 5), record("b", 1, 20)])
    assert both.taken() == [("b", 0), ("a", 0), ("a", 1), ("b", 1)]
    assert both.group.stream_time == 20
    assert both.group.size == 0


def test_a_record_without_a_time_is_dropped() -> None:
    one = Group(["a"])
    one.group.add("a", 0, [record("a", 0, -1), record("a", 1, 3)])
    assert one.taken() == [("a", 1)]
    assert one.dropped == 1


def test_the_offset_of_the_last_record_that_cannot_be_read_counts() -> None:
    one = Group(["a"])
    one.group.add("a", 0, [record("a", 0, 1, "corrupted"), record("a", 1, 1, "corrupted")])
    taken = one.group.next()
    assert taken is not None
    assert taken[0].corrupted
    assert taken[0].record.offset == 1
    assert one.group.stream_time == -1


def test_a_failing_extractor_ends_it() -> None:
    one = Group(["a"])
    with pytest.raises(StreamsException, match="TimestampExtractor") as caught:
        one.group.add("a", 0, [record("a", 0, 1, "boom")])
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_empty_partition_is_waited_for() -> None:
    both = Group(["a", "b"], idle_ms=100, lag=0)
    both.group.add("a", 0, [record("a", 0, 1)])
    assert not both.group.is_ready(1000)
    assert not both.group.is_ready(1099)
    assert both.group.is_ready(1100)


@pytest.mark.parametrize("lag", [None, 3])
def test_a_partition_with_records_at_the_broker_is_waited_for_without_end(lag: int | None) -> None:
    both = Group(["a", "b"], idle_ms=0, lag=lag)
    both.group.add("a", 0, [record("a", 0, 1)])
    assert not both.group.is_ready(10**9)
    both.lag = 0
    assert both.group.is_ready(10**9)


def test_without_waiting_what_is_there_is_taken() -> None:
    both = Group(["a", "b"], idle_ms=-1, lag=None)
    both.group.add("a", 0, [record("a", 0, 1)])
    assert both.group.is_ready(0)


def test_nothing_is_ready_if_all_are_empty() -> None:
    assert not Group(["a", "b"]).group.is_ready(0)
