"""The Arrow types of schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from kafkapy.schemas.errors import SerdeError

_AVRO = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_AVRO_TIMES = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "timestamp-nanos": pa.timestamp("ns", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}
_JSON = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "string": pa.string(),
}


def type_of_avro(schema: Any) -> pa.DataType:
    """Of a parsed schema. Raises SerdeError for a type that refers to itself, and for unions of several types."""
    return _avro(schema, {}, ())


def _avro(schema: Any, named: dict[str, Any], inside: tuple[str, ...]) -> pa.DataType:
    if isinstance(schema, list):
        return _avro_union(schema, named, inside)
    if isinstance(schema, str):
        if schema in inside:
            raise SerdeError(f"{schema} contains itself, so it has no type as a column")
        return _avro(named[schema], named, inside) if schema in named else _AVRO[schema]
    kind = schema["type"]
    if "name" in schema and kind in ("record", "error", "enum", "fixed"):
        named[schema["name"]] = schema
    logical = schema.get("logicalType")
    if logical == "decimal":
        make = pa.decimal128 if schema["precision"] <= 38 else pa.decimal256
        return make(schema["precision"], schema.get("scale", 0))
    if logical in _AVRO_TIMES and kind in ("int", "long"):
        return _AVRO_TIMES[logical]
    if kind in ("record", "error"):
        inside = (*inside, schema["name"])
        return pa.struct([pa.field(own["name"], _avro(own["type"], named, inside)) for own in schema["fields"]])
    if kind == "array":
        return pa.list_(_avro(schema["items"], named, inside))
    if kind == "map":
        return pa.map_(pa.string(), _avro(schema["values"], named, inside))
    if kind == "fixed":
        return pa.binary(schema["size"])
    return _avro(kind, named, inside)


def _avro_union(members: list[Any], named: dict[str, Any], inside: tuple[str, ...]) -> pa.DataType:
    types = [_avro(member, named, inside) for member in members if member != "null"]
    if not types:
        return pa.null()
    if len(types) == 1:
        return types[0]
    for numbers, common in (({pa.int32(), pa.int64()}, pa.int64()), ({pa.float32(), pa.float64()}, pa.float64())):
        if set(types) == numbers:
            return common
    raise SerdeError(f"A union of {' and '.join(map(str, types))} has no type as a column")


def without_times(schema: Any) -> Any:
    """A parsed Avro schema with times as the numbers, and UUIDs as the texts, that they are written as: Arrow takes them so."""
    if isinstance(schema, list):
        return [without_times(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    own = {
        name: without_times(value) if name in _NESTED else value for name, value in schema.items() if name[:2] != "__"
    }
    if own.get("logicalType") in _AVRO_TIMES or own.get("logicalType") == "uuid":
        del own["logicalType"]
    return own


_NESTED = frozenset({"type", "items", "values", "fields"})


def type_of_json(schema: Any, references: Mapping[str, Any] | None = None) -> pa.DataType:
    """Of a JSON Schema; `references`: others by the names that it has for them. Raises SerdeError where it leaves the type
    open."""
    return _json(schema, schema, references or {}, 0)


def _json(schema: Any, root: Any, references: Mapping[str, Any], depth: int) -> pa.DataType:
    if depth > 100:
        raise SerdeError("A JSON schema contains itself, so it has no type as a column")
    if not isinstance(schema, dict):
        raise SerdeError(f"A JSON schema leaves the type open, so it has no type as a column: {schema}")
    if "$ref" in schema:
        found, its_root = _resolved(schema["$ref"], root, references)
        return _json(found, its_root, references, depth + 1)
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return _json_choice(schema[choice], root, references, depth)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return _json_choice([{**schema, "type": kind} for kind in kinds], root, references, depth)
    if kinds is None and schema.get("enum") and all(isinstance(each, str | None) for each in schema["enum"]):
        return pa.string()
    if kinds == "object":
        return _json_object(schema, root, references, depth)
    if kinds == "array" and "items" in schema:
        return pa.list_(_json(schema["items"], root, references, depth + 1))
    if kinds in _JSON:
        return _JSON[kinds]
    raise SerdeError(f"A JSON schema leaves the type open, so it has no type as a column: {schema}")


def _json_object(schema: Any, root: Any, references: Mapping[str, Any], depth: int) -> pa.DataType:
    if schema.get("properties"):
        return pa.struct(
            [pa.field(name, _json(own, root, references, depth + 1)) for name, own in schema["properties"].items()]
        )
    if isinstance(schema.get("additionalProperties"), dict):
        return pa.map_(pa.string(), _json(schema["additionalProperties"], root, references, depth + 1))
    raise SerdeError(f"A JSON schema leaves the properties open, so it has no type as a column: {schema}")


def _json_choice(members: list[Any], root: Any, references: Mapping[str, Any], depth: int) -> pa.DataType:
    types = {_json(member, root, references, depth + 1) for member in members} - {pa.null()}
    if len(types) == 1:
        return types.pop()
    if types == {pa.int64(), pa.float64()}:
        return pa.float64()
    raise SerdeError(f"A choice of {' and '.join(sorted(map(str, types))) or 'null'} has no type as a column")


def _resolved(reference: str, root: Any, references: Mapping[str, Any]) -> tuple[Any, Any]:
    name, _, pointer = reference.partition("#")
    document = root if not name else references.get(name)
    if document is None:
        raise SerdeError(f"A JSON schema refers to {reference}, which is not among its references")
    found = document
    for part in [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]:
        if not isinstance(found, dict) or part not in found:
            raise SerdeError(f"A JSON schema refers to {reference}, which is not there")
        found = found[part]
    return found, document
