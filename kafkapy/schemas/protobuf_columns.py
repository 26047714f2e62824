"""Protobuf messages as rows: their types in Arrow, and their values.

A field without presence has its default where it isn't set, as Protobuf reads it; one with presence (messages, `optional`,
members of a oneof) is null there. Enums are their names, unsigned numbers the next type that holds them, Timestamps and the
wrappers what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafkapy.schemas.errors import SchemaDeserializationError, SerdeError
from kafkapy.schemas.protobuf import message_at
from kafkapy.schemas.wire_format import read_indexes

_NUMBERS = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.decimal128(20, 0),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
}
_TIMESTAMP = "google.protobuf.Timestamp"
_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
Read = Callable[[Any], Any]


class MessageRows:
    """Reads messages of a file's first type. Raises SerdeError for a type that contains itself.

    `message`: its descriptor; `type`: of rows.
    """

    def __init__(self, message: Descriptor) -> None:
        self.message = message
        self.type, self._row = _message(message, ())
        self._class = message_factory.GetMessageClass(message)

    def read(self, payload: bytes) -> Any:
        """`payload`: indexes and message. Raises SchemaDeserializationError, and Protobuf's DecodeError."""
        indexes, content = read_indexes(memoryview(payload))
        found = self._class()
        if indexes != [0]:
            name = message_at(self.message.file, indexes).full_name
            raise SchemaDeserializationError(
                f"the message is a {name}, and columns are made of the first type of a file, {self.message.full_name}"
            )
        found.ParseFromString(bytes(content))
        return self._row(found)


def _message(message: Descriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Read]:
    name = message.full_name
    if name in inside:
        raise SerdeError(f"{name} contains itself, so it has no type as a column")
    if name == _TIMESTAMP:
        return pa.timestamp("us", "UTC"), lambda found: found.seconds * 1_000_000 + found.nanos // 1000
    if name in _WRAPPERS:
        return _single(message.fields_by_name["value"], (*inside, name))[0], lambda found: found.value
    fields: list[tuple[str, Read]] = []
    types = []
    for field in message.fields:
        type, read = _field(field, (*inside, name))
        types.append(pa.field(field.name, type))
        fields.append((field.name, read))
    return pa.struct(types), lambda found: {name: read(found) for name, read in fields}


def _field(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Read]:
    """Its type, and what reads it of the message that has it."""
    name = field.name
    if _is_repeated(field):
        return _repeated(field, inside)
    type, value = _single(field, inside)
    if not field.has_presence:
        return type, lambda found: value(getattr(found, name))
    return type, lambda found: value(getattr(found, name)) if found.HasField(name) else None


def _is_repeated(field: FieldDescriptor) -> bool:
    if hasattr(field, "is_repeated"):  # since Protobuf 6.30, which warns of labels
        return bool(field.is_repeated)
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)


def _repeated(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Read]:
    name = field.name
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        key_type, key = _single(kind.fields_by_name["key"], inside)
        value_type, value = _single(kind.fields_by_name["value"], inside)
        read = lambda found: [(key(one), value(other)) for one, other in getattr(found, name).items()]  # noqa: E731
        return pa.map_(key_type, value_type), read
    type, each = _single(field, inside)
    return pa.list_(type), lambda found: [each(one) for one in getattr(found, name)]


def _single(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[pa.DataType, Read]:
    """Of one value of the field."""
    if field.message_type is not None:
        return _message(field.message_type, inside)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return pa.string(), lambda number: names.get(number, str(number))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return pa.binary() if field.type == FieldDescriptor.TYPE_BYTES else pa.string(), lambda value: value
    return _NUMBERS[field.cpp_type], lambda value: value
