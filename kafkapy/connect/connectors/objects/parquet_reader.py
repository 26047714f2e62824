"""Values of Connect from Parquet files."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, BinaryIO, Final

from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.numbers import float32
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException

_ROWS: Final = 1000


def parquet_records(file: BinaryIO) -> Iterator[tuple[Schema, Any]]:
    """Yield the rows of a file as structs, each with its schema. Raises DataException for types that Connect lacks."""
    require("connect-objects", "pyarrow", "The format Parquet")
    from pyarrow import parquet

    opened = parquet.ParquetFile(file)
    builder = SchemaBuilder(Type.STRUCT)
    for field in opened.schema_arrow:
        builder.field(field.name, _schema(field))
    schema = builder.build()
    for batch in opened.iter_batches(_ROWS):
        for row in batch.to_pylist():
            yield schema, _value(schema, row)


def _schema(field: Any) -> Schema:
    builder = _builder(field.name, field.type)
    return builder.optional().build() if field.nullable else builder.build()


def _builder(name: str, kind: Any) -> SchemaBuilder:
    from pyarrow import types

    plain = {
        types.is_int8: Type.INT8,
        types.is_int16: Type.INT16,
        types.is_int32: Type.INT32,
        types.is_int64: Type.INT64,
        types.is_float32: Type.FLOAT32,
        types.is_float64: Type.FLOAT64,
        types.is_boolean: Type.BOOLEAN,
        types.is_string: Type.STRING,
        types.is_large_string: Type.STRING,
        types.is_binary: Type.BYTES,
        types.is_large_binary: Type.BYTES,
    }
    for is_kind, found in plain.items():
        if is_kind(kind):
            return SchemaBuilder(found)
    if types.is_decimal(kind):
        return decimal_builder(kind.scale)
    if types.is_date(kind):
        return date_builder()
    if types.is_time(kind):
        return time_builder()
    if types.is_timestamp(kind):
        return timestamp_builder()
    if types.is_map(kind):
        key = _builder(name, kind.key_type).build()
        return SchemaBuilder.map(key, _schema(kind.item_field))
    if types.is_list(kind) or types.is_large_list(kind):
        return SchemaBuilder.array(_schema(kind.value_field))
    if types.is_struct(kind):
        builder = SchemaBuilder(Type.STRUCT)
        for number in range(kind.num_fields):
            builder.field(kind.field(number).name, _schema(kind.field(number)))
        return builder
    raise DataException(f"The column {name} of type {kind} cannot be read.")


def _value(schema: Schema, value: Any) -> Any:
    """Return a value that pyarrow has read as Connect's."""
    match schema.type:
        case _ if value is None:
            return None
        case Type.STRUCT:
            return Struct(schema, {field.name: _value(field.schema, value[field.name]) for field in schema.fields})
        case Type.ARRAY:
            return [_value(schema.value_schema or schema, each) for each in value]
        case Type.MAP:
            keys, values = schema.key_schema or schema, schema.value_schema or schema
            return {as_key(_value(keys, key)): _value(values, each) for key, each in value}
        case Type.FLOAT32:
            return float32(value)
    if isinstance(value, dt.date | dt.time):
        return Instant.of(value)
    if isinstance(value, Decimal):
        scale = int((schema.parameters or {}).get("scale", 0))
        return value if -int(value.as_tuple().exponent) == scale else value.quantize(Decimal(1).scaleb(-scale))
    return value
