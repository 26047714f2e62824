"""Confluent's wire format: the schema id in front of a record's bytes.


    0 | id of the schema, 4 bytes, big-endian | what the format wrote

Protobuf has the indexes of the message in its file after the id: their number and each of them as a zigzag varint; a single
zero byte stands for the file's first message. Newer producers may keep the schema's GUID in a header of the record instead:
a byte 1, then 16 bytes; the record's bytes have no prefix then.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from kafkapy.schemas.errors import SchemaDeserializationError
from kafkapy.serializer import Headers

MAGIC_BYTE = 0
MAGIC_BYTE_OF_GUIDS = 1
KEY_HEADER, VALUE_HEADER = "__key_schema_id", "__value_schema_id"
PREFIX = struct.Struct(">bI")
PREFIX_SIZE = PREFIX.size
_MOST_INDEXES = 1_000


class Written(NamedTuple):
    """The bytes of a record after the prefix, and the id or the GUID of the schema that they were written with."""

    schema: int | str
    payload: memoryview


def prefix(schema_id: int) -> bytes:
    return PREFIX.pack(MAGIC_BYTE, schema_id)


def read(data: bytes, headers: Headers = (), *, is_key: bool = False) -> Written:
    """Raises SchemaDeserializationError if neither prefix nor header says which schema it is."""
    if headers:
        guid = _guid_in(headers, KEY_HEADER if is_key else VALUE_HEADER)
        if guid is not None:
            return Written(guid, memoryview(data))
    if len(data) < PREFIX_SIZE:
        raise SchemaDeserializationError(
            f"These {len(data)} bytes are not in the registry's wire format, which has {PREFIX_SIZE} bytes before the value"
        )
    magic, schema_id = PREFIX.unpack_from(data)
    if magic != MAGIC_BYTE:
        raise SchemaDeserializationError(
            f"These bytes begin with {magic & 0xFF:#04x}; in the registry's wire format they begin with 0x00"
        )
    return Written(schema_id, memoryview(data)[PREFIX_SIZE:])


def _guid_in(headers: Headers, name: str) -> str | None:
    """The last header of that name counts."""
    for key, value in reversed(headers):
        if key == name and value is not None:
            if len(value) == 17 and value[0] == MAGIC_BYTE_OF_GUIDS:
                return str(UUID(bytes=bytes(value[1:])))
            if len(value) == PREFIX_SIZE and value[0] == MAGIC_BYTE:
                return None
            raise SchemaDeserializationError(f"The header {name} has no schema's GUID: {bytes(value)!r}")
    return None


def write_indexes(indexes: Sequence[int]) -> bytes:
    """Where a message is declared in its file: of each level from the top its index."""
    if list(indexes) == [0]:
        return b"\x00"
    return b"".join(map(_zigzag, [len(indexes), *indexes]))


def read_indexes(payload: memoryview) -> tuple[list[int], memoryview]:
    """The indexes, and the bytes behind them. Raises SchemaDeserializationError."""
    count, at = _unzigzag(payload, 0)
    if not 0 <= count <= _MOST_INDEXES:
        raise SchemaDeserializationError(f"A message cannot have {count} indexes")
    indexes = []
    for _ in range(count):
        index, at = _unzigzag(payload, at)
        if index < 0:
            raise SchemaDeserializationError(f"A message cannot have the index {index}")
        indexes.append(index)
    return indexes or [0], payload[at:]


def _zigzag(number: int) -> bytes:
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


def _unzigzag(data: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise SchemaDeserializationError("The indexes of the message are cut off")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at
