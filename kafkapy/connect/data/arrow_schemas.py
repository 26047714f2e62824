"""Schemas of Connect as those of Arrow, and back. Needs the extra `arrow`."""

from __future__ import annotations

import json
from typing import Any, Final

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP
from kafkapy.connect.errors import ConnectException, DataException

_METADATA: Final = "connect"
_PRECISION: Final = "connect.decimal.precision"
_DIGITS_128, _DIGITS_256 = 38, 76


def arrow() -> Any:
    """Return the module pyarrow. Raises ConnectException if it is not installed."""
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise ConnectException(
            'Arrow tables need pyarrow, which is not installed: pip install "kafkapy[arrow]"'
        ) from error
    return pyarrow


def arrow_schema(schema: Schema) -> Any:
    """Return the Arrow schema of a struct's schema: a field for each field.

    Names, versions, docs and parameters are metadata of the fields, so that `connect_schema` restores them; defaults
    are not kept.

    Args:
        schema: Of a struct.

    Raises:
        DataException: It is of another type, or has what Arrow lacks.

    Example:
        >>> from kafkapy.connect.data.schema import Field, INT32_SCHEMA
        >>> arrow_schema(Schema(Type.STRUCT, fields=[Field("x", 0, INT32_SCHEMA)])).field("x").type
        DataType(int32)
    """
    own = _metadata(schema)
    return arrow().schema([arrow_field(field.name, field.schema) for field in schema.fields], metadata=own)


def arrow_field(name: str, schema: Schema) -> Any:
    """Return the Arrow field for a schema. Raises DataException.

    Args:
        name: The field's.
        schema: Of its values.
    """
    return arrow().field(name, arrow_type(schema), schema.optional, _metadata(schema))


def _metadata(schema: Schema) -> dict[str, str] | None:
    about = {"name": schema.name, "version": schema.version, "doc": schema.doc, "parameters": schema.parameters}
    known = {key: value for key, value in about.items() if value is not None}
    return {_METADATA: json.dumps(known)} if known else None


def arrow_type(schema: Schema) -> Any:
    """Return the Arrow type for a schema. Raises DataException.

    Args:
        schema: The schema.
    """
    pa = arrow()
    match schema.name:
        case str(name) if name == DECIMAL:
            return _decimal_type(schema)
        case str(name) if name == DATE:
            return pa.date32()
        case str(name) if name == TIME:
            return pa.time32("ms")
        case str(name) if name == TIMESTAMP:
            return pa.timestamp("ms", "UTC")
    match schema.type:
        case Type.ARRAY:
            return pa.list_(arrow_field("item", _some(schema.value_schema)))
        case Type.MAP:
            key = arrow_field("key", _some(schema.key_schema)).with_nullable(False)
            return pa.map_(key, arrow_field("value", _some(schema.value_schema)))
        case Type.STRUCT:
            return pa.struct([arrow_field(field.name, field.schema) for field in schema.fields])
    plain = {
        Type.INT8: pa.int8,
        Type.INT16: pa.int16,
        Type.INT32: pa.int32,
        Type.INT64: pa.int64,
        Type.FLOAT32: pa.float32,
        Type.FLOAT64: pa.float64,
        Type.BOOLEAN: pa.bool_,
        Type.STRING: pa.string,
        Type.BYTES: pa.binary,
    }
    return plain[schema.type]()


def _some(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataException("A schema of elements is missing, which Arrow needs")
    return schema


def _decimal_type(schema: Schema) -> Any:
    parameters = schema.parameters or {}
    scale, precision = int(parameters["scale"]), int(parameters.get(_PRECISION, _DIGITS_128))
    if not -_DIGITS_256 <= scale <= _DIGITS_256 or precision > _DIGITS_256:
        raise DataException(f"Arrow's decimals have at most {_DIGITS_256} digits; {schema} has more")
    if precision <= _DIGITS_128 and scale <= _DIGITS_128:
        return arrow().decimal128(precision, scale)
    return arrow().decimal256(max(precision, scale), scale)


def connect_schema(schema: Any, name: str | None = None) -> Schema:
    """Return the struct's schema of an Arrow schema.

    Unsigned integers become the next larger type, dictionaries their values; times are cut to milliseconds.

    Args:
        schema: Arrow's.
        name: Of the struct. Default: the one of the metadata, if any.

    Raises:
        DataException: Connect has nothing for a type.

    Example:
        >>> import pyarrow
        >>> str(connect_schema(pyarrow.schema([("x", pyarrow.uint8())])).field("x").schema)
        'Schema{INT16}'
    """
    builder = SchemaBuilder(Type.STRUCT)
    for field in schema:
        builder.field(field.name, connect_field(field))
    found = _described(builder, schema.metadata, False)
    if name is None or name == found.name:
        return found
    return Schema(Type.STRUCT, name=name, version=found.version, doc=found.doc, fields=found.fields)


def connect_field(field: Any) -> Schema:
    """Return the schema of an Arrow field. Raises DataException.

    Args:
        field: Arrow's.
    """
    return _described(_builder(field.type), field.metadata, field.nullable)


def _described(builder: SchemaBuilder, metadata: Any, optional: bool) -> Schema:
    about = json.loads((metadata or {}).get(_METADATA.encode(), b"{}"))
    built = builder.build()
    if built.name is None:
        builder.name(about.get("name"))
    if built.version is None:
        builder.version(about.get("version"))
    builder.doc(about.get("doc")).parameters(about.get("parameters", {}))
    return builder.optional().build() if optional else builder.build()


def _builder(kind: Any) -> SchemaBuilder:
    types = arrow().types
    if types.is_dictionary(kind):
        return _builder(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return SchemaBuilder.array(connect_field(kind.value_field))
    if types.is_map(kind):
        return SchemaBuilder.map(connect_field(kind.key_field), connect_field(kind.item_field))
    if types.is_struct(kind):
        builder = SchemaBuilder(Type.STRUCT)
        for place in range(kind.num_fields):
            field = kind.field(place)
            builder.field(field.name, connect_field(field))
        return builder
    if types.is_decimal(kind):
        builder = decimal_builder(kind.scale)
        return builder if kind.precision == _DIGITS_128 else builder.parameter(_PRECISION, str(kind.precision))
    for is_kind, make in (
        (types.is_date, date_builder),
        (types.is_time, time_builder),
        (types.is_timestamp, timestamp_builder),
    ):
        if is_kind(kind):
            return make()
    return SchemaBuilder(_plain(kind))


def _plain(kind: Any) -> Type:
    types = arrow().types
    rows = (
        (Type.BOOLEAN, types.is_boolean),
        (Type.INT8, types.is_int8),
        (Type.INT16, lambda each: types.is_int16(each) or types.is_uint8(each)),
        (Type.INT32, lambda each: types.is_int32(each) or types.is_uint16(each)),
        (Type.INT64, types.is_integer),
        (Type.FLOAT32, lambda each: types.is_float32(each) or types.is_float16(each)),
        (Type.FLOAT64, types.is_float64),
        (Type.STRING, lambda each: types.is_string(each) or types.is_large_string(each) or types.is_null(each)),
        (Type.BYTES, lambda each: types.is_binary(each) or types.is_large_binary(each)),
        (Type.BYTES, types.is_fixed_size_binary),
    )
    for found, is_kind in rows:
        if is_kind(kind):
            return found
    raise DataException(f"Connect has no type for Arrow's {kind}")
