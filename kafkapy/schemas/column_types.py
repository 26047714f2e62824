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
    logical = _logical(schema)
    if logical is not None:
        return logical
    if kind in ("record", "error"):
        inside = (*inside, schema["name"])
        return pa.struct([pa.field(own["name"], _avro(own["type"], named, inside)) for own in schema["fields"]])
    if kind == "array":
        items = _avro(schema["items"], named, inside)
        if _takes_no_bytes(items):
            raise SerdeError("An array of items that take no bytes may claim any length, so it has no type as a column")
        return pa.list_(items)
    if kind == "map":
        return pa.map_(pa.string(), _avro(schema["values"], named, inside))
    if kind == "fixed":
        return pa.binary(schema["size"])
    return _avro(kind, named, inside)


def _logical(schema: Any) -> pa.DataType | None:
    """Return the Arrow type of a logical type; None if it is unknown or invalid, because Avro ignores it then."""
    logical, kind = schema.get("logicalType"), schema["type"]
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision or precision < 1:
            return None
        if precision > 76:
            raise SerdeError(f"A decimal of {precision} digits has no type as a column: 76 is the most")
        return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
    found = _AVRO_TIMES.get(logical) if isinstance(logical, str) else None
    return found if found is not None and kind == ("int" if found.bit_width == 32 else "long") else None


def _takes_no_bytes(type: pa.DataType) -> bool:
    if pa.types.is_struct(type):
        return all(_takes_no_bytes(each.type) for each in type)
    return bool(pa.types.is_null(type) or (pa.types.is_fixed_size_binary(type) and type.byte_width == 0))


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


def without_logical_types(schema: Any) -> Any:
    """Return a parsed Avro schema without logical types: times are numbers, decimals bytes."""
    if isinstance(schema, list):
        return [without_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: without_logical_types(value) if name in _NESTED else value
        for name, value in schema.items()
        if name[:2] != "__" and name != "logicalType"
    }


_NESTED = frozenset({"type", "items", "values", "fields"})


def spark_type(type: pa.DataType) -> pa.DataType:
    """The nearest type that Parquet and Spark both have: times of the day are the numbers that Avro writes. Raises SerdeError for
    a decimal that Spark has no type for."""
    if pa.types.is_struct(type):
        return pa.struct([pa.field(each.name, spark_type(each.type)) for each in type])
    if pa.types.is_list(type):
        return pa.list_(spark_type(type.value_type))
    if pa.types.is_map(type):
        return pa.map_(type.key_type, spark_type(type.item_type))
    if pa.types.is_timestamp(type):
        return pa.timestamp("us", type.tz)
    if pa.types.is_time(type):
        return pa.int32() if pa.types.is_time32(type) else pa.int64()
    if pa.types.is_fixed_size_binary(type):
        return pa.binary()
    if pa.types.is_null(type):
        return pa.string()
    if pa.types.is_decimal(type) and type.precision > 38:
        raise SerdeError(f"A decimal of {type.precision} digits has no type in Spark: 38 is the most")
    return type


def type_of_json(schema: Any, references: Mapping[str, Any] | None = None) -> pa.DataType:
    """Return the type of a JSON Schema; `references`: name -> referenced schema. Raises SerdeError if the type is
    ambiguous."""
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
