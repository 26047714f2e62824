"""The kernels below `columns` in plain Python: what runs where numba is not there, or not worth its import.

`decode_records` is the definition of what a well-formed record is; `columns_numba` has to agree with it in everything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kafkapy.protocol.errors import KafkaError
from kafkapy.record.varint import read_varint, read_varlong

ROW_COUNT = 8
OFFSET, TIMESTAMP, KEY_START, KEY_LENGTH, VALUE_START, VALUE_LENGTH, HEADER_START, HEADER_COUNT = range(ROW_COUNT)
"""The rows of the table that is filled, one column for each record: absolute offset; absolute timestamp in ms; where
key and value lie and how long they are (-1: null); where the first header lies and how many there are."""

HEADER_ROW_COUNT = 4
HEADER_KEY_START, HEADER_KEY_LENGTH, HEADER_VALUE_START, HEADER_VALUE_LENGTH = range(HEADER_ROW_COUNT)

TRUNCATED, LONG_VARINT, BAD_SIZE, WRONG_SIZE, BAD_HEADER_COUNT, BAD_HEADER_KEY, TRAILING_BYTES = range(1, 8)
"""Verdicts. A kernel returns how many records it wrote, or -(8 * index of the bad record + verdict)."""

_MASK = 0xFFFFFFFFFFFFFFFF
_SIGN = 0x8000000000000000


class _Bad(Exception):
    """Carries a verdict."""


def decode_records(
    data: Any,
    position: int,
    end: int,
    count: int,
    base_offset: int,
    base_timestamp: int,
    append_time: bool,
    first_offset: int,
    end_offset: int,
    rows: Any,
    at: int,
) -> int:
    """Decode the `count` records of a v2 batch that fill `data[position:end]` exactly.

    Those with first_offset <= offset < end_offset are written to the columns of `rows` from `at` on. `append_time`:
    `base_timestamp` is the timestamp of all. Returns how many were written, or the verdict as above.
    """
    content = bytes(data[position:end])
    start = position
    position = 0
    found: list[tuple[int, ...]] = []
    index = -1
    try:
        while (index := index + 1) < count:
            row, position = _decode_record(content, position, start)
            offset = _int64(base_offset + row[0])
            if first_offset <= offset < end_offset:
                timestamp = base_timestamp if append_time else _int64(base_timestamp + row[1])
                found.append((offset, timestamp, *row[2:]))
    except _Bad as bad:
        return -(8 * index + int(bad.args[0]))
    except IndexError:
        return -(8 * index + TRUNCATED)
    except KafkaError:
        return -(8 * index + LONG_VARINT)
    if position != len(content):
        return -(8 * count + TRAILING_BYTES)
    if found:
        rows[:, at : at + len(found)] = np.array(found, np.int64).T
    return len(found)


def _decode_record(data: bytes, position: int, start: int) -> tuple[tuple[int, ...], int]:
    """(offset delta, timestamp delta, the other rows), position after the record. `start` is added to positions."""
    size, position = read_varint(data, position)
    end = position + size
    if size < 0 or end > len(data):
        raise _Bad(BAD_SIZE)
    timestamp_delta, position = read_varlong(data, position + 1)
    offset_delta, position = read_varint(data, position)
    key_length, key_start = read_varint(data, position)
    position = _skip(data, key_start, key_length)
    value_length, value_start = read_varint(data, position)
    position = _skip(data, value_start, value_length)
    header_count, header_start = read_varint(data, position)
    position = header_start
    if header_count:
        if not 0 < header_count <= len(data) - position:
            raise _Bad(BAD_HEADER_COUNT)
        for _ in range(header_count):
            length, position = read_varint(data, position)
            if length < 0:
                raise _Bad(BAD_HEADER_KEY)
            position = _skip(data, position, length)
            length, position = read_varint(data, position)
            position = _skip(data, position, length)
    if position != end:
        raise _Bad(WRONG_SIZE)
    return (
        offset_delta,
        timestamp_delta,
        start + key_start,
        max(key_length, -1),
        start + value_start,
        max(value_length, -1),
        start + header_start,
        header_count,
    ), position


def _skip(data: bytes, position: int, length: int) -> int:
    if length <= 0:
        return position
    if length > len(data) - position:
        raise IndexError
    return position + length


def _int64(value: int) -> int:
    """Overflow wraps, as in Java."""
    return ((value & _MASK) ^ _SIGN) - _SIGN


def decode_headers(data: Any, starts: Any, counts: Any, rows: Any) -> int:
    """Where the headers of records lie, record after record, into `rows` (the HEADER_… rows); returns how many.

    The bytes have passed `decode_records`, and `rows` has room for the sum of `counts`.
    """
    content = bytes(data)
    at = 0
    for position, count in zip(starts.tolist(), counts.tolist(), strict=True):
        for _ in range(count):
            key_length, key_start = read_varint(content, position)
            value_length, value_start = read_varint(content, key_start + key_length)
            position = value_start + max(value_length, 0)
            rows[:, at] = key_start, key_length, value_start, max(value_length, -1)
            at += 1
    return at


def gather(data: Any, starts: Any, lengths: Any, offsets: Any, out: Any) -> int:
    """Copy the pieces of `data` side by side into `out`, and where each begins (and the last ends) into `offsets`.

    A negative length counts as 0. Returns how many pieces were null (negative).
    """
    sizes = np.maximum(lengths, 0)
    offsets[0] = 0
    np.cumsum(sizes, out=offsets[1:])
    view = memoryview(data)
    pieces = [view[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    out[: offsets[-1]] = np.frombuffer(b"".join(pieces), np.uint8)
    return int((lengths < 0).sum())
