"""Records as columns: positions of the keys, values and headers of many records, without an object per record.

Consumers create their records, and Arrow tables, from these columns, which are views of the rows of a `RecordTable`.
"""

from __future__ import annotations

from itertools import repeat
from typing import Any, NamedTuple

from kafkapy.protocol.errors import KafkaError
from kafkapy.record.pieces import Header, cut, cut_headers
from kafkapy.record.record_batch import Buffer
from kafkapy.record.record_table import HEADER_ROW_SIZE, ROW_SIZE

MAX_OFFSET = 2**63 - 1


class Segment(NamedTuple):
    """Records of similar batches within `RecordColumns`: from the end of the previous segment up to `end` (exclusive)."""

    end: int
    leader_epoch: int
    timestamp_type: int


class RecordColumns:
    """Records of consecutive batches of a partition.

    Invariant: the columns, which are memoryviews, have a number for each record (int64 offsets and timestamps in ms,
    int32 positions within `data` and lengths, -1 for null); offsets ascend; the segments cover all records in order.
    `next_offset` is where the next read starts. `error` is the error of the next batch, if it has one.
    """

    __slots__ = (
        "_content",
        "_header_rows",
        "_header_starts",
        "_of_segments",
        "data",
        "error",
        "header_counts",
        "key_lengths",
        "key_starts",
        "next_offset",
        "offsets",
        "segments",
        "timestamps",
        "value_lengths",
        "value_starts",
    )

    def __init__(
        self,
        data: Buffer,
        rows: bytes,
        header_rows: bytes,
        segments: list[Segment],
        next_offset: int,
        error: KafkaError | None = None,
    ) -> None:
        """`rows`, `header_rows`: as of a `RecordTable`."""
        self.data = data
        self.segments = segments
        self.next_offset = next_offset
        self.error = error
        self.offsets, self.timestamps = _columns(rows, "q", ROW_SIZE)[:2]
        ints = _columns(rows, "i", ROW_SIZE)
        self.key_starts, self.key_lengths, self.value_starts, self.value_lengths = ints[4:8]
        self._header_starts, self.header_counts = ints[8:]
        self._header_rows = header_rows
        self._content = data if isinstance(data, bytes) else None
        self._of_segments: dict[int, Any] = {}

    @classmethod
    def empty(cls, next_offset: int, leader_epoch: int) -> RecordColumns:
        """Return an instance without records, which only advances the offset."""
        return cls(b"", b"", b"", [Segment(0, leader_epoch, 0)], next_offset)

    def __len__(self) -> int:
        return len(self.offsets)

    def keys(self, first: int, last: int) -> list[bytes | None]:
        """Return the keys of records `first` to `last` (exclusive)."""
        return self._pieces(self.key_starts[first:last], self.key_lengths[first:last])

    def values(self, first: int, last: int) -> list[bytes | None]:
        return self._pieces(self.value_starts[first:last], self.value_lengths[first:last])

    def headers(self, first: int, last: int) -> list[list[Header]]:
        """Return a list of headers for each record."""
        return self.headers_and_sizes(first, last)[0]

    def headers_and_sizes(self, first: int, last: int) -> tuple[list[list[Header]], list[int]]:
        """Return the headers, and for each record the bytes of its headers' keys and values; -1 if it has no headers."""
        if first >= last or not self.have_headers:
            return [[] for _ in range(last - first)], [-1] * (last - first)
        counts = self.header_counts[first:last].tolist()
        return cut_headers(self._bytes(), self._header_rows, self._header_starts[first], counts)

    @property
    def have_headers(self) -> bool:
        """Return whether any record has headers."""
        return bool(self._header_rows)

    def header_columns(self, first: int, last: int) -> list[memoryview[int]]:
        """Return the positions of these records' headers: int32 columns of the keys' starts and lengths, the values'
        starts and lengths.
        """
        begin, end = 0, 0
        if first < last:
            begin, end = self._header_starts[first], self._header_starts[last - 1] + self.header_counts[last - 1]
        rows = self._header_rows[begin * HEADER_ROW_SIZE : end * HEADER_ROW_SIZE]
        return _columns(rows, "i", HEADER_ROW_SIZE)

    def per_record(self, field: int) -> int | list[int]:
        """Return this field of `Segment` (1: leader epoch, 2: timestamp type): an int if all records have the same,
        else one for each record.
        """
        found = self._of_segments.get(field)
        if found is None:
            values = [segment[field] for segment in self.segments]
            if values.count(values[0]) == len(values):
                found = values[0]
            else:
                found, end = [], 0
                for segment, value in zip(self.segments, values, strict=True):
                    found += repeat(value, segment.end - end)
                    end = segment.end
            self._of_segments[field] = found
        return found

    def _pieces(self, starts: memoryview[int], lengths: memoryview[int]) -> list[bytes | None]:
        sizes = lengths.tolist()
        if sizes.count(-1) == len(sizes):  # usually there are no keys
            return [None] * len(sizes)
        return cut(self._bytes(), starts.tolist(), sizes)

    def _bytes(self) -> bytes:
        if self._content is None:
            self._content = bytes(self.data)
        return self._content


def _columns(rows: bytes, kind: str, row_size: int) -> list[memoryview[int]]:
    """`kind`: "q" or "i", the type of a row's numbers."""
    numbers: Any = memoryview(rows).cast(kind)  # type: ignore[call-overload]
    width = row_size // numbers.itemsize
    return [numbers[index::width] for index in range(width)]
