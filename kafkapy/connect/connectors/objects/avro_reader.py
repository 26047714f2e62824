"""Values of Connect from Avro container files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, BinaryIO, Final

from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException

_PRIMITIVE: Final = {
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "boolean": Type.BOOLEAN,
    "string": Type.STRING,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
    "enum": Type.STRING,
}
_TIMES: Final = {
    "date": date_builder,
    "time-millis": time_builder,
    "timestamp-millis": timestamp_builder,
}


def avro_records(file: BinaryIO) -> Iterator[tuple[Schema, Any]]:
    """Yield the values of a file, each with its schema. Raises DataException for a schema that Connect does not have."""
    require("connect-objects", "fastavro", "Avro files")
    import fastavro

    reader = fastavro.reader(file)
    schema = FileSchemas().of(reader.writer_schema)
    for value in reader:
        yield schema, connect_value(schema, value)


class FileSchemas:
    """Converts schemas of Avro to Connect's.

    Invariant: `_named` has the schemas of the named types that were converted.
    """

    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}
        self._open: set[str] = set()

    def of(self, avro: Any) -> Schema:
        """Return the schema. Raises DataException for unions of several types, and for recursive ones."""
        return self._builder_or_schema(avro, optional=False)

    def _builder_or_schema(self, avro: Any, *, optional: bool) -> Schema:
        if isinstance(avro, list):
            others = [each for each in avro if each != "null"]
            if len(others) != 1:
                raise DataException("A union of several types cannot be read: Connect has none.")
            return self._builder_or_schema(others[0], optional=optional or len(avro) > 1)
        if isinstance(avro, str) and avro not in _PRIMITIVE:
            if avro in self._open:
                raise DataException(f"The type {avro} contains itself, which Connect's cannot.")
            known = self._named.get(avro)
            if known is None:
                raise DataException(f"The type {avro} is unknown.")
            return known if not optional else _optional(known)
        builder = self._builder(avro if isinstance(avro, dict) else {"type": avro})
        return builder.optional().build() if optional else builder.build()

    def _builder(self, avro: dict[str, Any]) -> SchemaBuilder:
        kind = avro["type"]
        if kind == "record":
            return self._record(avro)
        if kind == "array":
            items = avro["items"]
            if isinstance(items, dict) and str(items.get("name", "")).rpartition(".")[2].startswith("MapEntry"):
                key, value = (self.of(field["type"]) for field in items["fields"])
                return SchemaBuilder.map(key, value)
            return SchemaBuilder.array(self.of(items))
        if kind == "map":
            return SchemaBuilder.map(Schema(Type.STRING), self.of(avro["values"]))
        if isinstance(kind, dict | list):
            raise DataException("A type within a type cannot be read.")
        logical = avro.get("logicalType")
        if logical in _TIMES:
            return _TIMES[logical]()
        if logical == "decimal":
            return decimal_builder(avro.get("scale", 0))
        if logical is not None and kind != "string":
            raise DataException(f"The logical type {logical} cannot be read.")
        found = {"int8": Type.INT8, "int16": Type.INT16}.get(avro.get("connect.type", ""), _PRIMITIVE[kind])
        return SchemaBuilder(found)

    def _record(self, avro: dict[str, Any]) -> SchemaBuilder:
        name = avro["name"]
        builder = SchemaBuilder(Type.STRUCT)
        if not name.rpartition(".")[2].startswith("ConnectDefault"):
            builder.name(avro.get("connect.name", name))
        if "connect.version" in avro:
            builder.version(avro["connect.version"])
        self._open.add(name)
        for field in avro["fields"]:
            builder.field(field["name"], self.of(field["type"]))
        self._open.discard(name)
        self._named[name] = builder.build()
        return builder


def _optional(schema: Schema) -> Schema:
    about = (schema.name, schema.version, schema.doc, schema.parameters)
    return Schema(schema.type, True, schema.default, *about, fields=schema.fields if schema.type is Type.STRUCT else ())


def connect_value(schema: Schema, value: Any) -> Any:
    """Return a value that fastavro or pyarrow has read as Connect's.

    Args:
        schema: Connect's.
        value: The value.
    """
    match schema.type:
        case _ if value is None:
            return None
        case Type.STRUCT:
            fields = {field.name: connect_value(field.schema, value.get(field.name)) for field in schema.fields}
            return Struct(schema, {name: each for name, each in fields.items() if each is not None})
        case Type.ARRAY:
            return [connect_value(schema.value_schema or schema, each) for each in value]
        case Type.MAP:
            pairs = value.items() if isinstance(value, dict) else (_pair(each) for each in value)
            keys, values = schema.key_schema or schema, schema.value_schema or schema
            return {connect_value(keys, key): connect_value(values, each) for key, each in pairs}
    if isinstance(value, dt.date | dt.time):
        return Instant.of(value)
    if isinstance(value, Decimal):
        scale = int((schema.parameters or {}).get("scale", 0))
        return value if -int(value.as_tuple().exponent) == scale else value.quantize(Decimal(1).scaleb(-scale))
    if schema.type is Type.FLOAT32:
        from kafkapy.connect.data.numbers import float32

        return float32(value)
    return value


def _pair(entry: Any) -> tuple[Any, Any]:
    return (entry["key"], entry["value"]) if isinstance(entry, dict) else (entry[0], entry[1])
