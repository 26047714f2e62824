"""Logical types: decimals, dates, times of day and timestamps (`org.apache.kafka.connect.data.Decimal`, `Date`, …)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import decimal_of, scale_of, unscaled_of, wrap
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.scalars import Instant, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP
from kafkapy.connect.errors import ClassCastException, DataException

DAY_MS: Final = 86_400_000


def decimal_builder(scale: int) -> SchemaBuilder:
    """Begin the schema of decimals with so many digits behind the point."""
    return SchemaBuilder(Type.BYTES).name(DECIMAL).parameter("scale", str(scale)).version(1)


def decimal_schema(scale: int) -> Schema:
    """Return the schema of decimals.

    Args:
        scale: How many digits are behind the point.

    Example:
        >>> decimal_schema(2).parameters
        {'scale': '2'}
    """
    return decimal_builder(scale).build()


def date_builder() -> SchemaBuilder:
    """Begin the schema of days."""
    return SchemaBuilder(Type.INT32).name(DATE).version(1)


def time_builder() -> SchemaBuilder:
    """Begin the schema of times of day."""
    return SchemaBuilder(Type.INT32).name(TIME).version(1)


def timestamp_builder() -> SchemaBuilder:
    """Begin the schema of timestamps."""
    return SchemaBuilder(Type.INT64).name(TIMESTAMP).version(1)


DATE_SCHEMA: Final = date_builder().build()
TIME_SCHEMA: Final = time_builder().build()
TIMESTAMP_SCHEMA: Final = timestamp_builder().build()


def decimal_to_bytes(schema: Schema, value: Decimal) -> bytes:
    """Return the digits as a big-endian integer, without the scale.

    Args:
        schema: Has the scale.
        value: Must have it, too.

    Raises:
        DataException: The scales differ, or the schema has none.

    Example:
        >>> decimal_to_bytes(decimal_schema(2), Decimal("1.28")).hex()
        '0080'
    """
    scale, own = _scale(schema), scale_of(value)
    if scale != own:
        raise DataException(
            "Decimal value has mismatching scale for given Decimal schema. "
            f"Schema has scale {scale}, value has scale {own}."
        )
    return big_integer_bytes(unscaled_of(value))


def big_integer_bytes(value: int) -> bytes:
    """Return the fewest bytes that hold a signed integer, big-endian, as `BigInteger.toByteArray`."""
    bits = (value if value >= 0 else ~value).bit_length()
    return value.to_bytes(bits // 8 + 1, "big", signed=True)


def decimal_from_bytes(schema: Schema, data: bytes) -> Decimal:
    """Return the decimal of a big-endian integer. Raises DataException if the schema has no scale."""
    if not data:
        raise ValueError("Zero length BigInteger")
    return decimal_of(int.from_bytes(data, "big", signed=True), _scale(schema))


def _scale(schema: Schema) -> int:
    text = (schema.parameters or {}).get("scale")
    if text is None:
        raise DataException("Invalid Decimal schema: scale parameter not found.")
    try:
        return int(text)
    except ValueError as error:
        raise DataException("Invalid scale parameter found in Decimal schema: ") from error


def date_to_days(schema: Schema, value: Any) -> Int32:
    """Return the days since 1970. Raises DataException if the time of day is not 00:00."""
    _require(schema, DATE, "Date")
    ms = _instant(value).ms
    if ms % DAY_MS:
        raise DataException("Kafka Connect Date type should not have any time fields set to non-zero values.")
    return Int32(wrap(ms // DAY_MS, 32))


def date_from_days(schema: Schema, days: int) -> Instant:
    """Return midnight of a day since 1970."""
    _require(schema, DATE, "Date")
    return Instant(days * DAY_MS)


def time_to_ms(schema: Schema, value: Any) -> Int32:
    """Return the ms since midnight. Raises DataException if the day is not 1970-01-01."""
    _require(schema, TIME, "Time")
    ms = _instant(value).ms
    if not 0 <= ms <= DAY_MS:
        raise DataException("Kafka Connect Time type should not have any date fields set to non-zero values.")
    return Int32(ms)


def time_from_ms(schema: Schema, ms: int) -> Instant:
    """Return the time of day. Raises DataException for more than a day."""
    _require(schema, TIME, "Date")
    if not 0 <= ms <= DAY_MS:
        raise DataException("Time values must use number of milliseconds greater than 0 and less than 86400000")
    return Instant(ms)


def timestamp_to_ms(schema: Schema, value: Any) -> Int64:
    """Return the ms since 1970."""
    _require(schema, TIMESTAMP, "Timestamp")
    return Int64(_instant(value).ms)


def timestamp_from_ms(schema: Schema, ms: int) -> Instant:
    """Return the time of ms since 1970."""
    _require(schema, TIMESTAMP, "Timestamp")
    return Instant(ms)


def _require(schema: Schema, name: str, shown: str) -> None:
    if schema.name != name:
        raise DataException(f"Requested conversion of {shown} object but the schema does not match.")


def _instant(value: Any) -> Instant:
    if not isinstance(value, Instant):
        raise ClassCastException(f"class {java_class_name(value)} cannot be cast to class java.util.Date")
    return value
