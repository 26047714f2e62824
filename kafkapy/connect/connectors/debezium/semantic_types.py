"""Schemas with Debezium's names, and the values that they have."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import decimal_of, plain_text, scale_of, unscaled_of
from kafkapy.connect.data.logical import big_integer_bytes
from kafkapy.connect.data.schema import (
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    Type,
)
from kafkapy.connect.data.struct import Struct

DATA: Final = "io.debezium.data."
_TIME: Final = "io.debezium.time."
ENUM: Final = f"{DATA}Enum"
BITS: Final = f"{DATA}Bits"
VARIABLE_SCALE_DECIMAL: Final = f"{DATA}VariableScaleDecimal"
ENUM_SET: Final = f"{DATA}EnumSet"
POINT: Final = f"{DATA}geometry.Point"
GEOMETRY: Final = f"{DATA}geometry.Geometry"
YEAR: Final = f"{_TIME}Year"
DATE: Final = f"{_TIME}Date"
TIME: Final = f"{_TIME}Time"
MICRO_TIME: Final = f"{_TIME}MicroTime"
TIMESTAMP: Final = f"{_TIME}Timestamp"
MICRO_TIMESTAMP: Final = f"{_TIME}MicroTimestamp"
ZONED_TIME: Final = f"{_TIME}ZonedTime"
ZONED_TIMESTAMP: Final = f"{_TIME}ZonedTimestamp"
INTERVAL: Final = f"{_TIME}Interval"
MICRO_DURATION: Final = f"{_TIME}MicroDuration"
_SPECIAL: Final = {"NaN": "NAN", "Infinity": "POSITIVE_INFINITY", "-Infinity": "NEGATIVE_INFINITY"}


def named(type: Type, name: str) -> Callable[[], SchemaBuilder]:
    """Return what begins a schema of a type with one of Debezium's names."""
    return lambda: SchemaBuilder(type).name(name).version(1)


def variable_decimal_builder() -> SchemaBuilder:
    """Begin the schema of decimals that each have a scale."""
    builder = SchemaBuilder(Type.STRUCT).name(VARIABLE_SCALE_DECIMAL).version(1).doc("Variable scaled decimal")
    return builder.field("scale", INT32_SCHEMA).field("value", BYTES_SCHEMA)


def read_variable_decimal(text: str) -> Struct:
    """Return a decimal with its scale.

    Args:
        text: As PostgreSQL writes it.

    Raises:
        ValueError: NaN and infinity.

    Example:
        >>> read_variable_decimal("1.50")["scale"]
        2
    """
    value = _finite(text)
    return Struct(
        variable_decimal_builder().optional().build(),
        {"scale": scale_of(value), "value": big_integer_bytes(unscaled_of(value))},
    )


def read_decimal(text: str, scale: int) -> Decimal:
    """Return a decimal that has a scale, which may be negative.

    Args:
        text: As PostgreSQL writes it. scale: The column's.

    Raises:
        ValueError: NaN and infinity.

    Example:
        >>> read_decimal("1.5", 2)
        Decimal('1.50')
    """
    value = _finite(text)
    own = scale_of(value)
    unscaled = unscaled_of(value)
    if own > scale:
        return decimal_of(unscaled // 10 ** (own - scale), scale)
    return decimal_of(unscaled * 10 ** (scale - own), scale)


def _finite(text: str) -> Decimal:
    if text in _SPECIAL:
        raise ValueError("a Decimal cannot be NaN or infinite; set decimal.handling.mode=string")
    return Decimal(text)


def decimal_string(text: str) -> str:
    """Return a decimal as text; NaN and infinity have Debezium's names."""
    return _SPECIAL.get(text) or plain_text(Decimal(text))


def money_text(text: str) -> str:
    """Return an amount without currency and separators.

    Args:
        text: As PostgreSQL writes it; the last point or comma before one or two digits is the decimal one.

    Example:
        >>> money_text("-$1,234.50"), money_text("1.234,50 EUR")
        ('-1234.50', '1234.50')
    """
    is_negative = "-" in text or "(" in text
    digits = re.sub(r"[^\d.,]", "", text)
    whole, _, fraction = digits.replace(",", ".").rpartition(".")
    if len(fraction) > 2:
        whole, fraction = whole + fraction, "0"
    return f"{'-' if is_negative else ''}{whole.replace('.', '') or '0'}.{fraction or '0'}"


def json_object(pairs: Mapping[str, str | None]) -> str:
    """Return pairs as compact JSON."""
    return json.dumps(pairs, ensure_ascii=False, separators=(",", ":"))


def point_builder() -> SchemaBuilder:
    """Begin the schema of points."""
    builder = SchemaBuilder(Type.STRUCT).name(POINT).version(1).doc("Geometry (POINT)")
    builder.field("x", FLOAT64_SCHEMA).field("y", FLOAT64_SCHEMA)
    return builder.field("wkb", OPTIONAL_BYTES_SCHEMA).field("srid", OPTIONAL_INT32_SCHEMA)


def geometry_builder() -> SchemaBuilder:
    """Begin the schema of shapes."""
    builder = SchemaBuilder(Type.STRUCT).name(GEOMETRY).version(1).doc("Geometry")
    return builder.field("wkb", BYTES_SCHEMA).field("srid", OPTIONAL_INT32_SCHEMA)


def read_point(text: str) -> Struct:
    """Return a point.

    Args:
        text: As PostgreSQL writes it.

    Raises:
        ValueError: It is none.

    Example:
        >>> read_point("(1,2.5)")["y"]
        2.5
    """
    x, y = (float(part) for part in text.strip("()").split(","))
    values = {"x": x, "y": y, "wkb": struct.pack("<BIdd", 1, 1, x, y)}
    return Struct(point_builder().optional().build(), values)
