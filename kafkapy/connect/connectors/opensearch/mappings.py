"""Types of a document's fields (mappings), as schemas say."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP
from kafkapy.connect.errors import DataException

_LOGICAL: Final = {DECIMAL: "double", DATE: "date", TIME: "date", TIMESTAMP: "date"}
_TYPES: Final = {
    Type.BOOLEAN: "boolean",
    Type.INT8: "byte",
    Type.INT16: "short",
    Type.INT32: "integer",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.STRING: "text",
    Type.BYTES: "binary",
}


def mapping_of(schema: Schema | None, *, compact_maps: bool) -> dict[str, Any]:
    """Return the mapping of an index.

    Args:
        schema: Of documents.
        compact_maps: Whether maps with texts as keys are objects.

    Raises:
        DataException: There is no schema, or one of another type than a struct or a map.

    Example:
        >>> from kafkapy.connect.data.builder import SchemaBuilder
        >>> from kafkapy.connect.data.schema import INT32_SCHEMA
        >>> mapping_of(SchemaBuilder(Type.STRUCT).field("n", INT32_SCHEMA).build(), compact_maps=True)
        {'properties': {'n': {'type': 'integer'}}}
    """
    if schema is None:
        raise DataException("The value has no schema for the types of fields: set schema.ignore=true.")
    if schema.type is Type.MAP and compact_maps:
        return {"properties": {}}
    if schema.type is not Type.STRUCT:
        raise DataException(f"A document is a struct or a map, not a {schema.type}.")
    return _field(schema, compact_maps)


def _field(schema: Schema, compact_maps: bool) -> dict[str, Any]:
    kind = _LOGICAL.get(schema.name or "") or _TYPES.get(schema.type)
    if kind is not None:
        return _plain(kind, schema.default)
    if schema.type is Type.STRUCT:
        return {"properties": {field.name: _field(field.schema, compact_maps) for field in schema.fields}}
    values = schema.value_schema
    assert values is not None
    if schema.type is Type.ARRAY:
        return _field(values, compact_maps)
    keys = schema.key_schema
    assert keys is not None
    if compact_maps and keys.type is Type.STRING:
        return {"type": "object"}
    return {"properties": {"key": _field(keys, compact_maps), "value": _field(values, compact_maps)}}


def _plain(kind: str, default: Any) -> dict[str, Any]:
    if kind == "text":  # for words, and as a whole
        return {"type": kind, "fields": {"keyword": {"type": "keyword", "ignore_above": 256}}}
    if default is None or kind == "binary":
        return {"type": kind}
    if isinstance(default, Instant):
        default = default.ms
    return {"type": kind, "null_value": default if isinstance(default, bool | int) else float(default)}
