"""The segments of a log in order (Kafka's `LogSegments`)."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from kafkapy.log.segments.log_segment import LogSegment


class LogSegments:
    """A map from base offset to segment.

    Invariant: `_view` is a pair of equally long lists, base offsets and segments, in ascending order, which are
    immutable: each change creates a new pair. So a reader that has taken the pair sees a consistent state without a
    lock; writers hold the log's, which is `lock`.
    """

    __slots__ = ("_view", "active", "lock")

    active: LogSegment
    """The last segment, which is appended to. Not set while the map is empty."""

    def __init__(self) -> None:
        self._view: tuple[list[int], list[LogSegment]] = ([], [])
        self.lock = threading.RLock()

    def add(self, segment: LogSegment) -> None:
        """Add a segment; it replaces one with the same base offset."""
        segment.lock = self.lock
        bases, segments = self._view
        slot = bisect_left(bases, segment.base_offset)
        rest = slot + (slot < len(bases) and bases[slot] == segment.base_offset)
        self._set([*segments[:slot], segment, *segments[rest:]])

    def remove(self, base_offset: int) -> None:
        self._set([segment for segment in self._view[1] if segment.base_offset != base_offset])

    def replace(self, added: Iterable[LogSegment], removed: Iterable[LogSegment]) -> None:
        """Add and remove segments atomically for readers."""
        by_base = {segment.base_offset: segment for segment in self._view[1]}
        for segment in removed:
            by_base.pop(segment.base_offset, None)
        for segment in added:
            segment.lock = self.lock
            by_base[segment.base_offset] = segment
        self._set([by_base[base] for base in sorted(by_base)])

    def clear(self) -> None:
        self._set([])

    def _set(self, segments: list[LogSegment]) -> None:
        if segments:
            self.active = segments[-1]
        self._view = ([segment.base_offset for segment in segments], segments)

    def __len__(self) -> int:
        return len(self._view[0])

    def __contains__(self, base_offset: int) -> bool:
        return self.get(base_offset) is not None

    def get(self, base_offset: int) -> LogSegment | None:
        bases, segments = self._view
        slot = bisect_left(bases, base_offset)
        return segments[slot] if slot < len(bases) and bases[slot] == base_offset else None

    @property
    def first(self) -> LogSegment:
        return self._view[1][0]

    @property
    def size_in_bytes(self) -> int:
        return sum(segment.size for segment in self._view[1])

    def values(self) -> list[LogSegment]:
        """Return all segments as a new list."""
        return self._view[1][:]

    def floor(self, offset: int) -> LogSegment | None:
        """Return the segment with the largest base offset <= `offset`."""
        bases, segments = self._view
        slot = bisect_right(bases, offset)
        return segments[slot - 1] if slot else None

    def higher(self, base_offset: int) -> LogSegment | None:
        """Return the segment with the smallest base offset > `base_offset`."""
        bases, segments = self._view
        slot = bisect_right(bases, base_offset)
        return segments[slot] if slot < len(bases) else None

    def lower(self, base_offset: int) -> LogSegment | None:
        """Return the segment with the largest base offset < `base_offset`."""
        bases, segments = self._view
        slot = bisect_left(bases, base_offset)
        return segments[slot - 1] if slot else None

    def from_offset(self, offset: int) -> list[LogSegment]:
        """Return the segment that contains `offset` (or the first one after it) and all later ones."""
        bases, segments = self._view
        return segments[max(0, bisect_right(bases, offset) - 1) :]

    def between(self, start: int, end: int) -> list[LogSegment]:
        """Return the segments that may contain offsets of `[start, end)`."""
        if start >= end:
            return []
        return [segment for segment in self.from_offset(start) if segment.base_offset < end]
