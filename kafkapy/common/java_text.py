"""Formats and trims text as Java does."""

from __future__ import annotations

import math
import re
import struct

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
    if not math.isfinite(value) or value == 0:
        return _special(value)
    text = repr(abs(value))
    return _java_number(value, f"{abs(value):.1e}" if len(_digits(text)) == 1 else text)


def java_float(value: float) -> str:
    """Format as `Float.toString`: the fewest digits that 32 bits can tell from their neighbours.

    Args:
        value: One that 32 bits can hold.

    Example:
        >>> java_float(0.10000000149011612), java_float(16777216.0)
        ('0.1', '1.6777216E7')
    """
    if not math.isfinite(value) or value == 0:
        return _special(value)
    for precision in range(1, 9):
        text = f"{abs(value):.{precision}e}"
        if float(text) <= _MOST_FLOAT and struct.unpack("f", struct.pack("f", float(text)))[0] == abs(value):
            break
    return _java_number(value, text)


_MOST_FLOAT = 3.4028235677973366e38
"""The first number that 32 bits round to infinity."""


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if value == 0:
        return repr(float(value))
    return "Infinity" if value > 0 else "-Infinity"


def _digits(text: str) -> str:
    return text.partition("e")[0].replace(".", "").strip("0")


def _java_number(value: float, text: str) -> str:
    """The digits of a positive number's text in Java's form: plain from 0.001 to 10,000,000."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - 1 - len(fraction) + int(exponent or 0)
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if -3 <= point < 0:
        return f"{sign}0.{'0' * (-point - 1)}{digits}"
    if 0 <= point < 7:
        return f"{sign}{digits[: point + 1].ljust(point + 1, '0')}.{digits[point + 1 :] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point}"
