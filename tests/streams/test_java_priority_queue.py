"""Equal elements come out as java.util.PriorityQueue gives them."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.java_priority_queue import JavaPriorityQueue


class Item(NamedTuple):
    rank: int
    name: str


def drained(items: list[Item]) -> list[str]:
    queue: JavaPriorityQueue[Item] = JavaPriorityQueue()
    for item in items:
        queue.add(item)
    names = []
    while (taken := queue.poll()) is not None:
        names.append(taken.name)
    return names


def test_equal_elements_come_in_the_order_of_java() -> None:
    # new PriorityQueue<>(comparingInt(...)) of Java 17 with a..f of rank 1 gives a f e d c b.
    assert drained([Item(1, name) for name in "abcdef"]) == ["a", "f", "e", "d", "c", "b"]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_ranks_come_in_order(ranks: list[int]) -> None:
    names = drained([Item(rank, str(rank)) for rank in ranks])
    assert [int(name) for name in names] == sorted(ranks)
