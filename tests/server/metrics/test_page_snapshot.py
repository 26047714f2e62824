"""Sums cover everything; of details, those come first that an operator must see."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.runtime.chunks import CHUNK
from kafkapy.server.metrics.page_snapshot import PageSnapshot


def partition(number: int, isr: int = 2, *, leads: bool = True) -> Any:
    """With two replicas, of which one must be in sync."""
    log = SimpleNamespace(size=10, producers=SimpleNamespace(producers={1: None}))
    return SimpleNamespace(
        topic_partition=TopicPartition("even" if number % 2 == 0 else "odd", number),
        log=log,
        isr=list(range(isr)),
        is_leader=leads,
        is_under_replicated=leads and isr < 2,
        effective_min_isr=lambda _: 1,
        adding_replicas=[],
        removing_replicas=[],
    )


def group(name: str, offsets: dict[TopicPartition, int]) -> Any:
    committed = {where: SimpleNamespace(value=SimpleNamespace(offset=offset)) for where, offset in offsets.items()}
    return SimpleNamespace(group_id=name, offsets=SimpleNamespace(committed=committed))


def end_of(where: TopicPartition) -> int | None:
    return None if where.topic == "unknown" else 100


def snapshot(partitions: list[Any], limit: int) -> PageSnapshot:
    made = PageSnapshot(limit)
    list(made.of_partitions(partitions))
    return made


def test_the_ill_are_told_first_and_the_sums_are_whole() -> None:
    ill = {2001, 2003, 2004}
    followed = [partition(number, leads=False) for number in range(3000, 3005)]
    made = snapshot([*(partition(n, 1 if n in ill else 2) for n in range(2010)), *followed], limit=10)
    assert {p.topic_partition.partition for p, _ in made.leaders[:3]} == ill
    assert (len(made.leaders), made.leaders_left_out) == (10, 2000)
    assert (len(made.replicas), made.replicas_left_out) == (10, 2005)
    assert (made.hosted, made.led, made.under_replicated, made.at_min_isr) == (2015, 2010, 3, 3)
    assert made.producer_ids == 2015
    assert {topic: of.under_replicated for topic, of in made.topics.items()} == {"even": 1, "odd": 2}
    assert sum(of.size for of in made.topics.values()) == 20150


def test_those_without_any_replica_in_sync() -> None:
    made = snapshot([partition(0), partition(1, 0)], limit=1)
    assert made.under_min_isr == made.topics["odd"].under_min_isr == 1
    assert made.leaders[0][0].topic_partition.partition == 1


def test_lags_are_told_first_and_the_sums_are_whole() -> None:
    level = {TopicPartition("t", number): 100 for number in range(50)}
    groups = [group("a", level), group("b", {TopicPartition("t", 0): 30, TopicPartition("unknown", 0): 5})]
    made = PageSnapshot(limit=4)
    list(made.of_offsets(groups, end_of))
    assert made.offsets[0] == ("b", TopicPartition("t", 0), 30, 70)
    assert (len(made.offsets), made.offsets_left_out) == (4, 48)
    assert made.offset_sums == {("a", "t"): 5000, ("b", "t"): 30, ("b", "unknown"): 5}
    assert made.lag_sums == {("a", "t"): 0, ("b", "t"): 70}


def test_it_stops_again_and_again() -> None:
    made = PageSnapshot(1)
    assert len(list(made.of_partitions([partition(n) for n in range(3 * CHUNK)]))) == 3
    one = group("g", {TopicPartition("t", number): 1 for number in range(3 * CHUNK)})
    assert len(list(made.of_offsets([one], end_of))) == 3
