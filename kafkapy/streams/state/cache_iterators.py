"""Iterators over a cache and the store below it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from kafkapy.streams.state.segmented_cache import SEGMENT_ID_SIZE
from kafkapy.streams.state.thread_cache import CacheIterator, LRUCacheEntry, NamedCache

E = TypeVar("E")

CachedEntry = tuple[bytes, LRUCacheEntry]
Wanted = tuple[bytes | None, bytes | None, int, int]
"""First and last key, first and last time."""


class PeekingCacheIterator(Protocol):
    """Iterates over entries of a cache, with a peek at the next one."""

    def peek(self) -> CachedEntry | None: ...

    def advance(self) -> None: ...


class Matcher(Protocol):
    """A key schema's test of whether an entry is in the requested range."""

    def matches(
        self, data: bytes, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int
    ) -> bool: ...


class FilteredCacheIterator:
    """Iterates over the requested entries only."""

    def __init__(self, cache: PeekingCacheIterator, schema: Matcher, wanted: Wanted) -> None:
        self._cache = cache
        self._matches = schema.matches
        self._wanted = wanted

    def peek(self) -> CachedEntry | None:
        while True:
            cached = self._cache.peek()
            if cached is None or self._matches(cached[0][SEGMENT_ID_SIZE:], *self._wanted):
                return cached
            self._cache.advance()

    def advance(self) -> None:
        self._cache.advance()


class MergedCacheIterator(Generic[E]):
    """Merges entries of store and cache; those of the cache take precedence.

    Args:
        cache: Entries of the cache.
        store: Entries of the store, in the same direction.
        compare: Compares a cache key with an entry of the store: negative if the former is smaller, 0 if equal.
        convert: Converts a cache key and a value to the form of the store's entries.
        forward: The direction.
    """

    def __init__(
        self,
        cache: PeekingCacheIterator,
        store: Iterator[E],
        compare: Callable[[bytes, E], int],
        convert: Callable[[bytes, Any], E],
        forward: bool,
    ) -> None:
        self._cache = cache
        self._store = store
        self._compare = compare
        self._convert = convert
        self._forward = forward
        self._stored: E | None = None

    def __iter__(self) -> Iterator[E]:
        return self

    def __next__(self) -> E:
        self._skip_deleted()
        cached = self._cache.peek()
        stored = self._peek_stored()
        if cached is None:
            if stored is None:
                raise StopIteration
            self._stored = None
            return stored
        if stored is not None:
            comparison = self._compare(cached[0], stored)
            if comparison == 0:
                self._stored = None
            elif (comparison > 0) is self._forward:
                self._stored = None
                return stored
        self._cache.advance()
        return self._convert(cached[0], cached[1].value)

    def _skip_deleted(self) -> None:
        """Skip deletions and the entries that they delete.

        As in Kafka 3.9.1, this is correct only forwards. Backwards, a deletion after the store's next entry has no
        effect, and one before it is returned with a value of None.
        """
        while True:
            cached = self._cache.peek()
            if cached is None or cached[1].value is not None:
                return
            stored = self._peek_stored()
            if stored is not None:
                comparison = self._compare(cached[0], stored)
                if comparison > 0:
                    return
                if comparison == 0:
                    self._stored = None
            self._cache.advance()

    def _peek_stored(self) -> E | None:
        if self._stored is None:
            self._stored = next(self._store, None)
        return self._stored


class SegmentedCacheIterator:
    """Iterates over a cache segment by segment, so that entries of other keys are skipped.

    Args:
        cache: The cache.
        bounds: Returns first and last cache key for a segment.
        first: The first segment, in the order of iteration.
        last: Returns the last one, which puts may increase.
        forward: The direction.
    """

    def __init__(
        self,
        cache: NamedCache,
        bounds: Callable[[int, bool], tuple[bytes | None, bytes | None]],
        first: int,
        last: Callable[[], int],
        forward: bool,
    ) -> None:
        self._cache = cache
        self._bounds = bounds
        self._segment_id = first
        self._last = last
        self._forward = forward
        low, high = bounds(first, True)
        self._current: CacheIterator | None = cache.keys(low, high, forward)

    def peek(self) -> CachedEntry | None:
        while self._current is not None:
            cached = self._current.peek()
            if cached is not None:
                return cached
            self._next_segment()
        return None

    def advance(self) -> None:
        assert self._current is not None
        self._current.advance()

    def _next_segment(self) -> None:
        if self._forward:
            self._segment_id += 1
            at_end = self._segment_id > self._last()
        else:
            self._segment_id -= 1
            at_end = self._segment_id < self._last()
        if at_end:
            self._current = None
            return
        low, high = self._bounds(self._segment_id, False)
        self._current = self._cache.keys(low, high, self._forward)


def compare_bytes(left: bytes, right: bytes) -> int:
    """Return a negative number if the left one is smaller, 0 if both are equal."""
    return 0 if left == right else (-1 if left < right else 1)
