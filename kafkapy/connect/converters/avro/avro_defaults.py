"""Defaults of Connect's schemas in JSON, as Avro's schemas have them, and back."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.converters.avro.avro_options import AvroOptions, is_union
from kafkapy.connect.converters.avro.avro_type import NO_DEFAULT, AvroTypeNode
from kafkapy.connect.converters.logical_values import from_logical, to_logical
from kafkapy.connect.data.numbers import byte_value, double_value, float32, int_value, long_value, short_value
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException


def default_json(options: AvroOptions, schema: Schema, value: Any) -> Any:
    """Return the JSON of a default. Raises DataException.

    Args:
        options: The converter's settings.
        schema: The default's.
        value: None gives null.

    Example:
        >>> default_json(AvroOptions(), Schema(Type.BYTES), bytes([65, 255]))
        'Aÿ'
    """
    if value is None:
        return None
    value = from_logical(schema, value)
    match schema.type:
        case Type.BYTES:
            return value.decode("latin-1")
        case Type.FLOAT32 | Type.FLOAT64:
            return double_value(value)
        case Type.ARRAY:
            return [default_json(options, _some(schema.value_schema), each) for each in value]
        case Type.MAP if options.has_text_keys(schema):
            return {key: default_json(options, _some(schema.value_schema), each) for key, each in value.items()}
        case Type.MAP:
            sides = _some(schema.key_schema), _some(schema.value_schema)
            pairs = ((default_json(options, sides[0], k), default_json(options, sides[1], v)) for k, v in value.items())
            return list(map(list, pairs))
        case Type.STRUCT if is_union(schema):
            first = schema.fields[0]
            return default_json(options, first.schema, value.get(first.name))
        case Type.STRUCT:
            return {
                options.name(each.name): default_json(options, each.schema, value.get(each.name))
                for each in schema.fields
            }
    return value if isinstance(value, bool | str) else int(value)


def _some(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataException("A schema of elements is missing, which Avro needs")
    return schema


def is_default(type: AvroTypeNode, node: Any) -> bool:
    """Return whether JSON is a default that Avro allows for a type."""
    match type.kind:
        case "union":
            return any(is_default(each, node) for each in type.branches)
        case "null":
            return node is None
        case "boolean":
            return isinstance(node, bool)
        case "int" | "long":
            limit = 1 << (31 if type.kind == "int" else 63)
            return isinstance(node, int) and not isinstance(node, bool) and -limit <= node < limit
        case "float" | "double":
            return isinstance(node, int | float) and not isinstance(node, bool) and node - node == 0
        case "array":
            return isinstance(node, list) and all(is_default(type.item, each) for each in node)
        case "map":
            return isinstance(node, dict) and all(is_default(type.item, each) for each in node.values())
        case "record":
            return isinstance(node, dict) and all(
                is_default(each.type, node.get(each.name, None if each.default is NO_DEFAULT else each.default))
                for each in type.fields
            )
    return isinstance(node, str)


def default_value(options: AvroOptions, schema: Schema, type: AvroTypeNode, node: Any) -> Any:
    """Return the value of a default's JSON.

    Args:
        options: The converter's settings.
        schema: Connect's.
        type: Avro's.
        node: None gives None.

    Raises:
        DataException: It does not fit.
    """
    try:
        return None if node is None else to_logical(schema, _plain(options, schema, type, node))
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise DataException(f"Invalid default value for schema {schema}: {error}") from error


def _plain(options: AvroOptions, schema: Schema, type: AvroTypeNode, node: Any) -> Any:
    match type.kind:
        case "int":
            return {Type.INT8: byte_value, Type.INT16: short_value}.get(schema.type, int_value)(node)
        case "long":
            return long_value(node)
        case "float":
            return float32(float(node))
        case "double":
            return double_value(float(node))
        case "boolean":
            return bool(node)
        case "bytes" | "fixed":
            return node.encode("latin-1")
        case "array" if schema.type is Type.ARRAY:
            return [default_value(options, _some(schema.value_schema), type.item, each) for each in node]
        case "array":
            sides = [_some(schema.key_schema), _some(schema.value_schema)]
            kinds = [each.type for each in type.item.fields]
            return {
                default_value(options, sides[0], kinds[0], pair[0]): default_value(options, sides[1], kinds[1], pair[1])
                for pair in node
            }
        case "map":
            values = _some(schema.value_schema)
            return {key: default_value(options, values, type.item, each) for key, each in node.items()}
        case "record":
            made = Struct(schema)
            for field in type.fields:
                inner = schema.field(field.name)
                assert inner is not None
                given = node.get(field.name, None if field.default is NO_DEFAULT else field.default)
                made.put(field.name, default_value(options, inner.schema, field.type, given))
            return made
        case "union":
            return _of_union(options, schema, type, node)
    return str(node)


def _of_union(options: AvroOptions, schema: Schema, type: AvroTypeNode, node: Any) -> Any:
    kinds = [each for each in type.branches if each.kind != "null"]
    if not is_union(schema):
        return default_value(options, schema, kinds[0], node)
    if type.branches[0].kind == "null":
        return None
    field = schema.fields[0]
    return Struct(schema, {field.name: default_value(options, field.schema, kinds[0], node)})
