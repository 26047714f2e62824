"""When an acks=all produce is answered, with partitions whose high watermarks are set by hand."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.replication.delayed_produce import DelayedProduce, PendingAppend


class Partitions:
    """In the place of the replica manager. `committed`: high watermark by index; an index that is missing is led elsewhere."""

    def __init__(self, committed: dict[int, int]) -> None:
        self.committed = committed
        self.looked_at: list[int] = []
        self.under_min_isr = False
        self.answer_now = False
        self.lost = Errors.NOT_LEADER_OR_FOLLOWER

    def moved(self, produce: DelayedProduce) -> None:
        if self.answer_now:
            produce.answer_now()

    def get_partition(self, name: TopicPartition) -> Any:
        self.looked_at.append(name.partition)
        if name.partition not in self.committed:
            raise KafkaError(self.lost)
        return _Partition(self, self.committed[name.partition])


class _Partition:
    def __init__(self, partitions: Partitions, high_watermark: int) -> None:
        self._partitions = partitions
        self._high_watermark = high_watermark

    def is_replicated_up_to(self, offset: int) -> tuple[bool, Errors]:
        error = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND if self._partitions.under_min_isr else Errors.NONE
        return self._high_watermark >= offset, error


def name(index: int) -> TopicPartition:
    return TopicPartition("t", index)


def delayed(partitions: Any, *appends: tuple[int, int]) -> tuple[DelayedProduce, list[PendingAppend], list[bool]]:
    """Of (partition, offset)."""
    pending = [PendingAppend(name(index), offset) for index, offset in appends]
    answered: list[bool] = []
    produce = DelayedProduce(
        1000, pending, partitions, lambda: answered.append(True), lambda: partitions.moved(produce)
    )
    return produce, pending, answered


def test_all_partitions_must_be_committed() -> None:
    partitions = Partitions({0: 0, 1: 0})
    produce, pending, answered = delayed(partitions, (0, 10), (1, 20))
    assert not produce.try_complete()
    partitions.committed[0] = 10
    assert not produce.try_complete_after(name(0))
    assert answered == []
    partitions.committed[1] = 25
    assert produce.try_complete_after(name(1))
    assert (answered, [a.error for a in pending]) == ([True], [Errors.NONE, Errors.NONE])


def test_an_event_costs_a_look_at_its_partition_only() -> None:
    partitions = Partitions(dict.fromkeys(range(100), 0))
    produce, _, _ = delayed(partitions, *((index, 1) for index in range(100)))
    assert not produce.try_complete_after(name(7))
    assert not produce.try_complete_after(name(1000))
    assert partitions.looked_at == [7]


def test_what_is_decided_stays_so() -> None:
    partitions = Partitions({0: 10, 1: 0})
    produce, pending, _ = delayed(partitions, (0, 10), (1, 10))
    assert not produce.try_complete()
    partitions.under_min_isr = True
    partitions.committed = {0: 10, 1: 10}
    assert produce.try_complete_after(name(1))
    assert [a.error for a in pending] == [Errors.NONE, Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


def test_a_partition_that_is_led_elsewhere_now() -> None:
    partitions = Partitions({0: 0})
    produce, pending, answered = delayed(partitions, (0, 10))
    assert not produce.try_complete()
    partitions.committed.clear()
    assert produce.try_complete_after(name(0))
    assert (answered, pending[0].error) == ([True], Errors.NOT_LEADER_OR_FOLLOWER)


def test_others_are_waited_for_when_a_leader_has_moved() -> None:
    partitions = Partitions({0: 0, 1: 0})
    produce, pending, answered = delayed(partitions, (0, 10), (1, 10))
    assert not produce.try_complete()
    del partitions.committed[0]
    assert not produce.try_complete_after(name(0))
    partitions.committed[1] = 10
    assert produce.try_complete_after(name(1))
    assert (answered, [a.error for a in pending]) == ([True], [Errors.NOT_LEADER_OR_FOLLOWER, Errors.NONE])


@pytest.mark.parametrize(
    "lost", [Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR, Errors.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_others_time_out_when_it_has_to_hurry(lost: Errors) -> None:
    partitions = Partitions({0: 0, 1: 0, 2: 0})
    partitions.lost = lost
    produce, pending, answered = delayed(partitions, (0, 10), (1, 10), (2, 10))
    assert not produce.try_complete()
    del partitions.committed[0]
    partitions.committed[2] = 10
    partitions.answer_now = True
    assert produce.try_complete_after(name(0))
    assert answered == [True]
    assert [a.error for a in pending] == [lost, Errors.REQUEST_TIMED_OUT, Errors.NONE]


def test_two_batches_for_one_partition() -> None:
    partitions = Partitions({0: 10})
    produce, pending, answered = delayed(partitions, (0, 10), (0, 20))
    assert not produce.try_complete_after(name(0))
    partitions.committed[0] = 20
    assert produce.try_complete_after(name(0))
    assert (answered, [a.error for a in pending]) == ([True], [Errors.NONE, Errors.NONE])


def test_when_time_runs_out() -> None:
    partitions = Partitions({0: 10, 1: 0})
    produce, pending, answered = delayed(partitions, (0, 10), (1, 10))
    assert not produce.try_complete()
    produce.expire()
    assert (answered, [a.error for a in pending]) == ([True], [Errors.NONE, Errors.REQUEST_TIMED_OUT])
