"""Records as columns: where the keys, values and headers of many records lie, without an object for any of them.

Consumers make their records, and Arrow tables, from these columns. The work is done by kernels that have two forms:
`columns_python`, and `columns_numba`, a hundred times as fast, which is loaded once that pays (`load_kernels`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import columns_python
from kafkapy.record.columns_python import (
    BAD_HEADER_COUNT,
    BAD_HEADER_KEY,
    BAD_SIZE,
    HEADER_COUNT,
    HEADER_ROW_COUNT,
    HEADER_START,
    KEY_LENGTH,
    KEY_START,
    LONG_VARINT,
    OFFSET,
    ROW_COUNT,
    TIMESTAMP,
    TRAILING_BYTES,
    TRUNCATED,
    VALUE_LENGTH,
    VALUE_START,
    WRONG_SIZE,
)
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    MAX_DECOMPRESSED_SIZE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    Buffer,
    RecordBatch,
)
from kafkapy.record.varint import read_varint

logger = logging.getLogger(__name__)

Header = tuple[str, bytes | None]

MAX_OFFSET = 2**63 - 1
_MIN_RECORD_SIZE = 7
"""A record of which every field is empty: seven varints and bytes."""
_FEW = 16
"""So few pieces are cut faster one by one."""
_CONTENT_BYTES = 1 << 25
"""Decompressed batches are put together up to about this size."""
_WIDE = 4096
"""Pieces this long are copied once only, and therefore one by one."""

_SENTENCES = {
    TRUNCATED: "Found invalid record structure",
    LONG_VARINT: "Varint is too long, the most significant bit of its last byte is set",
    BAD_SIZE: "Invalid record size: the buffer has fewer bytes",
    WRONG_SIZE: "Invalid record size: the fields of the record take another number of bytes",
    BAD_HEADER_COUNT: "Found invalid number of record headers",
    BAD_HEADER_KEY: "Invalid negative header key size",
    TRAILING_BYTES: "Incorrect declared batch size, records still remaining in file",
}

_kernels: ModuleType = columns_python
_loading_failed = False


def load_kernels() -> bool:
    """Take the compiled kernels from now on; takes half a second once. False if there is no numba that works."""
    global _kernels, _loading_failed
    if _kernels is columns_python and not _loading_failed:
        try:
            from kafkapy.record import columns_numba
        except Exception as error:  # whatever a compiler may come upon
            _loading_failed = True
            logger.info("Records are decoded by plain Python: numba cannot be used (%s)", error)
        else:
            _kernels = columns_numba
    return not _loading_failed


def kernels_settled() -> bool:
    """Would `load_kernels` return at once?"""
    return _kernels is not columns_python or _loading_failed


class Segment(NamedTuple):
    """Records of a batch within `RecordColumns`: those up to `end` (exclusive) that no earlier segment has."""

    end: int
    leader_epoch: int
    timestamp_type: int


class RecordColumns:
    """Records of consecutive batches of a partition.

    Invariant: the positions in `rows` (int64, a row for each of `columns_python`'s names, a column for each record)
    lie within `data`; offsets rise; the segments cover all records in order, one for each batch. `next_offset` is where
    reading goes on behind them. `error` says what is wrong with the batch that would have come next, if something is.
    """

    __slots__ = ("_content", "_of_segments", "data", "error", "next_offset", "rows", "segments")

    def __init__(
        self,
        data: Buffer,
        rows: Any,
        segments: list[Segment],
        next_offset: int,
        error: KafkaError | None = None,
    ) -> None:
        self.data = data
        self.rows = rows
        self.segments = segments
        self.next_offset = next_offset
        self.error = error
        self._content = data if isinstance(data, bytes) else None
        self._of_segments: dict[int, Any] = {}

    @classmethod
    def empty(cls, next_offset: int, leader_epoch: int) -> RecordColumns:
        """No records, only progress."""
        return cls(b"", np.empty((ROW_COUNT, 0), np.int64), [Segment(0, leader_epoch, 0)], next_offset)

    def __len__(self) -> int:
        return int(self.rows.shape[1])

    @property
    def offsets(self) -> Any:
        return self.rows[OFFSET]

    @property
    def timestamps(self) -> Any:
        """In ms."""
        return self.rows[TIMESTAMP]

    def keys(self, first: int, last: int) -> list[bytes | None]:
        """The keys of records `first` to `last` (exclusive)."""
        return self._pieces(self.rows[KEY_START, first:last], self.rows[KEY_LENGTH, first:last])

    def values(self, first: int, last: int) -> list[bytes | None]:
        return self._pieces(self.rows[VALUE_START, first:last], self.rows[VALUE_LENGTH, first:last])

    def headers(self, first: int, last: int) -> list[list[Header]]:
        """Of each record a list of its own."""
        counts = self.rows[HEADER_COUNT, first:last]
        headers: list[list[Header]] = [[] for _ in range(last - first)]
        if counts.any():
            content = self._bytes()
            for index in counts.nonzero()[0].tolist():
                start = int(self.rows[HEADER_START, first + index])
                headers[index] = _read_headers(content, start, int(counts[index]))
        return headers

    def header_columns(self, first: int, last: int) -> Any:
        """Where the headers of all these records lie: int64, a row for each HEADER_… of `columns_python`."""
        counts = self.rows[HEADER_COUNT, first:last]
        rows = np.empty((HEADER_ROW_COUNT, int(counts.sum())), np.int64)
        _kernels.decode_headers(_as_array(self.data), self.rows[HEADER_START, first:last], counts, rows)
        return rows

    def per_record(self, field: int) -> Any:
        """This field of `Segment` (1: leader epoch, 2: timestamp type): an int if all records have the same, else an
        int32 for each record."""
        found = self._of_segments.get(field)
        if found is None:
            values = [segment[field] for segment in self.segments]
            if values.count(values[0]) == len(values):
                found = values[0]
            else:
                ends = [0, *(segment.end for segment in self.segments)]
                found = np.repeat(np.array(values, np.int32), np.diff(ends))
            self._of_segments[field] = found
        return found

    def _pieces(self, starts: Any, lengths: Any) -> list[bytes | None]:
        count = len(lengths)
        if count >= _FEW:
            low, high = int(lengths.min()), int(lengths.max())
            if high < 0:
                return [None] * count
            if low == high == 0:
                return [b""] * count
            if low == high < _WIDE:
                # All pieces of this length that there could be: numpy copies the ones we want in one go.
                windows: Any = np.ndarray((len(self.data) - low + 1,), f"V{low}", self.data, strides=(1,))
                pieces: list[bytes | None] = windows[starts].tolist()
                return pieces
            content = self._bytes()
            ends = (starts + lengths).tolist()
            if low >= 0:
                return [content[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]
        content = self._bytes()
        return [
            content[start : start + length] if length >= 0 else None
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
        ]

    def _bytes(self) -> bytes:
        if self._content is None:
            self._content = bytes(self.data)
        return self._content


def decode_batches(
    batches: Sequence[RecordBatch], first_offset: int = 0, end_offset: int = MAX_OFFSET, limit: int | None = None
) -> RecordColumns:
    """The records with first_offset <= offset < end_offset of batches that lie in one buffer, as columns.

    The batches are all compressed or all not, and their sizes and CRCs were checked, if they are to be. Not all are
    taken if they decompress to too much: there is a segment for each that was. A damaged batch ends the columns before
    it, with the error: INVALID_RECORD, UNKNOWN_SERVER_ERROR for damaged compressed data, MESSAGE_TOO_LARGE if a batch
    decompresses to more than `limit` bytes.
    """
    next_offset = batches[0].base_offset
    segments: list[Segment] = []
    data, spans, error = _contents(batches, MAX_DECOMPRESSED_SIZE if limit is None else limit)
    array = _as_array(data)
    rows: Any = np.empty((ROW_COUNT, sum(batch.record_count for batch, _, _ in spans)), np.int64)
    at = 0
    for batch, start, end in spans:
        append_time = bool(batch.attributes & TIMESTAMP_TYPE_MASK)
        written = _kernels.decode_records(
            array,
            start,
            end,
            batch.record_count,
            batch.base_offset,
            batch.max_timestamp if append_time else batch.base_timestamp,
            append_time,
            first_offset,
            end_offset,
            rows,
            at,
        )
        if written < 0:
            error = _error(batch, -written)
            break
        at += written
        segments.append(Segment(at, batch.partition_leader_epoch, int(append_time)))
        next_offset = batch.base_offset + batch.last_offset_delta + 1
    if at < rows.shape[1]:
        rows = np.ascontiguousarray(rows[:, :at])
    return RecordColumns(data, rows, segments, next_offset, error)


def _contents(
    batches: Sequence[RecordBatch], limit: int
) -> tuple[Buffer, list[tuple[RecordBatch, int, int]], KafkaError | None]:
    """(a buffer, where in it the records of each batch lie, what is wrong with the batch behind those)."""
    spans = []
    error = None
    pieces: list[bytes] = []
    size = 0
    for batch in batches:
        try:
            if batch.is_compressed:
                pieces.append(batch.record_bytes(limit))
                start, size = size, size + len(pieces[-1])
                end = size
            else:
                start = batch.position + RECORD_BATCH_OVERHEAD
                end = batch.position + batch.size_in_bytes
            if not 0 <= batch.record_count <= (end - start) // _MIN_RECORD_SIZE:
                raise KafkaError(
                    Errors.INVALID_RECORD,
                    f"Found invalid record count {batch.record_count} in magic v{batch.magic} batch",
                )
        except KafkaError as found:
            error = found
            break
        spans.append((batch, start, end))
        if size > _CONTENT_BYTES:
            break
    if batches[0].is_compressed:
        return pieces[0] if len(pieces) == 1 else b"".join(pieces), spans, error
    return batches[0].data, spans, error


def _error(batch: RecordBatch, verdict: int) -> KafkaError:
    index, kind = divmod(verdict, 8)
    sentence = f"{_SENTENCES[kind]} (record {index} of {batch.record_count} in the batch at offset {batch.base_offset})"
    return KafkaError(Errors.INVALID_RECORD, sentence)


def decode_legacy_batches(
    batches: Sequence[LegacyRecordBatch],
    first_offset: int = 0,
    end_offset: int = MAX_OFFSET,
    limit: int | None = None,
) -> RecordColumns:
    """The same for messages of formats v0 and v1."""
    rows: list[tuple[int, ...]] = []
    pieces: list[bytes] = []
    segments: list[Segment] = []
    size = 0
    next_offset = first_offset
    error = None
    for batch in batches:
        if size > _CONTENT_BYTES:
            break
        begin = len(rows)
        try:
            for record in batch.records(MAX_DECOMPRESSED_SIZE if limit is None else limit):
                if first_offset <= record.offset < end_offset:
                    key, value = record.key or b"", record.value or b""
                    pieces += (key, value)
                    key_length = -1 if record.key is None else len(key)
                    value_length = -1 if record.value is None else len(value)
                    middle = size + len(key)
                    rows.append((record.offset, record.timestamp, size, key_length, middle, value_length, 0, 0))
                    size = middle + len(value)
        except KafkaError as found:
            error = found
            del rows[begin:]
            break
        segments.append(Segment(len(rows), -1, int(batch.timestamp_type)))
        next_offset = batch.next_offset
    table = np.array(rows, np.int64).reshape(len(rows), ROW_COUNT)
    return RecordColumns(b"".join(pieces), np.ascontiguousarray(table.T), segments, next_offset, error)


def gather(data: Buffer, starts: Any, lengths: Any) -> tuple[Any, Any, int]:
    """Pieces of `data` copied side by side: (where each begins, int32, and the last ends; uint8; how many are null).

    Null is a negative length. `OverflowError` if they take 2 GiB or more.
    """
    size = int(lengths[lengths > 0].sum())
    if size > 0x7FFFFFFF:
        raise OverflowError(f"{size} bytes of keys or values do not fit one array")
    offsets = np.empty(len(starts) + 1, np.int32)
    out = np.empty(size, np.uint8)
    nulls = _kernels.gather(_as_array(data), starts, lengths, offsets, out)
    return offsets, out, int(nulls)


def _as_array(data: Buffer) -> Any:
    array: Any = np.frombuffer(data, np.uint8)
    array.flags.writeable = False  # what the compiled kernels are declared for
    return array


def _read_headers(content: bytes, position: int, count: int) -> list[Header]:
    headers: list[Header] = []
    for _ in range(count):
        length, start = read_varint(content, position)
        position = start + length
        key = content[start:position].decode("utf-8", "replace")
        length, start = read_varint(content, position)
        position = start + max(length, 0)
        headers.append((key, content[start:position] if length >= 0 else None))
    return headers
