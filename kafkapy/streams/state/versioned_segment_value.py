"""The versions of a key in one segment of a versioned store.

The format is Kafka's: end of the latest version's validity, start of the earliest one's, then time and size of each
version, the latest first (-1 for a tombstone), then the values, the earliest first.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

_LONG: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">qq")
_VERSION: Final = struct.Struct(">qi")


class SegmentSearchResult(NamedTuple):
    """A version, and its place."""

    position: int
    valid_from: int
    valid_to: int
    value: bytes | None


def next_timestamp_of(data: bytes) -> int:
    """Return the end of the latest version's validity."""
    timestamp: int = _LONG.unpack_from(data, 0)[0]
    return timestamp


def min_timestamp_of(data: bytes) -> int:
    """Return the start of the earliest version's validity."""
    timestamp: int = _LONG.unpack_from(data, 8)[0]
    return timestamp


class SegmentValue:
    """Versions, the latest first.

    Invariant: `versions` are in descending order of time, none after `next_timestamp`. Kafka calls a value degenerate
    whose only version is a tombstone at `next_timestamp`: the key was deleted then, and the segment has no earlier
    versions.
    """

    __slots__ = ("next_timestamp", "versions")

    def __init__(self, versions: list[tuple[int, bytes | None]], next_timestamp: int) -> None:
        self.versions = versions
        self.next_timestamp = next_timestamp

    @staticmethod
    def of_record(value: bytes | None, valid_from: int, valid_to: int) -> SegmentValue:
        return SegmentValue([(valid_from, value)], valid_to)

    @staticmethod
    def read(data: bytes) -> SegmentValue:
        next_timestamp, min_timestamp = _HEAD.unpack_from(data, 0)
        versions: list[tuple[int, bytes | None]] = []
        position, end = _HEAD.size, len(data)
        while True:
            timestamp, size = _VERSION.unpack_from(data, position)
            position += _VERSION.size
            if size < 0:
                versions.append((timestamp, None))
            else:
                versions.append((timestamp, data[end - size : end]))
                end -= size
            if timestamp == min_timestamp:
                return SegmentValue(versions, next_timestamp)

    def write(self) -> bytes:
        parts = [_HEAD.pack(self.next_timestamp, self.min_timestamp)]
        for timestamp, value in self.versions:
            parts.append(_VERSION.pack(timestamp, -1 if value is None else len(value)))
        parts.extend(value for _, value in reversed(self.versions) if value is not None)
        return b"".join(parts)

    @property
    def min_timestamp(self) -> int:
        return self.versions[-1][0]

    @property
    def is_degenerate(self) -> bool:
        return self.next_timestamp == self.min_timestamp

    def find(self, timestamp: int) -> SegmentSearchResult:
        """Return the version that was valid at a time.

        Raises:
            ValueError: The time is outside of the segment's versions.
        """
        if not self.min_timestamp <= timestamp < self.next_timestamp:
            raise ValueError(f"Timestamp {timestamp} cannot be found in this segment.")
        valid_to = self.next_timestamp
        for index, (valid_from, value) in enumerate(self.versions):
            if valid_from <= timestamp:
                return SegmentSearchResult(index, valid_from, valid_to, value)
            valid_to = valid_from
        raise RuntimeError("Search in segment expected to find result but did not.")

    def valid_in(self, time_from: int, time_to: int) -> list[tuple[bytes, int, int | None]]:
        """Return the versions valid in a span, without tombstones: value, start and end of validity; the latest
        first."""
        found: list[tuple[bytes, int, int | None]] = []
        valid_to = self.next_timestamp
        for valid_from, value in self.versions:
            if value is not None and valid_to > time_from and valid_from <= time_to:
                found.append((value, valid_from, valid_to))
            valid_to = valid_from
        return found

    def insert_as_latest(self, valid_from: int, valid_to: int, value: bytes | None) -> None:
        """Add a version that is not before the others. Later ones are left over from a crash, and are removed."""
        if valid_from < self.next_timestamp:
            self._truncate(valid_from)
        if self.next_timestamp == valid_from:
            if self.is_degenerate:
                self.versions = [(valid_from, value)]
            else:
                self.versions.insert(0, (valid_from, value))
        elif self.is_degenerate:
            self.versions = [(valid_from, value), (self.next_timestamp, None)]
        else:
            self.versions[:0] = [(valid_from, value), (self.next_timestamp, None)]
        self.next_timestamp = valid_to

    def insert_as_earliest(self, timestamp: int, value: bytes | None) -> None:
        """Add a version that is before the others."""
        if self.is_degenerate:
            self.versions = [(timestamp, value)]
        else:
            self.versions.append((timestamp, value))

    def insert(self, timestamp: int, value: bytes | None, index: int) -> None:
        """Add a version that is later than the one at the index."""
        self.versions.insert(index, (timestamp, value))

    def update(self, timestamp: int, value: bytes | None, index: int) -> None:
        """Replace the version at the index."""
        self.versions[index] = (timestamp, value)

    def _truncate(self, timestamp: int) -> None:
        if timestamp <= self.min_timestamp:
            self.versions = [(timestamp, None)]
        else:
            self.versions = [version for version in self.versions if version[0] < timestamp]
        self.next_timestamp = timestamp
