"""Encodes whole batches from columns, for the producer.

The bytes are those of `MemoryRecordsBuilder` (and of the Java client), created without a Python step per record: a
record is a few small pieces around key and value, each a function of a length or an offset, so that `map` takes pieces
from tables and one `join` concatenates them.

A batch is cut into segments in which timestamp and size of the offset's varint are constant; then the size of a record
depends only on the lengths of key and value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkapy.record.compression import CompressionType, compress
from kafkapy.record.record_batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_MASK,
    Buffer,
)
from kafkapy.record.records_builder import encode_batch
from kafkapy.record.varint import encode_varint, size_of_varint

Headers = Sequence[tuple[str, bytes | None]]
TimeRun = tuple[int, int]
"""(index of the first record, ms): the timestamp of all records up to the next run."""

_OFFSET_STEPS = (64, 8192, 1 << 20, 1 << 27)
"""The offsets at which the varint grows by a byte."""
_MAX_TABLE = 1 << 16
"""Limit of a table's entries, after which it is cleared, so that unusual record sizes do not fill the memory."""
_FEW_RECORDS = 2
"""For fewer records the tables are not worth their cost."""
_NULL_LENGTH = -1
"""The length that means null."""


class Columns(NamedTuple):
    """The records of a batch. `keys` and `headers` None: no record has any; `runs`: see `TimeRun`, the first starts at
    0.
    """

    values: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None
    headers: Sequence[Headers | None] | None
    runs: Sequence[TimeRun]


class BatchProducer(NamedTuple):
    """The producer's fields of a batch."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False


NO_PRODUCER = BatchProducer()


class EncodedRecords(NamedTuple):
    """The records' bytes, compressed, and the header fields that depend on them. `uncompressed_size` in bytes."""

    body: Buffer
    record_count: int
    codec: CompressionType
    base_timestamp: int
    max_timestamp: int
    uncompressed_size: int


def encode_columns(
    columns: Columns, codec: CompressionType = CompressionType.NONE, level: int | None = None
) -> EncodedRecords:
    """Encode the part of a batch that doesn't depend on its producer: it remains valid when sequences change."""
    return encoded_records(encode_records(columns), len(columns.values), columns.runs, codec, level)


def encoded_records(
    body: Buffer,
    count: int,
    runs: Sequence[TimeRun],
    codec: CompressionType = CompressionType.NONE,
    level: int | None = None,
) -> EncodedRecords:
    """Compress `count` encoded records, whose bytes are `body`."""
    size = len(body)
    if codec:
        body = compress(codec, body, level)
    max_timestamp = max(timestamp for _, timestamp in runs)
    return EncodedRecords(body, count, codec, runs[0][1], max_timestamp, size)


def finish_batch(records: EncodedRecords, producer: BatchProducer = NO_PRODUCER) -> bytes:
    """Return a v2 batch of encoded records, with its CRC."""
    return encode_batch(
        records.body,
        base_offset=0,
        last_offset_delta=records.record_count - 1,
        record_count=records.record_count,
        attributes=int(records.codec) | (TRANSACTIONAL_MASK if producer.is_transactional else 0),
        base_timestamp=records.base_timestamp,
        max_timestamp=records.max_timestamp,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=producer.base_sequence,
    )


def time_runs(timestamps: Sequence[int]) -> list[TimeRun]:
    """Return timestamps of single records (ms) as runs."""
    runs = [(0, timestamps[0])]
    runs += [(i, t) for i, (t, before) in enumerate(zip(timestamps[1:], timestamps, strict=False), 1) if t != before]
    return runs


def encode_records(columns: Columns) -> bytes:
    """Return the concatenated records, uncompressed."""
    count = len(columns.values)
    if columns.headers is not None or count <= _FEW_RECORDS or len(columns.runs) > 16 + count // 16:
        return b"".join(_irregular(columns))
    _keep_tables_small()
    pieces: list[bytes] = []
    base_timestamp = columns.runs[0][1]
    for start, end, timestamp in _segments(columns.runs, count):
        delta = encode_varint(timestamp - base_timestamp)
        if columns.keys is None:
            _values_only(columns.values[start:end], start, delta, pieces)
        else:
            _keys_and_values(columns.keys[start:end], columns.values[start:end], start, delta, pieces)
    pieces.append(b"\0")  # the header count of the last record; others are stored with the next record's head
    return b"".join(pieces)[1:]


def _segments(runs: Sequence[TimeRun], count: int) -> list[tuple[int, int, int]]:
    """Return (start, end, timestamp) of the parts in which timestamp and size of the offset's varint are constant."""
    segments = []
    for i, (start, timestamp) in enumerate(runs):
        end = runs[i + 1][0] if i + 1 < len(runs) else count
        for step in _OFFSET_STEPS:
            if start < step < end:
                segments.append((start, step, timestamp))
                start = step
        segments.append((start, end, timestamp))
    return segments


class _Table(dict[int, bytes]):
    """Pieces by length of key or value, created on demand."""

    def __init__(self, constant: int) -> None:
        self.constant = constant


class _Heads(_Table):
    """Total size of key and value with their lengths -> the header count of the previous record, the record's length
    and attributes. `constant`: the size of the record's other fields.
    """

    def __missing__(self, size: int) -> bytes:
        piece = self[size] = b"\0" + encode_varint(size + self.constant) + b"\0"
        return piece


class _Lengths(_Table):
    """Length, -1 for null -> its varint."""

    def __missing__(self, length: int) -> bytes:
        piece = self[length] = encode_varint(length)
        return piece


class _NullKeyAndLengths(_Table):
    """Length of the value -> a null key and the varint of the length."""

    def __missing__(self, length: int) -> bytes:
        piece = self[length] = b"\x01" + encode_varint(length)
        return piece


class _ValueHeads(_Table):
    """As `_Heads`, by the length of the value, for records with null key."""

    def __missing__(self, length: int) -> bytes:
        size = 1 + size_of_varint(length) + max(length, 0)
        piece = self[length] = b"\0" + encode_varint(size + self.constant) + b"\0"
        return piece


class _Sizes(dict[int, int]):
    """Length -> bytes of the field including its length."""

    def __missing__(self, length: int) -> int:
        size = self[length] = size_of_varint(length) + max(length, 0)
        return size


_offsets: list[bytes] = [encode_varint(i) for i in range(8192)]
_lengths = _Lengths(0)
_null_keys = _NullKeyAndLengths(0)
_sizes = _Sizes()
_heads: dict[int, _Heads] = {}
_value_heads: dict[int, _ValueHeads] = {}


def _keep_tables_small() -> None:
    for tables in (_heads, _value_heads):
        if sum(map(len, tables.values())) > _MAX_TABLE:
            tables.clear()
    for table in (_lengths, _null_keys, _sizes):
        if len(table) > _MAX_TABLE:
            table.clear()


def _offset_varints(start: int, end: int) -> list[bytes]:
    while end > len(_offsets):
        known = len(_offsets)
        _offsets.extend(encode_varint(i) for i in range(known, max(end, 2 * known)))
    return _offsets[start:end]


def _with_lengths(fields: Sequence[bytes | None]) -> tuple[Sequence[bytes], list[int]]:
    """Return the fields with b"" for null, and their lengths with -1 for null."""
    try:
        return fields, list(map(len, fields))  # type: ignore[return-value, arg-type]
    except TypeError:
        lengths = [_NULL_LENGTH if field is None else len(field) for field in fields]
        return [field or b"" for field in fields], lengths


def _values_only(fields: Sequence[bytes | None], first_offset: int, delta: bytes, pieces: list[bytes]) -> None:
    """Append the pieces of records without key: head, timestamp, offset, null key and length, value."""
    count = len(fields)
    values, lengths = _with_lengths(fields)
    offsets = _offset_varints(first_offset, first_offset + count)
    constant = 2 + len(delta) + len(offsets[0])  # attributes, timestamp, offset, header count
    heads = _value_heads.get(constant)
    if heads is None:
        heads = _value_heads[constant] = _ValueHeads(constant)
    block: list[bytes] = [delta] * (5 * count)
    block[0::5] = map(heads.__getitem__, lengths)
    block[2::5] = offsets
    block[3::5] = map(_null_keys.__getitem__, lengths)
    block[4::5] = values
    pieces += block


def _keys_and_values(
    key_fields: Sequence[bytes | None],
    value_fields: Sequence[bytes | None],
    first_offset: int,
    delta: bytes,
    pieces: list[bytes],
) -> None:
    """Append the pieces of records: head, timestamp, offset, length, key, length, value."""
    count = len(value_fields)
    keys, key_lengths = _with_lengths(key_fields)
    values, value_lengths = _with_lengths(value_fields)
    offsets = _offset_varints(first_offset, first_offset + count)
    constant = 2 + len(delta) + len(offsets[0])
    heads = _heads.get(constant)
    if heads is None:
        heads = _heads[constant] = _Heads(constant)
    size = _sizes.__getitem__
    block: list[bytes] = [delta] * (7 * count)
    block[0::7] = [heads[k + v] for k, v in zip(map(size, key_lengths), map(size, value_lengths), strict=True)]
    block[2::7] = offsets
    block[3::7] = map(_lengths.__getitem__, key_lengths)
    block[4::7] = keys
    block[5::7] = map(_lengths.__getitem__, value_lengths)
    block[6::7] = values
    pieces += block


def _irregular(columns: Columns) -> list[bytes]:
    """Return the pieces of few records, or of records with headers or separate timestamps."""
    values = columns.values
    count = len(values)
    keys = columns.keys if columns.keys is not None else [None] * count
    headers = columns.headers if columns.headers is not None else [None] * count
    timestamps = _expand(columns.runs, count)
    base_timestamp = timestamps[0]
    pieces: list[bytes] = []
    add = pieces.append
    for offset, (key, value, own_headers, timestamp) in enumerate(zip(keys, values, headers, timestamps, strict=True)):
        delta = encode_varint(timestamp - base_timestamp)
        offset_delta = encode_varint(offset)
        tail = encode_headers(own_headers) if own_headers else b"\0"
        key_length = _lengths[_NULL_LENGTH if key is None else len(key)]
        value_length = _lengths[_NULL_LENGTH if value is None else len(value)]
        size = 1 + len(delta) + len(offset_delta) + len(key_length) + len(value_length) + len(tail)
        add(encode_varint(size + len(key or b"") + len(value or b"")) + b"\0" + delta + offset_delta + key_length)
        if key:
            add(key)
        add(value_length)
        if value:
            add(value)
        add(tail)
    return pieces


def encode_headers(headers: Headers) -> bytes:
    """Encode the header count and the headers of one record."""
    pieces = [encode_varint(len(headers))]
    for name, content in headers:
        encoded = name.encode()
        pieces += (encode_varint(len(encoded)), encoded)
        if content is None:
            pieces.append(b"\x01")
        else:
            pieces += (encode_varint(len(content)), content)
    return b"".join(pieces)


def _expand(runs: Sequence[TimeRun], count: int) -> list[int]:
    timestamps: list[int] = []
    for i, (start, timestamp) in enumerate(runs):
        end = runs[i + 1][0] if i + 1 < len(runs) else count
        timestamps += [timestamp] * (end - start)
    return timestamps
