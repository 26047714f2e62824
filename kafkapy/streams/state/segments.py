"""Segments of time: expired entries are dropped by segment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Final

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.state.rocksdb_database import RocksDatabase, Table

_ID_SIZE: Final = 8


class Segments:
    """The segments of a store, all in one database, with the segment's number before each key.

    Invariant: `_ids` holds the keys of `_segments` in order. Numbers are times divided by the interval, towards zero.

    Kafka has a RocksDB for each segment, but opening one takes about 10 ms. Here a segment is dropped by deleting its
    range.
    """

    def __init__(self, name: str, retention_period: int, segment_interval: int) -> None:
        self._retention_period = retention_period
        self._segment_interval = segment_interval
        self._segments: dict[int, Table] = {}
        self._ids: list[int] = []
        self.database = RocksDatabase(name)

    def open(self, context: TaskContext) -> None:
        """Open the database, and find its segments."""
        if self.database.is_open:
            return
        self.database.open(context)
        for prefix in self.database.prefixes(_ID_SIZE):
            segment_id = int.from_bytes(prefix, "big", signed=True)
            if segment_id >= 0:
                self._add(segment_id)

    def segment_id(self, timestamp: int) -> int:
        if timestamp < 0:
            return -(-timestamp // self._segment_interval)
        return timestamp // self._segment_interval

    def get(self, timestamp: int) -> Table | None:
        """Return the segment of a time, if it exists."""
        return self._segments.get(self.segment_id(timestamp))

    def get_or_create_if_live(self, segment_id: int, stream_time: int) -> Table | None:
        """Return the segment of this number; None if it is out of retention at the stream time."""
        if segment_id < self.segment_id(stream_time - self._retention_period):
            return None
        return self._segments.get(segment_id) or self._add(segment_id)

    def drop_expired(self, stream_time: int) -> None:
        """Drop the segments that are out of retention."""
        ids = self._ids
        if not ids:
            return
        first_live = self.segment_id(stream_time - self._retention_period)
        if ids[0] >= first_live:
            return
        expired = bisect_left(ids, first_live)
        for segment_id in ids[:expired]:
            self.database.drop_table(self._segments.pop(segment_id))
        del ids[:expired]

    def between(self, time_from: int, time_to: int, forward: bool) -> list[Table]:
        """Return the segments that overlap this span."""
        first = bisect_left(self._ids, self.segment_id(time_from))
        last = bisect_right(self._ids, self.segment_id(time_to))
        found = [self._segments[segment_id] for segment_id in self._ids[first:last]]
        if not forward:
            found.reverse()
        return found

    def ids_from(self, timestamp: int) -> list[int]:
        """Return the numbers of this time's segment and of later ones, the latest first."""
        return self._ids[bisect_left(self._ids, self.segment_id(timestamp)) :][::-1]

    def with_id(self, segment_id: int) -> Table:
        return self._segments[segment_id]

    def all(self, forward: bool) -> list[Table]:
        ids = self._ids if forward else self._ids[::-1]
        return [self._segments[segment_id] for segment_id in ids]

    def reserved(self, segment_id: int) -> Table:
        """Return a part of the database that is not a segment of time; its number is negative."""
        return self.database.table(segment_id.to_bytes(_ID_SIZE, "big", signed=True))

    def close(self) -> None:
        self._segments.clear()
        self._ids.clear()
        self.database.close()

    def _add(self, segment_id: int) -> Table:
        table = self.database.table(segment_id.to_bytes(_ID_SIZE, "big"))
        self._segments[segment_id] = table
        insort(self._ids, segment_id)
        return table
