"""JSON as a value with a schema that follows from it."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.numbers import double_value
from kafkapy.connect.data.scalars import Int32, Int64
from kafkapy.connect.data.schema import (
    OPTIONAL_BOOLEAN_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException


def json_schema(name: str, node: Any, *, keeps_nulls: bool = False) -> Schema:
    """Return the schema that fits a JSON value; all its parts are optional.

    Args:
        name: Of the struct; structs inside of it have the names of their fields behind.
        node: As `json.loads` gives it.
        keeps_nulls: Whether null becomes optional bytes. Default: fields with null are left out.

    Raises:
        DataException: An array has values of different types, or an integer has more than 64 bits.

    Example:
        >>> json_schema("order", {"id": 5}).field("id").schema
        Schema{INT32}
    """
    found = _schema(name, node, keeps_nulls)
    if found is None:
        raise DataException("Null has no schema")
    return found


def _schema(name: str, node: Any, keeps_nulls: bool) -> Schema | None:
    match node:
        case None:
            return OPTIONAL_BYTES_SCHEMA if keeps_nulls else None
        case bool():
            return OPTIONAL_BOOLEAN_SCHEMA
        case int():
            return _of_integer(node)
        case float():
            return OPTIONAL_FLOAT64_SCHEMA
        case str():
            return OPTIONAL_STRING_SCHEMA
        case list():
            return _of_array(name, node, keeps_nulls)
    builder = SchemaBuilder(Type.STRUCT).name(name).optional()
    for key, each in node.items():
        schema = _schema(f"{name}.{key}", each, keeps_nulls)
        if schema is not None:
            builder.field(key, schema)
    return builder.build()


def _of_integer(node: int) -> Schema:
    if -(1 << 31) <= node < 1 << 31:
        return OPTIONAL_INT32_SCHEMA
    if -(1 << 63) <= node < 1 << 63:
        return OPTIONAL_INT64_SCHEMA
    raise DataException(f"The integer {node} has more than 64 bits")


def _of_array(name: str, node: list[Any], keeps_nulls: bool) -> Schema | None:
    if not node:
        return None
    found = [_schema(name, each, keeps_nulls) for each in node if each is not None]
    schemas = [each for each in found if each is not None]
    if not schemas:
        if not keeps_nulls:
            raise DataException(f"The array {name} has only nulls")
        schemas = [OPTIONAL_BYTES_SCHEMA]
    if any(each.type is not schemas[0].type for each in schemas):
        wide = {Type.INT32: 0, Type.INT64: 1, Type.FLOAT64: 2}
        if not all(each.type in wide for each in schemas):
            raise DataException(f"The array {name} has values of different types")
        schemas.sort(key=lambda each: wide[each.type], reverse=True)
    elif schemas[0].type is Type.STRUCT:
        schemas = [_merged(name, schemas)]
    return SchemaBuilder.array(schemas[0]).optional().build()


def _merged(name: str, schemas: list[Schema]) -> Schema:
    if all(each == schemas[0] for each in schemas):
        return schemas[0]
    fields: dict[str, Schema] = {}
    for schema in schemas:
        for field in schema.fields:
            known = fields.setdefault(field.name, field.schema)
            if known.type is not field.schema.type:
                raise DataException(f"The field {field.name} of the array {name} has values of different types")
    builder = SchemaBuilder(Type.STRUCT).name(name)
    for key, each in fields.items():
        builder.field(key, each)
    return builder.build()


def json_value(schema: Schema, node: Any) -> Any:
    """Return a JSON value as one of its schema.

    Args:
        schema: As `json_schema` gives it.
        node: As `json.loads` gives it.
    """
    if node is None:
        return None
    match schema.type:
        case Type.STRUCT:
            known = {field.name: json_value(field.schema, node.get(field.name)) for field in schema.fields}
            return Struct(schema, known)
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [json_value(schema.value_schema, each) for each in node]
        case Type.INT32:
            return Int32(node)
        case Type.INT64:
            return Int64(node)
        case Type.FLOAT64:
            return double_value(node)
        case Type.BYTES:
            return None
    return node
