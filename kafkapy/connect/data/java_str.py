"""Texts of Connect's values as Java's `toString` gives them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from kafkapy.common.java_date_format import java_date
from kafkapy.common.java_text import java_double, java_float
from kafkapy.connect.data.decimals import decimal_text
from kafkapy.connect.data.scalars import Float32, Instant


def java_str(value: Any) -> str:
    """Return the text of a value as Java's `String.valueOf`.

    Args:
        value: Any of Connect's. `bytes` have no text in Java that could be compared; they are `[B@` and their length.

    Example:
        >>> java_str([True, None, 0.5, {"a": 1}])
        '[true, null, 0.5, {a=1}]'
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, Float32):
        return java_float(value)
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, Instant):
        return java_date(value.ms)
    if isinstance(value, bytes):
        return f"[B@{len(value):x}"
    if isinstance(value, list):
        return f"[{', '.join(map(java_str, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{java_str(key)}={java_str(each)}' for key, each in value.items())}}}"
    return str(value)
