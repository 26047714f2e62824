"""Values of Connect's logical types as what their schemas' types hold: bytes and integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafkapy.connect.data.logical import (
    date_from_days,
    date_to_days,
    decimal_from_bytes,
    decimal_to_bytes,
    time_from_ms,
    time_to_ms,
    timestamp_from_ms,
    timestamp_to_ms,
)
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP

Logical = Callable[[Schema, Any], Any]

FROM_LOGICAL: Final[dict[str, Logical]] = {
    DECIMAL: decimal_to_bytes,
    DATE: date_to_days,
    TIME: time_to_ms,
    TIMESTAMP: timestamp_to_ms,
}
"""By the schema's name: value -> bytes or integer."""
TO_LOGICAL: Final[dict[str, Logical]] = {
    DECIMAL: decimal_from_bytes,
    DATE: date_from_days,
    TIME: time_from_ms,
    TIMESTAMP: timestamp_from_ms,
}
"""By the schema's name: bytes or integer -> value."""


def from_logical(schema: Schema, value: Any) -> Any:
    """Return the bytes or the integer of a logical type's value; values of other types stay.

    Args:
        schema: The value's.
        value: Not None.

    Raises:
        DataException: The value does not fit the schema.

    Example:
        >>> from kafkapy.connect.data.logical import DATE_SCHEMA
        >>> from kafkapy.connect.data.scalars import Instant
        >>> from_logical(DATE_SCHEMA, Instant(86_400_000))
        1
    """
    convert = FROM_LOGICAL.get(schema.name or "")
    return value if convert is None else convert(schema, value)


def to_logical(schema: Schema, value: Any) -> Any:
    """Return the value of a logical type's bytes or integer; values of other types stay. Raises DataException.

    Args:
        schema: The value's.
        value: None stays None.
    """
    convert = TO_LOGICAL.get(schema.name or "")
    return value if convert is None or value is None else convert(schema, value)
