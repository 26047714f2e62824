"""Formats and trims text as Java does."""

from __future__ import annotations

import math
import re

_TRIMMED = "".join(map(chr, range(33)))
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def java_trim(text: str) -> str:
    """Strip everything up to and including the space character at both ends, as `String.trim` does."""
    return text.strip(_TRIMMED)


def from_java_chars(text: str) -> str:
    """Convert Java's UTF-16 text: surrogate pairs become one character, a lone surrogate becomes `?`, as when Java
    encodes it."""
    if _SURROGATE.search(text) is None:
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _SURROGATE.sub("?", whole)


def java_double(value: float) -> str:
    """Format as `Double.toString`: 0.5, 50.0, 1.0E10, 1.7976931348623157E308."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - 1 - len(fraction) + int(exponent or 0)
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{point}"
