"""Text as Java writes and trims it, where it can be seen from outside."""

from __future__ import annotations

import math
from decimal import Decimal

_TRIMMED = "".join(map(chr, range(33)))


def java_trim(text: str) -> str:
    """`String.trim`: everything up to and including the space goes, at both ends."""
    return text.strip(_TRIMMED)


def java_double(value: float) -> str:
    """`Double.toString`: 0.5, 50.0, 1.0E10, 1.7976931348623157E308."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else text + ".0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) - 1 + exponent
    fraction = "".join(map(str, digits[1:])).rstrip("0") or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{point}"
