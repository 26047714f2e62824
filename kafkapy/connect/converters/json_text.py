"""Reads and writes JSON as Jackson does, where that differs from Python's module.

Numbers with a fraction or an exponent become `Decimal`. Text after the first value is ignored, leading zeros and a
byte order mark are accepted; empty input gives `MISSING`.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from kafkapy.connect.data.decimals import parse_decimal
from kafkapy.connect.errors import NumberFormatException, SerializationException

_STRING_OR_ZEROS = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])(-?)0+(?=\d)|(?<![\d.])(-)0+(?=\d)', re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_BLANKS = re.compile(r"[ \t\r\n]*")
_LONG_NUMBER = re.compile(r"[\d.eE+-]{1001}")
_MOST_DEPTH: Final = 1000
_MARKED: Final = 4
"""Jackson looks for a byte order mark only in input of at least this length."""
_ESCAPES = re.compile(r'["\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Missing(Enum):
    """Stands for the value of no input."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"Non-standard token '{text}'")


def _exact(text: str) -> Decimal:
    try:
        return parse_decimal(text)
    except NumberFormatException as error:
        raise ValueError(str(error)) from error


_decoder = json.JSONDecoder(parse_float=_exact, parse_constant=_refuse_constant)


def read_json(data: bytes) -> Any:
    """Read the first value of a document.

    Args:
        data: In UTF-8, UTF-16 or UTF-32.

    Raises:
        SerializationException: It is not JSON, nested deeper than 1,000 levels, or has a number of over 1,000 digits.

    Example:
        >>> read_json(b'{"a": 1.50}')
        {'a': Decimal('1.50')}
    """
    try:
        text = data.decode(_encoding(data))
        if len(data) >= _MARKED:
            text = text.removeprefix("\ufeff")
        if len(text) > _MOST_DEPTH:
            _check_limits(text)
        return _first_value(text)
    except (ValueError, RecursionError) as error:
        raise SerializationException(str(error)) from error


def read_last_member(data: bytes, begin: int) -> Any:
    """Read the value that is followed by nothing but the end of the object whose last member it is.

    Args:
        data: A document in UTF-8.
        begin: Where the value begins.

    Returns:
        `MISSING` if this is not so, or only `read_json` can tell.

    Example:
        >>> read_last_member(b'{"a": [1]}', 6), read_last_member(b'{"a": 1, "b": 2}', 6)
        ([1], <Missing.MISSING: 'missing'>)
    """
    if len(data) - begin > _MOST_DEPTH:
        return MISSING  # its nesting and the length of its numbers must be examined
    try:
        text = data[begin:].decode()
        value, end = _decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return MISSING
    return value if text[end:] == "}" else MISSING


def _encoding(data: bytes) -> str:
    if len(data) >= _MARKED:
        if data[:4] in (b"\x00\x00\xfe\xff", b"\xff\xfe\x00\x00"):
            return "utf-32"
        if data[:3] == b"\x00\x00\x00":
            return "utf-32-be"
        if data[1:4] == b"\x00\x00\x00":
            return "utf-32-le"
        if data[:2] in (b"\xfe\xff", b"\xff\xfe"):
            return "utf-16"
    if len(data) >= 2 and (data[0] == 0) != (data[1] == 0):
        return "utf-16-be" if data[0] == 0 else "utf-16-le"
    return "utf-8"


def _first_value(text: str) -> Any:
    start = _BLANKS.match(text).end()  # type: ignore[union-attr]  # matches anything
    if start == len(text):
        return MISSING
    try:
        value, end = _decoder.raw_decode(text, start)
    except ValueError:
        text = _STRING_OR_ZEROS.sub(_without_zeros, text)
        value, end = _decoder.raw_decode(text, start)
    else:
        if isinstance(value, int) and text[end : end + 1].isdigit():
            text = _STRING_OR_ZEROS.sub(_without_zeros, text)
            value, end = _decoder.raw_decode(text, start)
    scalar = not isinstance(value, str | list | dict)
    if scalar and end < len(text) and text[end] not in " \t\r\n":
        raise ValueError(f"Unexpected character {text[end]!r} after a value")
    return value


def _without_zeros(match: re.Match[str]) -> str:
    return match[0] if match[0][0] == '"' else match[1] or match[2] or ""


def _check_limits(text: str) -> None:
    """Raise ValueError if Jackson's limits are exceeded, before Python's parser overflows its stack."""
    if text.count("[") + text.count("{") > _MOST_DEPTH:
        depth = 0
        for bracket in _BRACKET.findall(_STRING.sub("", text)):
            depth += 1 if bracket in "[{" else -1
            if depth > _MOST_DEPTH:
                raise ValueError(f"Document nesting depth exceeds the maximum allowed ({_MOST_DEPTH})")
    if _LONG_NUMBER.search(text) and _LONG_NUMBER.search(_STRING.sub("", text)):
        raise ValueError("Number value length exceeds the maximum allowed (1000)")


def json_string(text: str) -> str:
    """Return a text in quotes; what must be escaped is, and characters beyond 16 bits, as Jackson does.

    Args:
        text: Any.

    Example:
        >>> json_string('é"\\n')
        '"é\\\\"\\\\n"'
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_ESCAPES.sub(_escaped, text)}"'


def _escaped(match: re.Match[str]) -> str:
    short = _SHORT_ESCAPES.get(match[0])
    if short is not None:
        return short
    halves = match[0].encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{halves[at : at + 4]}" for at in range(0, len(halves), 4))
