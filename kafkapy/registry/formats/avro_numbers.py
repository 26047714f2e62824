"""Numbers in defaults of Avro's fields: Avro's Java library stores them as doubles and writes them in Java's
format."""

from __future__ import annotations

import math
import re
from typing import Any

from kafkapy.common.exact_json import ExactNumber

NAMED_NUMBERS = ("NaN", "Infinity", "-Infinity")
"""Values of floats and doubles that JSON lacks; Avro writes them as strings."""
_JAVA_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?=[fFdD]?\Z)")
_LEAST_PLAIN, _MOST_PLAIN = 1e-3, 1e7


def default_of(kind: str, value: Any) -> Any:
    """Return the default of a field in Avro's form.

    Args:
        kind: Kind of the field's type. The default of a float or a double may be a string that Java parses as a
            number. value: A value from `exact_json.loads`.
    """
    if kind in ("float", "double") and isinstance(value, str):
        text = value.strip()
        found = _JAVA_DOUBLE.match(text)
        return _double(found[0]) if found else "Infinity" if text == "+Infinity" else text
    if isinstance(value, dict):
        return {name: default_of("", each) for name, each in value.items()}
    if isinstance(value, list):
        return [default_of("", each) for each in value]
    return _double(value.text) if isinstance(value, ExactNumber) else value


def _double(text: str) -> ExactNumber | str:
    number = float(text)
    if math.isinf(number):
        return NAMED_NUMBERS[1 if number > 0 else 2]
    return ExactNumber(java_text(number))


def java_text(number: float) -> str:
    """Format a finite number like Java's `Double.toString`.

    Example:
        >>> java_text(0.1), java_text(1e10), java_text(-2.5e-7)
        ('0.1', '1.0E10', '-2.5E-7')
    """
    if number == 0 or _LEAST_PLAIN <= abs(number) < _MOST_PLAIN:
        text = repr(number)
        return text if "e" not in text else f"{number:f}"
    mantissa, _, exponent = f"{ExactNumber(repr(number)):e}".partition("e")
    digits = mantissa.rstrip("0") if "." in mantissa else f"{mantissa}."
    return f"{digits}{'0' if digits.endswith('.') else ''}E{int(exponent)}"
