from __future__ import annotations

import random
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import MessageSizeTooLargeError
from kafkapy.producer.record_accumulator import RecordAccumulator
from kafkapy.producer.sticky_choice import StickyChoice
from tests.producer.producer_setup import Setup

P0 = TopicPartition("t", 0)


def accumulator(**options: Any) -> RecordAccumulator:
    defaults = {"batch_size": 1000, "max_batch_bytes": 1000, "buffer_memory": 3000}
    return RecordAccumulator(**{**defaults, **options}, monotonic_ms=lambda: 0, clock=lambda: 1.0)


def test_memory_is_bounded_and_comes_back() -> None:
    buffer = accumulator()
    futures = [buffer.append(P0, bytes(900)) for _ in range(4)]
    assert [future is not None for future in futures] == [True, True, True, False]
    assert buffer.exhausted
    told = []
    buffer.when_memory(lambda: told.append(1))
    batch = buffer.take(buffer.waiting[P0])
    batch.complete(0, -1)
    buffer.release(batch)
    batch.announce()
    assert told == [1]
    assert not buffer.exhausted
    assert buffer.append(P0, bytes(900)) is not None


def test_waiting_for_memory_that_is_free_already() -> None:
    told = []
    accumulator().when_memory(lambda: told.append(1))
    assert told == [1]


def test_records_that_fit_nowhere() -> None:
    with pytest.raises(MessageSizeTooLargeError, match="max_request_size"):
        accumulator(max_request_size=500).append(P0, bytes(450))
    with pytest.raises(MessageSizeTooLargeError, match="buffer_memory"):
        accumulator().append(P0, bytes(3500))


def test_a_large_record_has_a_batch_of_its_own() -> None:
    buffer = accumulator(buffer_memory=10_000)
    for size in (10, 2000, 10):
        assert buffer.append(P0, bytes(size)) is not None
    assert [len(batch.values) for batch in buffer.waiting[P0].batches] == [1, 1, 1]


def test_batches_grow_to_their_bound() -> None:
    buffer = accumulator(max_batch_bytes=2000)
    for _ in range(9):
        buffer.append(P0, bytes(300))
    assert [len(batch.values) for batch in buffer.waiting[P0].batches] == [6, 3]
    assert buffer.available == 0


def test_the_sender_is_woken_for_a_new_batch_and_for_a_full_one() -> None:
    woken = []
    buffer = RecordAccumulator(
        batch_size=1000, monotonic_ms=lambda: 0, clock=lambda: 1.0, wakeup=lambda: woken.append(1)
    )
    for _ in range(4):
        buffer.append(P0, bytes(300))
    assert len(woken) == 2


def test_the_short_path_holds_plain_batches_only() -> None:
    buffer = accumulator()
    buffer.sticky_partition("t", [0])
    buffer.append(P0, b"x", sticky=True)
    batch = buffer.sticky["t"]
    assert batch.values == [b"x"]
    buffer.append(P0, b"y", key=b"k")
    assert buffer.sticky == {}
    assert (batch.values, batch.keys) == ([b"x", b"y"], [None, b"k"])
    buffer.append(P0, b"z", sticky=True)
    assert buffer.sticky == {}


def test_a_taken_batch_leaves_the_short_path() -> None:
    buffer = accumulator()
    buffer.sticky_partition("t", [0])
    buffer.append(P0, b"x", sticky=True)
    buffer.take(buffer.waiting[P0])
    assert buffer.sticky == {}
    assert buffer.waiting == {}


def test_a_batch_of_its_own_stands_behind_what_came_before() -> None:
    buffer = accumulator()
    buffer.append(P0, b"a")
    buffer.append_batch(P0, [b"b", b"c"], None, None, None, 50)
    buffer.append(P0, b"d")
    assert [batch.values for batch in buffer.waiting[P0].batches] == [[b"a"], [b"b", b"c"], [b"d"]]


def test_sticky_choice_spreads_bytes_evenly() -> None:
    choice = StickyChoice(100, random.Random(0))
    got = dict.fromkeys(range(4), 0)
    for _ in range(4000):
        partition = choice.partition([0, 1, 2, 3], lambda: [0] * 4, 10)
        choice.add(10)
        got[partition] += 10
    assert min(got.values()) > 7000


def test_sticky_choice_avoids_partitions_that_lag_and_leaves_dead_ones() -> None:
    choice = StickyChoice(1)
    chosen = set()
    for _ in range(200):
        chosen.add(choice.partition([0, 1], lambda: [0, 10_000_000]))
        choice.add(2)
    assert chosen == {0}
    assert choice.partition([1], lambda: [0]) == 1


def test_null_keys_stay_with_a_partition_for_a_batch() -> None:
    setup = Setup([0] * 4, batch_size=1000, linger_ms=50)
    for i in range(400):
        setup.send(b"%03d" % i + bytes(97))
    setup.flush()
    sizes = [setup.log(partition).batch_sizes for partition in range(4)]
    assert sum(map(sum, sizes)) == 400
    assert all(size >= 7 for partition in sizes for size in partition[:-1])
    assert min(map(sum, sizes)) > 20


def test_keys_go_where_java_sends_them() -> None:
    setup = Setup([0] * 10)
    future = setup.send(b"v", key=b"foobar")
    setup.flush()
    assert future.get(0).partition == (-790332482 & 0x7FFFFFFF) % 10
