"""Schemas in the envelope of JSON (`org.apache.kafka.connect.json.JsonSchema`)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from kafkapy.connect.converters.json_text import json_string
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.numbers import int_value
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.errors import DataException

_TO_JSON = {each: each.value for each in Type} | {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_FROM_JSON = {name: each for each, name in _TO_JSON.items()}


def schema_to_json(schema: Schema | None, write_default: Callable[[Schema, Any], str]) -> str:
    """Return the JSON of a schema.

    Args:
        schema: None gives null.
        write_default: Returns the JSON of a default value.

    Example:
        >>> schema_to_json(Schema(Type.FLOAT32, name="a"), lambda schema, value: "")
        '{"type":"float","optional":false,"name":"a"}'
    """
    if schema is None:
        return "null"
    parts = [f'"type":"{_TO_JSON[schema.type]}"']
    if schema.type is Type.ARRAY:
        parts.append(f'"items":{schema_to_json(schema.value_schema, write_default)}')
    elif schema.type is Type.MAP:
        parts.append(f'"keys":{schema_to_json(schema.key_schema, write_default)}')
        parts.append(f'"values":{schema_to_json(schema.value_schema, write_default)}')
    elif schema.type is Type.STRUCT:
        fields = (
            f'{schema_to_json(field.schema, write_default)[:-1]},"field":{json_string(field.name)}}}'
            for field in schema.fields
        )
        parts.append(f'"fields":[{",".join(fields)}]')
    parts.append(f'"optional":{"true" if schema.optional else "false"}')
    parts += _details(schema)
    if schema.default is not None:
        parts.append(f'"default":{write_default(schema, schema.default)}')
    return f"{{{','.join(parts)}}}"


def _details(schema: Schema) -> list[str]:
    parts = []
    if schema.name is not None:
        parts.append(f'"name":{json_string(schema.name)}')
    if schema.version is not None:
        parts.append(f'"version":{schema.version}')
    if schema.doc is not None:
        parts.append(f'"doc":{json_string(schema.doc)}')
    if schema.parameters is not None:
        pairs = (f"{json_string(name)}:{json_string(value)}" for name, value in schema.parameters.items())
        parts.append(f'"parameters":{{{",".join(pairs)}}}')
    return parts


def schema_from_json(node: Any, read_default: Callable[[Schema, Any], Any]) -> Schema | None:
    """Return the schema of JSON.

    Args:
        node: As `read_json` gives it; None gives None.
        read_default: Returns the value of a default's JSON.

    Raises:
        DataException: It is no schema.

    Example:
        >>> schema_from_json({"type": "int32", "optional": True}, lambda schema, node: node).optional
        True
    """
    if node is None:
        return None
    name = node.get("type") if isinstance(node, dict) else None
    if not isinstance(name, str):
        raise DataException("Schema must contain 'type' field")
    builder = _builder(name, node, read_default)
    if node.get("optional") is True:
        builder.optional()
    else:
        builder.required()
    if isinstance(node.get("name"), str):
        builder.name(node["name"])
    version = node.get("version")
    if isinstance(version, int) and not isinstance(version, bool):
        builder.version(int(int_value(version)))
    if isinstance(node.get("doc"), str):
        builder.doc(node["doc"])
    parameters = node.get("parameters")
    if isinstance(parameters, dict):
        for key, value in parameters.items():
            if not isinstance(value, str):
                raise DataException("Schema parameters must have string values.")
            builder.parameter(key, value)
    if "default" in node:
        builder.default(read_default(builder.build(), node["default"]))
    return builder.build()


def _builder(name: str, node: dict[str, Any], read_default: Callable[[Schema, Any], Any]) -> SchemaBuilder:
    match name:
        case "array":
            if node.get("items") is None:
                raise DataException("Array schema did not specify the element type")
            return SchemaBuilder.array(schema_from_json(node["items"], read_default))
        case "map":
            if "keys" not in node:
                raise DataException("Map schema did not specify the key type")
            if "values" not in node:
                raise DataException("Map schema did not specify the value type")
            keys, values = schema_from_json(node["keys"], read_default), schema_from_json(node["values"], read_default)
            return SchemaBuilder.map(keys, values)
        case "struct":
            fields = node.get("fields")
            if not isinstance(fields, list):
                raise DataException('Struct schema\'s "fields" argument is not an array.')
            builder = SchemaBuilder(Type.STRUCT)
            for field in fields:
                field_name = field.get("field") if isinstance(field, dict) else None
                if not isinstance(field_name, str):
                    raise DataException("Struct schema's field name not specified properly")
                builder.field(field_name, schema_from_json(field, read_default))
            return builder
    if name not in _FROM_JSON:
        raise DataException(f"Unknown schema type: {name}")
    return SchemaBuilder(_FROM_JSON[name])


def node_type(node: Any) -> str:
    """Return Jackson's name of a value's kind, for messages.

    Args:
        node: As `read_json` gives it.

    Example:
        >>> node_type([]), node_type(1.5), node_type(None)
        ('ARRAY', 'NUMBER', 'NULL')
    """
    if node is None:
        return "NULL"
    for kinds, name in _NODE_TYPES:
        if isinstance(node, kinds):
            return name
    return "MISSING"


_NODE_TYPES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool,), "BOOLEAN"),
    ((int, float, Decimal), "NUMBER"),
    ((str,), "STRING"),
    ((list,), "ARRAY"),
    ((dict,), "OBJECT"),
)
