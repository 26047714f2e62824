"""Converts values, and texts of values, to other types (`org.apache.kafka.connect.data.Values`)."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.data.conversions import convert_parsed
from kafkapy.connect.data.schema import BOOLEAN_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import DATE, TIME, TIMESTAMP
from kafkapy.connect.data.value_parser import parse_string


def convert_to(schema: Schema, from_schema: Schema | None, value: Any) -> Any:
    """Convert a value to a schema. Arrays, maps, times and booleans are read from text.

    Args:
        schema: What the result fits.
        from_schema: The value's. None: unknown.
        value: Any.

    Raises:
        DataException: It cannot be converted.

    Example:
        >>> convert_to(Schema(Type.INT8), None, "5"), convert_to(Schema(Type.ARRAY), None, "[1,2]")
        (5, [1, 2])
    """
    if isinstance(value, str):
        value = _parsed(schema, value)
    return convert_parsed(schema, from_schema, value)


def _parsed(schema: Schema, text: str) -> Any:
    if schema.type is Type.BOOLEAN:
        found = parse_string(text).value
        return found if isinstance(found, bool) else text
    if schema.type in (Type.ARRAY, Type.MAP) or schema.name in (DATE, TIME, TIMESTAMP):
        return parse_string(text).value
    return text


def convert_to_boolean(schema: Schema | None, value: Any) -> bool | None:
    """Convert to BOOLEAN. Raises DataException.

    Args:
        schema: The value's, or None.
        value: A number that is not 0 is True. None stays.
    """
    if value is None:
        return None
    found: bool = convert_to(BOOLEAN_SCHEMA, schema, value)
    return found
