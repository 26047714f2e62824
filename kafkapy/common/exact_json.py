"""JSON whose numbers keep their exact value and spelling: schemas are read and written without conversion to float."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from kafkapy.common import strict_json
from kafkapy.common.strict_json import JsonDepthError, JsonError

MAX_DEPTH = 1_000
"""Levels of nested objects and arrays that are accepted, as in Jackson (the JSON parser of Avro and Confluent)."""


_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


class ExactNumber(Decimal):
    """A number with a fraction or an exponent: its exact value, and `text` as it was written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactNumber:
        """Raises JsonError for an exponent that no Decimal can hold."""
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            raise JsonError(f"{text[:40]} is beyond the range of a number") from None
        number.text = text
        return number

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def canonical_text(self) -> str:
        """A text that is equal for equal numbers, and differs from the text of any integer without fraction and
        exponent."""
        if not self:
            return "0E0"
        sign, digits, exponent = self.as_tuple()
        assert isinstance(exponent, int)
        significant = "".join(map(str, digits)).rstrip("0")
        return f"{'-' * sign}{significant}E{exponent + len(digits) - len(significant)}"


def loads(text: str, *, comments: bool = False) -> Any:
    """Parse one JSON value; numbers with a fraction or an exponent become `ExactNumber`.

    Args:
        text: The document.
        comments: Also takes `/* … */` and `// …` between the values.

    Raises:
        JsonError: As `strict_json.loads`.
        RecursionError: The values are nested deeper than the caller's stack has room for, but not deeper than
            `MAX_DEPTH`.
    """
    _check_depth(text)
    try:
        return strict_json.loads(text, parse_float=ExactNumber, comments=comments)
    except JsonDepthError:
        raise RecursionError from None


def loads_leniently(text: str, *, comments: bool = False) -> Any:
    """Parse text that has been stored already: NaN and infinities become their names, lone surrogates stay.

    Raises:
        ValueError: The text is not JSON in any sense.
        RecursionError: As `loads`.
    """
    _check_depth(text)
    stripped = strict_json.without_comments(text) if comments else text
    return json.loads(stripped, parse_float=ExactNumber, parse_constant=str)


def dumps(value: Any, *, sort_keys: bool = False, number: Callable[[ExactNumber], str] = str) -> str:
    """Serialize a value as JSON without white space.

    Args:
        value: What `loads` gives.
        sort_keys: Write the members of objects in the order of their names.
        number: Writes an `ExactNumber`. Default: as it was read.

    Raises:
        ValueError: The value holds a float that is NaN or infinite.
    """
    if isinstance(value, dict):
        members = sorted(value.items()) if sort_keys else value.items()
        return (
            "{"
            + ",".join([f"{_scalar(key)}:{dumps(each, sort_keys=sort_keys, number=number)}" for key, each in members])
            + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ",".join([dumps(each, sort_keys=sort_keys, number=number) for each in value]) + "]"
    return number(value) if isinstance(value, ExactNumber) else _scalar(value)


def identity_of(value: Any) -> str:
    """Return a text that is equal for equal JSON: members in any order, 0.1 or 0.10; but 1, 1.0 and true differ."""
    return dumps(value, sort_keys=True, number=lambda found: found.canonical_text)


def _scalar(value: Any) -> str:
    return strict_json.dumps(value, ensure_ascii=False)


def _check_depth(text: str) -> None:
    """Raise JsonError if objects and arrays are nested too deeply, because Python's parser accepts more from 3.12 on."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            raise JsonError(f"values are nested deeper than {MAX_DEPTH} levels")


def is_multiple(number: Decimal | int, of: Decimal | int) -> bool:
    """Return whether a finite number is a whole multiple of another, non-zero one. Exact, and fast for any exponent.

    Example:
        >>> is_multiple(ExactNumber("0.3"), ExactNumber("0.1")), is_multiple(ExactNumber("1e400"), 3)
        (True, False)
    """
    digits, exponent = _whole(number)
    divisor, divisor_exponent = _whole(of)
    if divisor == 0 or digits == 0:
        return digits == 0 and divisor != 0
    shift = exponent - divisor_exponent
    if shift >= 0:
        return digits * pow(10, shift, divisor) % divisor == 0
    return -shift <= len(str(digits)) and digits % (divisor * 10**-shift) == 0


def _whole(number: Decimal | int) -> tuple[int, int]:
    """Return the digits without trailing zeros, and the exponent of ten."""
    _, digits, exponent = Decimal(number).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0")
    return int(text or "0"), exponent + len(digits) - len(text)
