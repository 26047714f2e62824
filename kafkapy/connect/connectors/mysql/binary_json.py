"""JSON documents of MySQL in their binary form."""

from __future__ import annotations

import base64
import json
import struct
from typing import Final

from kafkapy.connect.connectors.mysql.byte_reader import ByteReader
from kafkapy.connect.connectors.mysql.packed_values import read_packed_decimal
from kafkapy.connect.errors import DataException

_LITERALS: Final = {0: "null", 1: "true", 2: "false"}
_INLINE: Final = {4: 0, 5: 2, 6: 2, 7: 4, 8: 4}
"""Types whose values are where others have a place, with their size; those of 4 bytes only in large documents."""
_DEPTH: Final = 200


def json_text(data: bytes) -> str:
    """Return a document as text, as the server writes it.

    Args:
        data: Of the binary log; an empty one stands for null.

    Raises:
        DataException: It is damaged.

    Example:
        >>> json_text(bytes([5, 7, 0]))
        '7'
    """
    if not data:
        return "null"
    try:
        return _value(data[0], data[1:], 0)
    except (IndexError, struct.error, UnicodeDecodeError, KeyError) as error:
        raise DataException(f"A JSON document of the binary log is damaged: {error}") from error


def _value(type: int, data: bytes, depth: int) -> str:
    if depth > _DEPTH:
        raise DataException("A JSON document of the binary log is nested too deeply")
    match type:
        case 0 | 1 | 2 | 3:
            return _collection(data, type < 2, 4 if type & 1 else 2, depth)
        case 4:
            return _LITERALS[data[0]]
        case 5 | 6:
            return str(int.from_bytes(data[:2], "little", signed=type == 5))
        case 7 | 8:
            return str(int.from_bytes(data[:4], "little", signed=type == 7))
        case 9 | 10:
            return str(int.from_bytes(data[:8], "little", signed=type == 9))
        case 11:
            return repr(struct.unpack_from("<d", data)[0])
        case 12:
            length, start = _length(data, 0)
            return _quoted(data[start : start + length].decode())
        case 15:
            kind, (length, start) = data[0], _length(data, 1)
            return _of_sql(kind, data[start : start + length])
    raise DataException(f"A JSON document of the binary log has an unknown type {type}")


def _collection(data: bytes, is_object: bool, size: int, depth: int) -> str:
    """An object or array: count and size, entries of keys, entries of values, and what they point to."""
    reader = ByteReader(data)
    count, _ = reader.uint(size), reader.uint(size)
    keys = []
    for _ in range(count if is_object else 0):
        place, length = reader.uint(size), reader.uint(2)
        keys.append(_quoted(data[place : place + length].decode()))
    values = []
    for _ in range(count):
        type, entry = reader.uint(1), reader.take(size)
        is_inline = type in _INLINE and _INLINE[type] <= size
        values.append(_value(type, entry if is_inline else data[int.from_bytes(entry, "little") :], depth + 1))
    if is_object:
        return "{" + ", ".join(f"{key}: {value}" for key, value in zip(keys, values, strict=True)) + "}"
    return "[" + ", ".join(values) + "]"


def _length(data: bytes, at: int) -> tuple[int, int]:
    """A length in groups of seven bits, and where what it belongs to begins."""
    length = 0
    for number in range(5):
        byte = data[at + number]
        length |= (byte & 0x7F) << 7 * number
        if not byte & 0x80:
            return length, at + number + 1
    raise DataException("A JSON document of the binary log has a damaged length")


def _of_sql(kind: int, data: bytes) -> str:
    """A value of a type of SQL: a decimal is a number, dates and times are text, others Base64."""
    if kind == 246:
        return f"{read_packed_decimal(ByteReader(data, 2), data[0], data[1]):f}"
    if kind not in (7, 10, 11, 12):
        return _quoted(base64.b64encode(data).decode())
    packed = int.from_bytes(data[:8], "little", signed=True)
    whole, us = abs(packed) >> 24, abs(packed) & 0xFFFFFF
    clock = f"{whole >> 12 & 31:02d}:{whole >> 6 & 63:02d}:{whole & 63:02d}.{us:06d}"
    if kind == 11:
        hours = whole >> 12 & 0x3FF
        return _quoted(f"{'-' if packed < 0 else ''}{hours:02d}{clock[2:]}")
    months, day = whole >> 22, whole >> 17 & 31
    date = f"{months // 13:04d}-{months % 13:02d}-{day:02d}"
    return _quoted(date if kind == 10 else f"{date} {clock}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
