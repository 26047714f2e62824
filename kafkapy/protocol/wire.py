"""Primitives of Kafka's wire format that are too long or too rare to be inlined in compiled codecs."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NoReturn, TypeAlias

from kafkapy.protocol.errors import KafkaError

Buffer: TypeAlias = bytes | bytearray | memoryview

MAX_STRING: Final = 0x7FFF
"""Kafka's limit for strings, in bytes of UTF-8, with either an int16 or a varint length."""

JAVA_UTF8: Final = "kafkapy-java-utf-8"
"""Error handler for invalid UTF-8: replaces it as Java's decoder does."""


class SchemaError(ValueError):
    """Bytes that are not the expected message, or a value that does not fit its field."""


DECODE_ERRORS: Final = (SchemaError, struct.error, IndexError)
"""Errors of decoders."""

ENCODE_ERRORS: Final = (KafkaError, SchemaError, struct.error, AttributeError, TypeError, UnicodeEncodeError)
"""Errors of encoders."""


def _java_replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    # Python replaces as many bytes at a time as Java, except for surrogates (CESU-8), which are one U+FFFD in Java.
    end = error.end
    start = error.object[error.start : error.start + 3]
    if len(start) > 1 and start[0] == 0xED and start[1] & 0xE0 == 0xA0:
        end = error.start + (3 if len(start) == 3 and start[2] & 0xC0 == 0x80 else 2)
    return "\ufffd", end


codecs.register_error(JAVA_UTF8, _java_replacement)


@cache
def packer(codes: str) -> struct.Struct:
    """Return the big-endian struct of these format characters; all codecs share one."""
    return struct.Struct(">" + codes)


SMALL: Final = 16
"""Arrays of fewer numbers than this have cached structs."""


@cache
def small_unpackers(code: str) -> tuple[Callable[[Buffer, int], tuple[Any, ...]], ...]:
    """Return `unpack_from` for 0, 1, ... `SMALL - 1` numbers of this format character."""
    return tuple(packer(f"{count}{code}").unpack_from for count in range(SMALL))


@cache
def small_packers(code: str, compact: bool) -> tuple[Callable[..., bytes], ...]:
    """Return `pack` for the count and 0, 1, ... `SMALL - 1` numbers; the count of a compact array is a byte, stored
    plus one.
    """
    return tuple(packer(f"{'B' if compact else 'i'}{count}{code}").pack for count in range(SMALL))


# --- decoding


def rest_of_varint(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Return an unsigned varint whose first byte, above 127, has been read, and the position after it."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, position
    raise SchemaError("a varint of more than 5 bytes")


def rest_of_count(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Return the same for the count of a compact array: an int32 in Java, so 2^31 or more is negative there (and means
    null).
    """
    count, position = rest_of_varint(buffer, position, first)
    if count >= 1 << 31:
        count = (count & 0xFFFFFFFF) - (1 << 32)
    return count, position


def rest_of_string_length(buffer: Buffer, position: int, first: int) -> tuple[int, int]:
    """Return the same for the length of a compact string, with the limit of other strings."""
    length, position = rest_of_varint(buffer, position, first)
    if length > MAX_STRING + 1:
        raise SchemaError(f"a string of {length - 1} bytes")
    return length, position


def unsigned_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    first = buffer[position]
    return (first, position + 1) if first < 128 else rest_of_varint(buffer, position + 1, first)


def skip_tagged_fields(buffer: Buffer, position: int, count: int) -> int:
    """Return the position after `count` unknown tagged fields. `count` is the first byte of the varint."""
    if count > 127:
        count, position = rest_of_varint(buffer, position, count)
    check_tag_count(count, len(buffer) - position)
    for _ in range(count):
        _, position = unsigned_varint(buffer, position)
        size, position = unsigned_varint(buffer, position)
        position += size
        if position > len(buffer):
            raise SchemaError(f"a tagged field of {size} bytes goes beyond the message's end")
    return position


def check_tag_count(count: int, remaining: int) -> None:
    """Check that each tagged field has two bytes or more."""
    if count * 2 > remaining:
        raise SchemaError(f"{count} tagged fields in {remaining} bytes")


def bad_count(name: str, count: int, remaining: int) -> NoReturn:
    if count < 0:
        raise SchemaError(f"{name} is null, which this version does not allow")
    raise SchemaError(f"{name} has {count} elements, but only {remaining} bytes remain")


def bad_length(name: str, length: int, remaining: int) -> NoReturn:
    if length < 0:
        raise SchemaError(f"{name} is null, which this version does not allow")
    raise SchemaError(f"{name} has {length} bytes, but only {remaining} remain")


def bad_tag(name: str, tag: int, version: int) -> NoReturn:
    raise SchemaError(f"tag {tag} ({name}) does not exist in version {version}")


# --- encoding

BYTE: Final = tuple(bytes((n,)) for n in range(128))
"""Varints of one byte."""


_two_bytes: Final = struct.Struct(">BB").pack
_three_bytes: Final = struct.Struct(">BBB").pack


def varint(value: int) -> bytes:
    """Return an unsigned varint; `SchemaError` if it does not fit 32 bits."""
    if not 0 <= value <= 0xFFFFFFFF:
        raise SchemaError(f"{value} is no unsigned varint")
    if value < 128:
        return BYTE[value]
    if value < 1 << 14:
        return _two_bytes(value & 0x7F | 0x80, value >> 7)
    if value < 1 << 21:
        return _three_bytes(value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14)
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def string_length(length_and_one: int) -> bytes:
    """Return the varint before a compact string, with the limit of other strings."""
    if length_and_one > MAX_STRING + 1:
        raise SchemaError(f"a string of {length_and_one - 1} bytes is too long")
    return varint(length_and_one)


def bad_uuid(name: str, value: bytes) -> NoReturn:
    raise SchemaError(f"{name} is {value!r}, not a uuid of 16 bytes")


def tagged_fields(fields: Sequence[tuple[int, bytes]]) -> bytes:
    """Return a section of tagged fields: (tag, encoded value), tags ascending."""
    parts = [varint(len(fields))]
    for tag, value in fields:
        parts += (varint(tag), varint(len(value)), value)
    return b"".join(parts)


def joined(parts: list[Any], large: list[int]) -> list[Any]:
    """Join adjacent parts; those whose indexes are in `large` stay separate."""
    pieces: list[Any] = []
    start = 0
    for index in large:
        pieces += (b"".join(parts[start:index]), parts[index])
        start = index + 1
    pieces.append(b"".join(parts[start:]))
    return pieces
