"""Planning of offsets, without a broker."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.errors import OffsetError
from kafkapy.spark.offset_limits import offsets_from_json, offsets_to_json
from kafkapy.spark.offset_ranges import (
    OffsetRange,
    divide,
    limit_offsets,
    new_offsets,
    ranges_of_batch,
    ranges_of_micro_batch,
    share_tasks,
)

P0, P1, P2, P3 = (TopicPartition("t", n) for n in range(4))


def sizes(ranges: Sequence[OffsetRange]) -> list[tuple[int, int]]:
    return [(r.partition.partition, r.size) for r in ranges]


def test_without_limits_a_task_for_each_partition_that_has_something() -> None:
    ranges = [OffsetRange(P0, 0, 10), OffsetRange(P1, 5, 5), OffsetRange(P2, 9, 3)]
    assert divide(ranges) == [OffsetRange(P0, 0, 10)]


def test_enough_partitions_are_not_cut() -> None:
    ranges = [OffsetRange(P0, 0, 10), OffsetRange(P1, 0, 1000)]
    assert divide(ranges, min_partitions=2) == ranges


def test_min_partitions_cuts_in_proportion() -> None:
    assert divide([OffsetRange(P0, 1, 5)], min_partitions=3) == [
        OffsetRange(P0, 1, 2),
        OffsetRange(P0, 2, 3),
        OffsetRange(P0, 3, 5),
    ]
    assert sizes(divide([OffsetRange(P0, 0, 5), OffsetRange(P1, 0, 10)], min_partitions=3)) == [(0, 5), (1, 5), (1, 5)]


def test_small_ranges_do_not_weigh_on_the_shares_of_big_ones() -> None:
    ranges = [OffsetRange(P0, 0, 1), OffsetRange(P1, 0, 1), OffsetRange(P2, 0, 10_000), OffsetRange(P3, 0, 10_000)]
    assert sizes(divide(ranges, min_partitions=6)) == [
        (0, 1), (1, 1), (2, 5_000), (2, 5_000), (3, 5_000), (3, 5_000),
    ]  # fmt: skip


def test_max_records_goes_before_min_partitions() -> None:
    assert sizes(divide([OffsetRange(P0, 0, 10), OffsetRange(P1, 0, 3)], max_records=4)) == [
        (0, 3), (0, 3), (0, 4), (1, 3),
    ]  # fmt: skip
    assert len(divide([OffsetRange(P0, 0, 10), OffsetRange(P1, 0, 3)], min_partitions=8, max_records=4)) >= 7


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 5_000), min_size=1, max_size=6),
    st.one_of(st.none(), st.integers(1, 40)),
    st.one_of(st.none(), st.integers(50, 2_000)),
)
def test_pieces_cover_what_they_were_cut_from(
    lengths: list[int], min_partitions: int | None, max_records: int | None
) -> None:
    ranges = [OffsetRange(TopicPartition("t", n), 7, 7 + length) for n, length in enumerate(lengths)]
    pieces = divide(ranges, min_partitions, max_records)
    assert all(piece.size > 0 for piece in pieces)
    if max_records is not None:
        assert all(piece.size <= max_records for piece in pieces)
    for whole in ranges:
        mine = [piece for piece in pieces if piece.partition == whole.partition]
        assert sum(piece.size for piece in mine) == whole.size
        assert all(a.until == b.start for a, b in itertools.pairwise(mine))


def ranges_of(*lengths: int) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("t", n), 7, 7 + length) for n, length in enumerate(lengths)]


def test_many_small_ranges_share_tasks() -> None:
    few = ranges_of(*[5] * 32)
    assert share_tasks(few) == [(r,) for r in few]
    tasks = share_tasks(ranges_of(*[5] * 200))
    assert len(tasks) == 8
    assert {len(task) for task in tasks} == {25}
    assert [r for task in tasks for r in task] == ranges_of(*[5] * 200)
    assert len(share_tasks(ranges_of(*[100] * 200))) == 20
    assert len(share_tasks(ranges_of(*[900] * 200))) == 32
    assert len(share_tasks(ranges_of(*[5] * 3200))) == 100


def test_a_large_range_has_a_task_of_its_own() -> None:
    ranges = ranges_of(*[5] * 50, 100_000, *[5] * 50)
    tasks = share_tasks(ranges)
    assert len(tasks) == 32
    assert (ranges[50],) in tasks


def test_ranges_share_tasks_within_the_limits_of_the_query() -> None:
    assert len(share_tasks(ranges_of(*[5] * 200), min_partitions=150)) == 150
    assert len(share_tasks(ranges_of(*[5] * 200), min_partitions=500)) == 200
    assert len(share_tasks(ranges_of(*[5] * 200), max_records=10)) == 104  # of at most 2, cut out of 8 of 25


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 2_000), max_size=150),
    st.one_of(st.none(), st.integers(1, 200)),
    st.one_of(st.none(), st.integers(2_000, 5_000)),
)
def test_tasks_cover_all_ranges(lengths: list[int], min_partitions: int | None, max_records: int | None) -> None:
    ranges = ranges_of(*lengths)
    tasks = share_tasks(ranges, min_partitions, max_records)
    assert sorted(r for task in tasks for r in task) == ranges
    assert all(tasks)
    assert len(tasks) >= min(len(ranges), min_partitions or 1)
    if max_records is not None:
        assert all(sum(r.size for r in task) <= max_records for task in tasks)


def test_a_batch_needs_the_same_partitions_at_both_ends() -> None:
    assert ranges_of_batch({P0: 1}, {P0: 4}) == [OffsetRange(P0, 1, 4)]
    with pytest.raises(OffsetError, match="different topic partitions for starting offsets"):
        ranges_of_batch({P0: 1}, {P1: 4})
    with pytest.raises(OffsetError, match="The resolved start offset 5 is greater than the resolved end offset 4"):
        ranges_of_batch({P0: 5}, {P0: 4})


class Losses:
    def __init__(self, **earliest: int) -> None:
        self.told: list[str] = []
        self.offsets = {TopicPartition("t", int(name[1:])): offset for name, offset in earliest.items()}

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {p: self.offsets[p] for p in partitions if p in self.offsets}


def test_new_partitions_begin_at_their_earliest_offset() -> None:
    losses = Losses(p1=0)
    ranges = ranges_of_micro_batch({P0: 3}, {P0: 5, P1: 2}, losses.earliest, losses.told.append)
    assert ranges == [OffsetRange(P0, 3, 5), OffsetRange(P1, 0, 2)]
    assert losses.told == []


def test_data_loss_is_told_of() -> None:
    losses = Losses(p1=7)
    ranges = ranges_of_micro_batch({P0: 9, P3: 1}, {P0: 5, P1: 9, P2: 1}, losses.earliest, losses.told.append)
    assert losses.told[0] == "Cannot find initial offsets for partitions {t-2}. They may have been deleted."
    assert losses.told[1] == "Added partition t-1 starts from 7 instead of 0."
    assert losses.told[2] == "Partitions {t-3} have been deleted."
    assert losses.told[3].startswith("Partition t-0 offset was changed from 9 to 5.")
    assert divide(ranges) == [OffsetRange(P1, 7, 9)]


def test_a_limit_is_shared_out_by_lag() -> None:
    losses = Losses()
    limited = limit_offsets(10, {P0: 0, P1: 100, P2: 50}, {P0: 1, P1: 199, P2: 50}, losses.earliest)
    assert limited == {P0: 1, P1: 109, P2: 50}  # 0.1 counts as 1, 9.9 as 9


def test_a_limit_counts_new_partitions_from_their_earliest_offset() -> None:
    assert limit_offsets(10, {P0: 0}, {P0: 50, P1: 70}, Losses(p1=20).earliest) == {P0: 5, P1: 25}


def test_a_limit_above_the_lag_is_no_limit() -> None:
    assert limit_offsets(1 << 62, {P0: 0}, {P0: 50}, Losses().earliest) == {P0: 50}
    assert limit_offsets(5, {P0: 50}, {P0: 50}, Losses().earliest) == {P0: 50}


def test_new_offsets() -> None:
    assert new_offsets({P0: 3}, {P0: 10, P1: 5}) == 12


def test_offsets_as_spark_keeps_them() -> None:
    offsets = {TopicPartition("b", 10): 1, TopicPartition("b", 2): 2, TopicPartition("a", 0): 3}
    json = offsets_to_json(offsets)
    assert list(json) == ["a", "b"]
    assert list(json["b"]) == ["2", "10"]
    assert offsets_from_json(json) == offsets
