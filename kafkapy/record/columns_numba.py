"""The kernels below `columns` as machine code, compiled by numba, which runs without the interpreter lock.

They do what those of `columns_python` do, with the same verdicts; a property test compares them. Importing this module
takes about half a second, and some seconds the first time on a machine, when the code is compiled and cached.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types

from kafkapy.record.columns_python import (
    BAD_HEADER_COUNT,
    BAD_HEADER_KEY,
    BAD_SIZE,
    HEADER_COUNT,
    HEADER_KEY_LENGTH,
    HEADER_KEY_START,
    HEADER_START,
    HEADER_VALUE_LENGTH,
    HEADER_VALUE_START,
    KEY_LENGTH,
    KEY_START,
    LONG_VARINT,
    OFFSET,
    TIMESTAMP,
    TRAILING_BYTES,
    TRUNCATED,
    VALUE_LENGTH,
    VALUE_START,
    WRONG_SIZE,
)

_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_ROWS = types.int64[:, ::1]
_COLUMN = types.int64[::1]
_INT = types.int64

_7F = np.uint64(0x7F)
_80 = np.uint64(0x80)
_1 = np.uint64(1)
_7 = np.uint64(7)
_32_BITS = np.uint64(0xFFFFFFFF)


def _kernel(signature: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    def compile(function: Callable[..., int]) -> Any:
        try:
            return numba.njit(signature, nogil=True, cache=True)(function)
        except RuntimeError:  # there is no directory where the cache may be written
            return numba.njit(signature, nogil=True)(function)

    return compile


@numba.njit(nogil=True)
def _varint(data: Any, position: int, end: int) -> Any:
    """(int32, position after it); a negative verdict in the place of the position if there is none."""
    raw = np.uint64(0)
    shift = np.uint64(0)
    while True:
        if position >= end:
            return 0, -TRUNCATED
        byte = np.uint64(data[np.uint64(position)])
        position += 1
        raw |= (byte & _7F) << shift
        if byte < _80:
            break
        shift += _7
        if shift > 28:
            return 0, -LONG_VARINT
    raw &= _32_BITS
    return np.int64(raw >> _1) ^ -np.int64(raw & _1), position


@numba.njit(nogil=True)
def _varlong(data: Any, position: int, end: int) -> Any:
    """The same for an int64."""
    raw = np.uint64(0)
    shift = np.uint64(0)
    while True:
        if position >= end:
            return 0, -TRUNCATED
        byte = np.uint64(data[np.uint64(position)])
        position += 1
        raw |= (byte & _7F) << shift
        if byte < _80:
            break
        shift += _7
        if shift > 63:
            return 0, -LONG_VARINT
    return np.int64(raw >> _1) ^ -np.int64(raw & _1), position


@numba.njit(nogil=True)
def _piece(data: Any, position: int, end: int) -> tuple[int, int, int]:
    """A length and that many bytes: (start, length, position after them), the position as of `_varint`."""
    length, start = _varint(data, position, end)
    if start < 0:
        return 0, 0, start
    if length <= 0:
        return start, max(length, -1), start
    if length > end - start:
        return 0, 0, -TRUNCATED
    return start, length, start + length


@numba.njit(nogil=True)
def _skip_headers(data: Any, position: int, end: int, count: int) -> int:
    if count < 0 or count > end - position:
        return -BAD_HEADER_COUNT
    for _ in range(count):
        _, length, position = _piece(data, position, end)
        if position < 0:
            return position
        if length < 0:
            return -BAD_HEADER_KEY
        _, _, position = _piece(data, position, end)
        if position < 0:
            return position
    return position


@_kernel(_INT(_BYTES, _INT, _INT, _INT, _INT, _INT, types.boolean, _INT, _INT, _ROWS, _INT))
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
) -> Any:
    """See `columns_python.decode_records`."""
    begin = at
    for index in range(count):
        bad = -8 * index
        size, position = _varint(data, position, end)
        if position < 0:
            return bad + position
        if size < 0 or size > end - position:
            return bad - BAD_SIZE
        record_end = position + size
        timestamp_delta, position = _varlong(data, position + 1, end)
        if position < 0:
            return bad + position
        offset_delta, position = _varint(data, position, end)
        if position < 0:
            return bad + position
        key_start, key_length, position = _piece(data, position, end)
        if position < 0:
            return bad + position
        value_start, value_length, position = _piece(data, position, end)
        if position < 0:
            return bad + position
        header_count, header_start = _varint(data, position, end)
        if header_start < 0:
            return bad + header_start
        position = header_start
        if header_count != 0:
            position = _skip_headers(data, position, end, header_count)
            if position < 0:
                return bad + position
        if position != record_end:
            return bad - WRONG_SIZE
        offset = base_offset + offset_delta
        if first_offset <= offset < end_offset:
            rows[OFFSET, at] = offset
            rows[TIMESTAMP, at] = base_timestamp if append_time else base_timestamp + timestamp_delta
            rows[KEY_START, at] = key_start
            rows[KEY_LENGTH, at] = key_length
            rows[VALUE_START, at] = value_start
            rows[VALUE_LENGTH, at] = value_length
            rows[HEADER_START, at] = header_start
            rows[HEADER_COUNT, at] = header_count
            at += 1
    if position != end:
        return -8 * count - TRAILING_BYTES
    return at - begin


@_kernel(_INT(_BYTES, _COLUMN, _COLUMN, _ROWS))
def decode_headers(data: Any, starts: Any, counts: Any, rows: Any) -> int:
    """See `columns_python.decode_headers`."""
    at = 0
    end = len(data)
    for i in range(len(starts)):
        position = starts[i]
        for _ in range(counts[i]):
            key_start, key_length, position = _piece(data, position, end)
            value_start, value_length, position = _piece(data, position, end)
            rows[HEADER_KEY_START, at] = key_start
            rows[HEADER_KEY_LENGTH, at] = key_length
            rows[HEADER_VALUE_START, at] = value_start
            rows[HEADER_VALUE_LENGTH, at] = value_length
            at += 1
    return at


@_kernel(_INT(_BYTES, _COLUMN, _COLUMN, types.int32[::1], types.uint8[::1]))
def gather(data: Any, starts: Any, lengths: Any, offsets: Any, out: Any) -> int:
    """See `columns_python.gather`."""
    nulls = 0
    to = np.uint64(0)  # an unsigned index is not looked at for counting from the end; so the loop becomes a memcpy
    for i in range(len(starts)):
        offsets[i] = to
        if lengths[i] < 0:
            nulls += 1
            continue
        start = np.uint64(starts[i])
        length = np.uint64(lengths[i])
        for j in range(length):
            out[to + j] = data[start + j]
        to += length
    offsets[len(starts)] = to
    return nulls
