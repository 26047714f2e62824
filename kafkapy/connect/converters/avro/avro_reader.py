"""Reads values of a type of Avro as those of its Connect schema; what to do is decided once for each pair of them."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.converters.avro.avro_anything import ANYTHING, read_anything
from kafkapy.connect.converters.avro.avro_encoding import DOUBLE, FLOAT, AvroInput, Decode
from kafkapy.connect.converters.avro.avro_options import is_union
from kafkapy.connect.converters.avro.avro_type import AvroTypeNode
from kafkapy.connect.converters.logical_values import TO_LOGICAL
from kafkapy.connect.data.decimals import wrap
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.scalars import Float32, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException


def reader(schema: Schema | None, type: AvroTypeNode) -> Decode:
    """Return the function that reads values.

    Args:
        schema: Connect's, made of `type`. None: values have none.
        type: Avro's.

    Raises:
        DataException: The two do not fit.

    Example:
        >>> reader(Schema(Type.INT16), AvroTypeNode("int"))(AvroInput(bytes([3])))
        -2
    """
    if schema is None:
        if type.name != ANYTHING:
            raise DataException("Invalid Avro data for schemaless Connect data")
        return read_anything
    if type.kind == "union":
        return _union(schema, type) if is_union(schema) else _branch(schema, type)
    return _logical(schema, _plain(schema, type))


def _plain(schema: Schema, type: AvroTypeNode) -> Decode:
    match schema.type:
        case Type.ARRAY:
            return _array(reader(schema.value_schema, type.item))
        case Type.MAP if type.kind == "map":
            return _map(AvroInput.text, reader(schema.value_schema, type.item))
        case Type.MAP:
            key, value = (field.type for field in type.item.fields)
            return _map(reader(schema.key_schema, key), reader(schema.value_schema, value))
        case Type.STRUCT:
            return _struct(schema, type)
    return _primitive(schema, type)


def _union(schema: Schema, type: AvroTypeNode) -> Decode:
    fields = iter(schema.fields)
    members: list[tuple[str, Decode] | None] = []
    for kind in type.branches:
        if kind.kind == "null":
            members.append(None)
        else:
            field = next(fields)
            members.append((field.name, reader(field.schema, kind)))

    def read(source: AvroInput) -> Any:
        member = _chosen(members, source)
        return None if member is None else Struct(schema, {member[0]: member[1](source)})

    return read


def _branch(schema: Schema, type: AvroTypeNode) -> Decode:
    members = [None if kind.kind == "null" else reader(schema, kind) for kind in type.branches]

    def read(source: AvroInput) -> Any:
        member = _chosen(members, source)
        return None if member is None else member(source)

    return read


def _chosen(members: list[Any], source: AvroInput) -> Any:
    index = source.long()
    if not 0 <= index < len(members):
        raise DataException(f"The Avro data choose member {index} of a union of {len(members)}")
    return members[index]


def _logical(schema: Schema, read: Decode) -> Decode:
    convert = TO_LOGICAL.get(schema.name or "")
    return read if convert is None else lambda source: convert(schema, read(source))


def _primitive(schema: Schema, type: AvroTypeNode) -> Decode:
    match type.kind:
        case "int":
            match schema.type:
                case Type.INT8:
                    return lambda source: Int8(wrap(source.long(), 8))
                case Type.INT16:
                    return lambda source: Int16(wrap(source.long(), 16))
            return lambda source: Int32(wrap(source.long(), 32))
        case "long":
            return lambda source: Int64(wrap(source.long(), 64))
        case "float":
            return lambda source: Float32(FLOAT.unpack(source.take(4))[0])
        case "double":
            return lambda source: DOUBLE.unpack(source.take(8))[0]
        case "boolean":
            return lambda source: bool(source.take(1)[0])
        case "bytes":
            return lambda source: source.take(source.long())
        case "fixed":
            return lambda source: source.take(type.size)
        case "enum":
            return _enum(type)
        case "string":
            return AvroInput.text
    raise DataException(f"Avro's {type.name or type.kind} cannot be read as {schema}")


def _enum(type: AvroTypeNode) -> Decode:
    def read(source: AvroInput) -> str:
        index = source.long()
        if not 0 <= index < len(type.symbols):
            raise DataException(f"The Avro data have symbol {index} of the enum {type.name}, which it lacks")
        return type.symbols[index]

    return read


def _array(read_item: Decode) -> Decode:
    def read(source: AvroInput) -> list[Any]:
        source.enter()
        items: list[Any] = []
        while count := source.count():
            items += [read_item(source) for _ in range(count)]
        source.leave()
        return items

    return read


def _map(read_key: Decode, read_value: Decode) -> Decode:
    def read(source: AvroInput) -> dict[Any, Any]:
        source.enter()
        entries: dict[Any, Any] = {}
        while count := source.count():
            for _ in range(count):
                key = as_key(read_key(source))
                entries[key] = read_value(source)
        source.leave()
        return entries

    return read


def _struct(schema: Schema, type: AvroTypeNode) -> Decode:
    parts = [
        (field.name, reader(field.schema, target.type))
        for field, target in zip(schema.fields, type.fields, strict=True)
    ]

    def read(source: AvroInput) -> Struct:
        made = Struct(schema)
        for name, read_field in parts:
            made.put(name, read_field(source))
        return made

    return read
