"""Converts values to other types and to text, without reading values from text (see `values`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, Final

from kafkapy.common.java_date_format import date_format
from kafkapy.connect.data.decimals import parse_decimal, wrap
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.logical import (
    DAY_MS,
    date_from_days,
    date_to_days,
    decimal_from_bytes,
    decimal_to_bytes,
    time_from_ms,
    time_to_ms,
    timestamp_from_ms,
    timestamp_to_ms,
)
from kafkapy.connect.data.numbers import double_value, float32, is_number, long_value
from kafkapy.connect.data.scalars import Float32, Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct
from kafkapy.connect.errors import DataException, NumberFormatException

_NULL_REFUSED: Final = "Unable to convert a null value to a schema that requires a value"


def convert_parsed(schema: Schema, from_schema: Schema | None, value: Any) -> Any:
    """Convert a value to a schema; of texts, only numbers are read.

    Args:
        schema: What the result fits.
        from_schema: The value's. None: unknown.
        value: Any.

    Raises:
        DataException: It cannot be converted.

    Example:
        >>> convert_parsed(Schema(Type.INT8), None, "5")
        5
    """
    if value is None:
        if schema.optional:
            return None
        raise DataException(_NULL_REFUSED)
    special = _LOGICAL.get((schema.type, schema.name))
    if special is not None:
        return special(schema, from_schema, value)
    return _CONVERTERS[schema.type](schema, from_schema, value)


def _refuse(value: Any, target: Any) -> DataException:
    return DataException(f"Unable to convert {java_str(value)} (class {java_class_name(value)}) to {java_str(target)}")


def convert_to_byte(schema: Schema | None, value: Any) -> Int8 | None:
    """Convert to INT8; the low 8 bits of what is too large. Raises DataException."""
    return value if value is None or type(value) is Int8 else Int8(wrap(as_long(value, schema), 8))


def convert_to_short(schema: Schema | None, value: Any) -> Int16 | None:
    """Convert to INT16; the low 16 bits of what is too large. Raises DataException."""
    return value if value is None or type(value) is Int16 else Int16(wrap(as_long(value, schema), 16))


def convert_to_integer(schema: Schema | None, value: Any) -> Int32 | None:
    """Convert to INT32; the low 32 bits of what is too large. Raises DataException."""
    return value if value is None or type(value) is Int32 else Int32(wrap(as_long(value, schema), 32))


def convert_to_long(schema: Schema | None, value: Any) -> Int64 | None:
    """Convert to INT64. Raises DataException."""
    return None if value is None else as_long(value, schema)


def convert_to_float(schema: Schema | None, value: Any) -> Float32 | None:
    """Convert to FLOAT32. Raises DataException."""
    return value if value is None or type(value) is Float32 else float32(as_double(value, schema))


def convert_to_double(schema: Schema | None, value: Any) -> float | None:
    """Convert to FLOAT64. Raises DataException."""
    return None if value is None else as_double(value, schema)


def as_long(value: Any, schema: Schema | None) -> Int64:
    """Convert a number, a text or a time to a number.

    Args:
        value: Not None.
        schema: The value's; a time needs it. None: unknown.

    Raises:
        DataException: It is no number.
    """
    cause: Exception | None = None
    try:
        if is_number(value):
            return long_value(value)
        if isinstance(value, str):
            return long_value(parse_decimal(value))
    except NumberFormatException as error:
        cause = error
    if schema is None:
        raise DataException(
            f"Unable to convert {java_str(value)} (class {java_class_name(value)}) to a number"
        ) from cause
    if isinstance(value, Instant) and schema.name in _TO_NUMBER:
        return Int64(_TO_NUMBER[schema.name](schema, value))
    raise _refuse(value, schema) from cause


_TO_NUMBER: dict[str | None, Callable[[Schema, Any], int]] = {
    DATE: date_to_days,
    TIME: time_to_ms,
    TIMESTAMP: timestamp_to_ms,
}


def as_double(value: Any, schema: Schema | None) -> float:
    """Convert a number, a text or a time to FLOAT64. Raises DataException.

    Args:
        value: Not None.
        schema: The value's; a time needs it. None: unknown.
    """
    try:
        if is_number(value):
            return double_value(value)
        if isinstance(value, str):
            return double_value(parse_decimal(value))
    except NumberFormatException:
        pass
    return float(as_long(value, schema))


def _to_bytes(schema: Schema, _: Schema | None, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, Decimal):
        return decimal_to_bytes(schema, value)
    raise _refuse(value, schema)


def _to_decimal(schema: Schema, _: Schema | None, value: Any) -> Decimal:
    if isinstance(value, bytes):
        return decimal_from_bytes(schema, value)
    if isinstance(value, Decimal):
        return value
    if is_number(value):
        return parse_decimal(java_str(double_value(value)))
    if isinstance(value, str):
        return parse_decimal(value)
    raise _refuse(value, schema)


def _to_date(schema: Schema, source: Schema | None, value: Any) -> Instant:
    if isinstance(value, Instant):
        if source is None or source.name == DATE:
            return value
        if source.name == TIMESTAMP:
            days = abs(value.ms) // DAY_MS
            return date_from_days(schema, wrap(days if value.ms >= 0 else -days, 32))
    return date_from_days(schema, wrap(as_long(value, source), 32))


def _to_time(schema: Schema, source: Schema | None, value: Any) -> Instant:
    if isinstance(value, Instant):
        if source is None or source.name == TIME:
            return value
        if source.name == TIMESTAMP:
            return time_from_ms(schema, value.ms % DAY_MS)
    return time_from_ms(schema, wrap(as_long(value, source), 32))


def _to_timestamp(schema: Schema, source: Schema | None, value: Any) -> Instant:
    if isinstance(value, Instant):
        if source is None or source.name == TIMESTAMP:
            return value
        if source.name == DATE:
            return timestamp_from_ms(schema, date_to_days(source, value) * DAY_MS)
        if source.name == TIME:
            return timestamp_from_ms(schema, time_to_ms(source, value))
    return timestamp_from_ms(schema, as_long(value, source))


def _of_kind(kind: type) -> Callable[[Schema, Schema | None, Any], Any]:
    def convert(schema: Schema, source: Schema | None, value: Any) -> Any:
        if not isinstance(value, kind):
            raise _refuse(value, schema)
        return value

    return convert


_Converter = Callable[[Schema, Schema | None, Any], Any]
_LOGICAL: dict[tuple[Type, str | None], _Converter] = {
    (Type.BYTES, DECIMAL): _to_decimal,
    (Type.INT32, DATE): _to_date,
    (Type.INT32, TIME): _to_time,
    (Type.INT64, TIMESTAMP): _to_timestamp,
}
_CONVERTERS: dict[Type, _Converter] = {
    Type.BYTES: _to_bytes,
    Type.STRING: lambda schema, source, value: convert_to_string(value),
    Type.BOOLEAN: lambda schema, source, value: value if isinstance(value, bool) else as_long(value, source) != 0,
    Type.INT8: lambda schema, source, value: convert_to_byte(source, value),
    Type.INT16: lambda schema, source, value: convert_to_short(source, value),
    Type.INT32: lambda schema, source, value: convert_to_integer(source, value),
    Type.INT64: lambda schema, source, value: convert_to_long(source, value),
    Type.FLOAT32: lambda schema, source, value: convert_to_float(source, value),
    Type.FLOAT64: lambda schema, source, value: convert_to_double(source, value),
    Type.ARRAY: _of_kind(list),
    Type.MAP: _of_kind(dict),
    Type.STRUCT: _of_kind(Struct),
}


def convert_to_string(value: Any) -> str | None:
    """Return the text of a value; arrays, maps and structs as JSON, bytes in base 64.

    Args:
        value: None gives None.

    Raises:
        DataException: It is no value of Connect's.

    Example:
        >>> convert_to_string(["a", None, True])
        '["a",null,true]'
    """
    return None if value is None else _text(value, False)


def _text(value: Any, embedded: bool) -> str:
    match value:
        case None:
            return "null"
        case str():
            return _quoted(value) if embedded else value
        case bytes():
            text = base64.b64encode(value).decode()
            return f'"{text}"' if embedded else text
        case list():
            return f"[{','.join(_text(each, True) for each in value)}]"
        case dict():
            return _pairs(value.items())
        case Struct():
            return _pairs((field.name, value.get(field.name)) for field in value.schema.fields)
        case Instant():
            return instant_text(value)
        case bool() | int() | float() | Decimal():
            return java_str(value)
    kind = java_class_name(value)
    raise DataException(f"Failed to serialize unexpected value type {kind}: {java_str(value)}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _pairs(pairs: Iterable[tuple[Any, Any]]) -> str:
    return f"{{{','.join(f'{_text(key, True)}:{_text(value, True)}' for key, value in pairs)}}}"


def instant_text(value: Instant) -> str:
    """Return a time of day before 1970-01-02, a date at midnight, otherwise a timestamp, in the local zone."""
    if value.ms < DAY_MS:
        pattern = "HH:mm:ss.SSS'Z'"
    elif value.ms % DAY_MS == 0:
        pattern = "yyyy-MM-dd"
    else:
        pattern = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
    return date_format(pattern)(value.ms)


def infer_schema(value: Any) -> Schema | None:
    """Return the schema of a value, None if it has none in Connect, or its elements differ.

    Args:
        value: Any.

    Example:
        >>> infer_schema(5), infer_schema([1, "a"])
        (Schema{INT64}, None)
    """
    kind = schema_type(value)
    if isinstance(value, Struct):
        return value.schema
    if kind is Type.ARRAY:
        elements = _common(value)
        return None if elements is None else Schema(kind, value_schema=elements)
    if kind is Type.MAP:
        keys, values = _common(value.keys()), _common(value.values())
        return None if keys is None or values is None else Schema(kind, key_schema=keys, value_schema=values)
    return None if kind is None else Schema(kind)


def _common(values: Iterable[Any]) -> Schema | None:
    """A schema of the one type of all; optional if there is a None."""
    known: Type | None = None
    optional = False
    for value in values:
        if value is None:
            optional = True
            continue
        schema = infer_schema(value)
        if schema is None or (known is not None and schema.type is not known):
            return None
        known = schema.type
    return None if known is None else Schema(known, optional)


_TYPES: dict[type, Type] = {
    bool: Type.BOOLEAN,
    Int8: Type.INT8,
    Int16: Type.INT16,
    Int32: Type.INT32,
    Int64: Type.INT64,
    int: Type.INT64,
    Float32: Type.FLOAT32,
    float: Type.FLOAT64,
    str: Type.STRING,
    bytes: Type.BYTES,
    Struct: Type.STRUCT,
}


def schema_type(value: Any) -> Type | None:
    """Return the type of a value without a schema, None if Connect has none (`ConnectSchema.schemaType`).

    Args:
        value: Decimals and times have none; a plain `int` is INT64.

    Example:
        >>> schema_type({}), schema_type(Decimal(1))
        (<Type.MAP: 'map'>, None)
    """
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, list):
        return Type.ARRAY
    return Type.MAP if isinstance(value, dict) else None
