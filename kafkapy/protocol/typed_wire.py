"""Primitives of the codecs of hot versions as machine code (see `codec_modules`).

They are those of `wire`, but read from `bytes` at positions that are machine integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.protocol import wire

if TYPE_CHECKING:
    from mypy_extensions import i64


def int16_at(data: bytes, at: i64) -> i64:
    """Return an int16. `IndexError` if there are fewer bytes."""
    first: i64 = data[at]
    return (first << 8 | data[at + 1]) - ((first & 0x80) << 9)


def int32_at(data: bytes, at: i64) -> i64:
    """Return an int32. `IndexError` if there are fewer bytes."""
    first: i64 = data[at]
    second: i64 = data[at + 1]
    third: i64 = data[at + 2]
    return (first << 24 | second << 16 | third << 8 | data[at + 3]) - ((first & 0x80) << 25)


def raw_at(data: bytes, at: i64, size: i64) -> bytes:
    """Return `size` bytes. `IndexError` if there are fewer bytes."""
    end = at + size
    if end > len(data):
        raise IndexError
    return data[at:end]


def text_of(data: bytes) -> str:
    """Decode UTF-8; invalid bytes are replaced as in Java."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return str(data, "utf-8", wire.JAVA_UTF8)


def utf8(text: str) -> bytes:
    """Encode as UTF-8. `UnicodeEncodeError` for lone surrogates, `TypeError` if it is not text."""
    return text.encode()


def rest_of_varint(data: bytes, at: i64, first: i64) -> tuple[i64, i64]:
    """Return an unsigned varint whose first byte, above 127, has been read, and the position after it.

    `IndexError` if it is incomplete, `SchemaError` if it is longer than 5 bytes.
    """
    value = first & 0x7F
    shift: i64 = 7
    while shift < 35:
        byte: i64 = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise wire.SchemaError("a varint of more than 5 bytes")


def rest_of_count(data: bytes, at: i64, first: i64) -> tuple[i64, i64]:
    """Return the same for the count of a compact array or the size of records; negative values mean null."""
    count, at = rest_of_varint(data, at, first)
    if count >= 1 << 31:
        count = (count & 0xFFFFFFFF) - (1 << 32)
    return count, at


def rest_of_string_length(data: bytes, at: i64, first: i64) -> tuple[i64, i64]:
    """Return the same for a compact string, with the limit of other strings."""
    length, at = rest_of_varint(data, at, first)
    if length > wire.MAX_STRING + 1:
        raise wire.SchemaError(f"a string of {length - 1} bytes")
    return length, at
