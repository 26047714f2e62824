"""Checks many records of a v2 batch together, as columns of bytes.

`runs` takes records of one size: they are at a constant distance, and a column is one slice with a step. `shapes` takes
records whose values differ in length: their heads are collected, and the columns are those of the heads. Both cost a
fraction of a Python step per record. Neither reports errors: they return how many records are right, and the others are
checked one by one.
"""

from __future__ import annotations

from typing import Final

_MIN_RUN: Final = 4
"""Fewer records are not worth the effort."""
_MAX_HEAD: Final = 256
"""Limit of bytes of a record before its value, since heads are copied for comparison; larger heads have large keys."""

_ASCII: Final = bytes(range(128))
_HIGH: Final = bytes(range(0x80, 0x100))
_HIGH_EVEN: Final = bytes(range(0x80, 0x100, 2))
_UP_TO: Final = [bytes(range(b + 1)) for b in range(256)]
_EVEN_UP_TO: Final = [bytes(range(0, b + 1, 2)) for b in range(128)]
"""For each byte, the one-byte varints of the numbers from 0 to its number."""
_ZIGZAG_RANK: Final = bytes((64 + (b >> 1) if b & 1 == 0 else 63 - (b >> 1)) if b < 128 else 0 for b in range(256))
"""One-byte varints in the order of their numbers (64 is the rank of 0)."""

# The varints of offset deltas d = 0, 1, 2, ...: the column of records without gaps.
_ONE_BYTE_OFFSETS: Final = bytes(range(0, 128, 2))
_LOW: Final = _HIGH_EVEN * 128  # the first byte of longer varints, d = 0 to 8191, repeated
_SECOND_LAST: Final = b"".join(bytes((k,)) * 64 for k in range(128))  # the last of two bytes, d = 0 to 8191
_SECOND_MORE: Final = bytes(b | 0x80 for b in _SECOND_LAST)  # the second of three bytes
_PERIOD: Final = 8192

# The distance from the first byte of a record's length to the record's end, by that byte (for two bytes: without the
# part of the second).
_STEP: Final = [(b >> 1) + 1 if b < 0x80 else (b - 0x80 >> 1) + 2 for b in range(256)]


# (number of valid records, their end, a lower bound of their timestamp deltas, the highest one, whether they have no
# keys)
Checked = tuple[int, int, int, int, bool]

# Positions of the fields of a record, which determine the widths of its varints: its body (after the length), its end,
# timestamp delta, offset delta, key (its length), value (its length), the first byte of the value, header count.
_Layout = tuple[int, int, int, int, int, int, int, int]


def check(data: bytes, position: int, index: int, left: int, sequential: bool) -> Checked | None:
    """Check as many records as possible from `position` on; None if that is fewer than four.

    `index`: the number of earlier records; `left`: the number of remaining ones; `sequential`: whether their offset
    deltas must be index, index + 1, ... (else they may be anything).
    """
    try:
        layout = _locate(data, position)
    except IndexError:
        return None
    if layout is None:
        return None
    end = layout[1]
    offset_width = layout[4] - layout[3]
    # Records are only alike while their offset deltas have the same width.
    if offset_width == 1:
        left = min(left, 64 - index)
    elif offset_width <= 3:
        left = min(left, _PERIOD - index % _PERIOD)
    else:
        return None
    if left < _MIN_RUN:
        return None
    stride = end - position
    length = len(data)
    if length - position >= stride * _MIN_RUN and data[end] == data[position] == data[end + stride]:
        found = _check_runs(data, position, index, min(left, (length - position) // stride), sequential, layout)
        if found is not None:
            return found
    return _check_shapes(data, position, index, left, sequential, layout)


def _locate(data: bytes, position: int) -> _Layout | None:
    """Return the layout of the record at `position`; None if it is unusual, wrong, or incomplete."""
    size = data[position]
    body = position + 1
    if size > 0x7F:
        byte = data[body]
        if byte > 0x7F:
            return None
        size = size & 0x7F | byte << 7
        body += 1
    end = body + (size >> 1)
    if size & 1 or end > len(data):
        return None
    timestamp = body + 1
    offset = timestamp + 1
    if data[timestamp] > 0x7F:
        if data[offset] > 0x7F:
            return None
        offset += 1
    at = offset
    while data[at] > 0x7F:
        at += 1
    key = at = at + 1
    size = data[at]
    at += 1
    if size > 0x7F:
        byte = data[at]
        if byte > 0x7F:
            return None
        size = size & 0x7F | byte << 7
        at += 1
    if size & 1 == 0:
        at += size >> 1
    value = at
    size = data[at]
    at += 1
    if size > 0x7F:
        byte = data[at]
        if byte > 0x7F:
            return None
        size = size & 0x7F | byte << 7
        at += 1
    content = at
    if size & 1 == 0:
        at += size >> 1
    if at >= end:
        return None
    return body, end, timestamp, offset, key, value, content, at


# ------------------------------------------------------------------------------------------------- records of one size


def _check_runs(
    data: bytes, position: int, index: int, count: int, sequential: bool, layout: _Layout
) -> Checked | None:
    body, first_end, timestamp, offset, key, value, content, header_count = layout
    stride = first_end - position
    end = position + count * stride

    # The bytes that are equal in all records: those of the lengths.
    constant = [position, key, value, header_count]
    if body - position == 2:
        constant.append(position + 1)
    if data[key] > 0x7F:
        constant.append(key + 1)
    if content - value == 2:
        constant.append(value + 1)
    if header_count + 1 != first_end:
        more = _locate_headers(data, header_count, first_end)
        if more is None:
            return None
        constant += more
    elif data[header_count]:
        return None
    for start in constant:
        column = data[start:end:stride]
        first = column[:1]
        if column != first * count:
            count -= len(column.lstrip(first))
            if count < _MIN_RUN:
                return None
            end = position + count * stride

    width = key - offset
    columns = [data[offset + i : end : stride] for i in range(width)]
    if not (_are_offsets(columns, index, count) if sequential else _are_varints(columns)):
        return None
    if offset - timestamp == 1:
        bounds = _one_byte_range(data[timestamp:end:stride])
    else:
        bounds = _two_byte_range(data[timestamp:end:stride], data[timestamp + 1 : end : stride])
    if bounds is None:
        return None
    return count, end, bounds[0], bounds[1], data[key] & 1 == 1


def _locate_headers(data: bytes, at: int, end: int) -> list[int] | None:
    """Return the positions of the lengths of the headers' keys and values; None unless all are one byte and the last
    ends at `end`.
    """
    fields = data[at]  # zigzag encoding doubles the count, and a header is a key and a value
    if fields > 0x7F or fields & 1:
        return None
    at += 1
    places = []
    for field in range(fields):
        places.append(at)
        size = data[at]
        at += 1
        if size > 0x7F:
            return None
        if size & 1 == 0:
            at += size >> 1
        elif field & 1 == 0:
            return None
    return places if at == end else None


# ----------------------------------------------------------------------------------- records with values of any length


def _check_shapes(
    data: bytes, position: int, index: int, count: int, sequential: bool, layout: _Layout
) -> Checked | None:
    """Check records without headers, with keys of one length, whose varints have the widths of the first record's."""
    body, first_end, timestamp, offset, key, value, content, header_count = layout
    size = content - position
    if header_count + 1 != first_end or data[header_count] or size > _MAX_HEAD:
        return None
    heads, end = _gather(data, position, count, size, body - position)
    gathered = count = len(heads)
    if count < _MIN_RUN:
        return None
    # A head is the byte before a record (the previous header count) and all bytes up to its value.
    joined = b"".join(heads)
    size += 1
    first = 1 - position

    # Each column gives the number of valid records from the start: the minimum counts.
    counts = joined[size::size] + data[end - 1 : end]
    if counts.count(0) != count:
        count -= len(counts.lstrip(b"\0"))
    lengths = [joined[at + first :: size] for at in range(position, body)]
    count = min(count, _leading_varints(lengths))
    values = [joined[at + first :: size] for at in range(value, content)]
    count = min(count, _leading_varints(values))
    for at in (key, key + 1) if data[key] > 0x7F else (key,):
        column = joined[at + first :: size]
        if column != column[:1] * gathered:
            count = min(count, gathered - len(column.lstrip(column[:1])))
    offsets = [joined[at + first :: size] for at in range(offset, key)]
    timestamps = [joined[at + first :: size] for at in range(timestamp, offset)]
    count = min(count, _leading_varints(timestamps))
    if count < _MIN_RUN:
        return None
    if count < gathered:
        lengths, values, offsets, timestamps = (
            [column[:count] for column in columns] for columns in (lengths, values, offsets, timestamps)
        )

    # After the value there must be exactly the byte of the header count: length - value length is the same for all.
    rest = _lanes([b"\1" * count]) * (2 * (content - body + 1))
    wrong = _lanes(lengths) ^ _lanes(values) + rest
    if wrong:
        count = ((wrong & -wrong).bit_length() - 1) // 16
        if count < _MIN_RUN:
            return None
        lengths, offsets, timestamps = (
            [column[:count] for column in columns] for columns in (lengths, offsets, timestamps)
        )
    if not (_are_offsets(offsets, index, count) if sequential else _are_varints(offsets)):
        return None
    bounds = _one_byte_range(*timestamps) if len(timestamps) == 1 else _two_byte_range(*timestamps)
    if bounds is None:
        return None
    if count < gathered:
        end = position + sum(map(_STEP.__getitem__, lengths[0]))
        if len(lengths) == 2:
            end += sum(lengths[1]) << 6
    return count, end, bounds[0], bounds[1], data[key] & 1 == 1


def _gather(data: bytes, position: int, count: int, size: int, width: int) -> tuple[list[bytes], int]:
    """Return the heads of up to `count` records, and the end of the last one.

    A head begins one byte before its record and has `size` bytes of it. `width`: bytes of each record's length, which
    the caller verifies.
    """
    head = b"\0" + data[position : position + size]
    heads = []
    step = _STEP
    before = position
    stop = len(data) - size
    if width == 1:
        for _ in range(count):
            heads.append(head)
            before = position
            position += step[head[1]]
            if position > stop:
                break
            head = data[position - 1 : position + size]
    else:
        for _ in range(count):
            heads.append(head)
            before = position
            position += step[head[1]] + (head[2] << 6)
            if position > stop:
                break
            head = data[position - 1 : position + size]
            if head[1] < 0x80:
                break
    if position > len(data):
        heads.pop()
        position = before
    return heads, position


# -------------------------------------------------------------------------------------------------------------- columns


def _are_offsets(columns: list[bytes], index: int, count: int) -> bool:
    """Return whether the columns are the varints of index, index + 1, ..., all of one width and one period."""
    if len(columns) == 1:
        return index < 64 and columns[0] == _ONE_BYTE_OFFSETS[index : index + count]
    phase = index % _PERIOD
    last = phase + count
    if index < 64 or columns[0] != _LOW[phase:last]:
        return False
    if len(columns) == 2:
        return index < _PERIOD and columns[1] == _SECOND_LAST[phase:last]
    high = index // _PERIOD
    return 0 < high < 128 and columns[1] == _SECOND_MORE[phase:last] and columns[2].count(high) == count


def _are_varints(columns: list[bytes]) -> bool:
    """Return whether the columns are the bytes of varints, all of this width."""
    return columns[-1].isascii() and not any(column.translate(None, _HIGH) for column in columns[:-1])


def _leading_varints(columns: list[bytes]) -> int:
    """Return how many of the first rows are varints of non-negative numbers of this width (1 or 2 bytes).

    An odd byte is null; one-byte varints may be null.
    """
    count = len(columns[0])
    last = columns[-1]
    if not last.isascii():
        count -= len(last.lstrip(_ASCII))
    if len(columns) == 2 and columns[0].translate(None, _HIGH_EVEN):
        count = min(count, len(columns[0]) - len(columns[0].lstrip(_HIGH_EVEN)))
    return count


def _lanes(columns: list[bytes]) -> int:
    """Return the raw numbers of varints of one or two bytes in one integer, 16 bits each, the first one lowest."""
    lanes = bytearray(2 * len(columns[0]))
    lanes[::2] = columns[0]
    number = int.from_bytes(lanes, "little")
    if len(columns) == 2:
        lanes[::2] = columns[1]
        number += int.from_bytes(lanes, "little") << 7
        lanes[::2] = b"\x80" * len(columns[0])
        number -= int.from_bytes(lanes, "little")
    return number


def _one_byte_range(column: bytes) -> tuple[int, int] | None:
    """Return (a lower bound, the maximum) of one-byte varints; None if one has more bytes."""
    last = column[-1]
    if last < 0x80:
        if last & 1 == 0 and not column.translate(None, _EVEN_UP_TO[last]):
            return 0, last >> 1  # the usual case: none is before the batch's first, and the last is the maximum
        if column.isascii():
            ranks = column.translate(_ZIGZAG_RANK)
            return min(ranks) - 64, max(ranks) - 64
    return None


def _two_byte_range(low: bytes, high: bytes) -> tuple[int, int] | None:
    """Return (a lower bound, the maximum) of varints with these first and second bytes.

    None if one has another width or is negative.
    """
    top = high[-1]
    if top > 0x7F or low.translate(None, _HIGH_EVEN):
        return None
    if high.translate(None, _UP_TO[top]):
        top = max(high)
        if top > 0x7F:
            return None
    # The maximum is among those with the highest second byte, which usually are the last ones.
    tail = low[high.find(top) :]
    if high.count(top) == len(tail):
        best = tail[-1]
        if tail.translate(None, _UP_TO[best]):
            best = max(tail)
    else:
        best = max(b for b, h in zip(low, high, strict=True) if h == top)
    return 0, (best & 0x7F | top << 7) >> 1
