"""A window store in memory."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.bytes_stores import WindowBytesStore, WindowEntry, is_empty_range
from kafkapy.streams.state.sorted_bytes import SortedBytes
from kafkapy.streams.state.state_store import StateStore
from kafkapy.streams.state.value_and_timestamp import with_timestamp
from kafkapy.streams.state.window_key_schema import MAX_SEQUENCE, SEQUENCE_SIZE, store_key, store_start

_Segment = tuple[int, SortedBytes[bytes]]
_FIRST = bytes(SEQUENCE_SIZE)
_LAST = MAX_SEQUENCE.to_bytes(SEQUENCE_SIZE, "big")


class InMemoryWindowStore(WindowBytesStore):
    """Values by start, then by key; with duplicates, the key is followed by a sequence number.

    Invariant: `_starts` holds the keys of `_segments` in order, and no segment is empty. Segments that are out of retention
    are removed by the next call, and are invisible before.
    """

    def __init__(self, name: str, retention_period: int, retain_duplicates: bool) -> None:
        self._name = name
        self._retention_period = retention_period
        self._retain_duplicates = retain_duplicates
        self._segments: dict[int, SortedBytes[bytes]] = {}
        self._starts: list[int] = []
        self._sequence = 0
        self._observed_stream_time = -1
        self._open = False
        self._context: TaskContext

    def name(self) -> str:
        return self._name

    def init(self, context: TaskContext, root: StateStore) -> None:
        self._context = context
        context.register_store(root, self._restore)
        self._open = True

    def _restore(self, records: list[Any]) -> None:
        for record in records:
            value = with_timestamp(record.value, record.timestamp) if self.timestamped else record.value
            self.put(store_key(record.key), value, store_start(record.key))

    def put(self, key: bytes, value: bytes | None, start: int) -> None:
        self._remove_expired()
        if start > self._observed_stream_time:
            self._observed_stream_time = start
        if start <= self._observed_stream_time - self._retention_period:
            self._context.record_dropped()
        elif value is not None:
            self._add(key, value, start)
        elif not self._retain_duplicates:
            self._remove(key, start)

    def _add(self, key: bytes, value: bytes, start: int) -> None:
        if self._retain_duplicates:
            self._sequence = (self._sequence + 1) & MAX_SEQUENCE
            key += self._sequence.to_bytes(SEQUENCE_SIZE, "big")
        segment = self._segments.get(start)
        if segment is None:
            segment = self._segments[start] = SortedBytes()
            insort(self._starts, start)
        segment.put(key, value)

    def _remove(self, key: bytes, start: int) -> None:
        segment = self._segments.get(start)
        if segment is not None:
            segment.pop(key)
            if not len(segment):
                del self._segments[start]
                del self._starts[bisect_left(self._starts, start)]

    def _remove_expired(self) -> None:
        first_live = max(0, self._observed_stream_time - self._retention_period + 1)
        starts = self._starts
        if not starts or starts[0] >= first_live:
            return
        expired = bisect_left(starts, first_live)
        for start in starts[:expired]:
            del self._segments[start]
        del starts[:expired]

    def fetch_at(self, key: bytes, start: int) -> bytes | None:
        self._remove_expired()
        if start <= self._observed_stream_time - self._retention_period:
            return None
        segment = self._segments.get(start)
        return None if segment is None else segment.get(key)

    def fetch(self, key: bytes, time_from: int, time_to: int, forward: bool) -> Iterator[tuple[int, bytes]]:
        segments = self._live_segments(time_from, time_to, forward)
        return self._duplicates(segments, key, forward) if self._retain_duplicates else self._values(segments, key)

    def fetch_range(
        self, key_from: bytes | None, key_to: bytes | None, time_from: int, time_to: int, forward: bool
    ) -> Iterator[WindowEntry]:
        segments = self._live_segments(time_from, time_to, forward)
        return iter(()) if is_empty_range(key_from, key_to) else self._entries(segments, key_from, key_to, forward)

    def fetch_all(self, time_from: int, time_to: int, forward: bool) -> Iterator[WindowEntry]:
        return self._entries(self._live_segments(time_from, time_to, forward), None, None, forward)

    def all(self, forward: bool) -> Iterator[WindowEntry]:
        self._remove_expired()
        first_live = self._observed_stream_time - self._retention_period + 1
        starts = self._starts[bisect_left(self._starts, first_live) :]
        return self._entries(self._segments_at(starts, forward), None, None, forward)

    def _live_segments(self, time_from: int, time_to: int, forward: bool) -> list[_Segment]:
        self._remove_expired()
        first = max(time_from, self._observed_stream_time - self._retention_period + 1)
        if time_to < first:
            return []
        starts = self._starts[bisect_left(self._starts, first) : bisect_right(self._starts, time_to)]
        return self._segments_at(starts, forward)

    def _segments_at(self, starts: list[int], forward: bool) -> list[_Segment]:
        found = [(start, self._segments[start]) for start in starts]
        if not forward:
            found.reverse()
        return found

    def _values(self, segments: list[_Segment], key: bytes) -> Iterator[tuple[int, bytes]]:
        for start, segment in segments:
            value = segment.get(key)
            if value is not None:
                yield start, value

    def _duplicates(self, segments: list[_Segment], key: bytes, forward: bool) -> Iterator[tuple[int, bytes]]:
        size = len(key) + SEQUENCE_SIZE
        for start, segment in segments:
            for stored in segment.keys(key + _FIRST, key + _LAST, forward):
                # A longer key may be ordered between two sequence numbers of this one.
                value = segment.get(stored) if len(stored) == size and stored.startswith(key) else None
                if value is not None:
                    yield start, value

    def _entries(
        self, segments: list[_Segment], key_from: bytes | None, key_to: bytes | None, forward: bool
    ) -> Iterator[WindowEntry]:
        first, last = key_from, key_to
        if self._retain_duplicates:
            first = None if key_from is None else key_from + _FIRST
            last = None if key_to is None else key_to + _LAST
        for start, segment in segments:
            for stored in segment.keys(first, last, forward):
                key = stored[:-SEQUENCE_SIZE] if self._retain_duplicates else stored
                value = segment.get(stored)
                if value is not None and (key_from is None or key >= key_from) and (key_to is None or key <= key_to):
                    yield key, start, value

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._segments.clear()
        self._starts.clear()
        self._open = False

    def persistent(self) -> bool:
        return False

    def is_open(self) -> bool:
        return self._open
