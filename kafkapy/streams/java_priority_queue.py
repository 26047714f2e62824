"""A priority queue that returns equal elements in the same order as Java's."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar


class Ranked(Protocol):
    """An element of the queue; the smallest rank is the first."""

    @property
    def rank(self) -> int: ...


T = TypeVar("T", bound=Ranked)


class JavaPriorityQueue(Generic[T]):
    """A binary heap that moves elements exactly as `java.util.PriorityQueue` (heapq breaks ties in another order).

    That determines which of two records with the same timestamp is processed first.

    Invariant: no element has a lower rank than its parent, at half its index; ranks do not change while elements are in.
    """

    def __init__(self) -> None:
        self._heap: list[T] = []

    def __len__(self) -> int:
        return len(self._heap)

    def clear(self) -> None:
        self._heap.clear()

    def peek(self) -> T | None:
        """Return the first element without removing it; None if there is none."""
        return self._heap[0] if self._heap else None

    def add(self, element: T) -> None:
        heap = self._heap
        index = len(heap)
        heap.append(element)
        rank = element.rank
        while index > 0:
            parent = (index - 1) >> 1
            if rank >= heap[parent].rank:
                break
            heap[index] = heap[parent]
            index = parent
        heap[index] = element

    def poll(self) -> T | None:
        """Remove and return the first element; None if there is none."""
        heap = self._heap
        if not heap:
            return None
        first = heap[0]
        last = heap.pop()
        if heap:
            self._sift_down(last)
        return first

    def _sift_down(self, element: T) -> None:
        """Replace the first element, and restore the order."""
        heap = self._heap
        size = len(heap)
        rank = element.rank
        index = 0
        while index < size >> 1:
            child = 2 * index + 1
            right = child + 1
            if right < size and heap[child].rank > heap[right].rank:
                child = right
            if rank <= heap[child].rank:
                break
            heap[index] = heap[child]
            index = child
        heap[index] = element
