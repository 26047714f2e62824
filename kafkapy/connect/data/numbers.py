"""Conversions between numbers as Java's `Number` and casts do them: integers wrap, floats are cut to the nearest."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

from kafkapy.connect.data.decimals import integer_part, wrap
from kafkapy.connect.data.scalars import Float32, Int8, Int16, Int32, Int64

_FLOAT = struct.Struct("f")


def is_number(value: object) -> bool:
    """Return whether a value is a `java.lang.Number`."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def long_value(value: Any) -> Int64:
    """Convert as `Number.longValue`.

    Args:
        value: A number.

    Example:
        >>> long_value(1e30), long_value(-1.5), long_value(2**64 + 1)
        (9223372036854775807, -1, 1)
    """
    return Int64(_whole(value, 64))


def int_value(value: Any) -> Int32:
    """Convert as `Number.intValue`."""
    return Int32(_whole(value, 32))


def short_value(value: Any) -> Int16:
    """Convert as `Number.shortValue`."""
    return Int16(wrap(_whole(value, 32), 16))


def byte_value(value: Any) -> Int8:
    """Convert as `Number.byteValue`."""
    return Int8(wrap(_whole(value, 32), 8))


def _whole(value: Any, bits: int) -> int:
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        most = (1 << (bits - 1)) - 1
        return int(min(max(value, -most - 1), most)) if math.isfinite(value) else (most if value > 0 else -most - 1)
    return wrap(integer_part(value) if isinstance(value, Decimal) else int(value), bits)


def double_value(value: Any) -> float:
    """Convert as `Number.doubleValue`.

    Args:
        value: A number; what is too large becomes infinity.

    Example:
        >>> double_value(5)
        5.0
    """
    try:
        return float(value) if type(value) is not Float32 else float.__add__(value, -0.0)  # keeps a zero's sign
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float32(value: Any) -> Float32:
    """Convert as `Number.floatValue`.

    Args:
        value: A number; what is too large becomes infinity.

    Example:
        >>> float32(0.1)
        0.10000000149011612
    """
    exact = double_value(value)
    try:
        return Float32(_FLOAT.unpack(_FLOAT.pack(exact))[0])
    except OverflowError:
        return Float32(math.copysign(math.inf, exact))
