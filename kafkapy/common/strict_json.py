"""JSON as RFC 8259 has it, where Python's `json` takes more: for every text that comes from outside."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonError(ValueError):
    """The text is no JSON, or the value has none; the message says where and why."""


def loads(text: str | bytes | bytearray, parse_float: Callable[[str], Any] | None = None) -> Any:
    """Read one JSON value.

    Args:
        text: The document. Bytes are UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
        parse_float: Makes the value of a number with a fraction or an exponent, `decimal.Decimal` for one. Default: a float,
            and a number that no float can hold is refused.

    Raises:
        JsonError: The text is no JSON, names NaN or Infinity, holds a number beyond a float's range, half a surrogate pair,
            bytes that are not UTF-8, or values nested too deeply to be read.

    Example:
        >>> loads('{"rate": 1.5}')
        {'rate': 1.5}
        >>> loads("NaN")
        Traceback (most recent call last):
        kafkapy.common.strict_json.JsonError: NaN is not a JSON number
    """
    if not isinstance(text, str):
        text = _decoded(bytes(text))
    decoder = _DECODER if parse_float is None else _decoder(parse_float)
    value = _read(decoder.decode, text)
    _refuse_half_pairs(text, value)
    return value


def load_first(text: str, start: int = 0) -> tuple[Any, int]:
    """Read the JSON value that begins at `start`, of a text in which one follows the other.

    Returns:
        The value, and the index behind it.

    Raises:
        JsonError: As for `loads`.
    """
    value, end = _read(lambda given: _DECODER.raw_decode(given, start), text)
    _refuse_half_pairs(text[start:end], value)
    return value, end


def dumps(value: Any, **options: Any) -> str:
    """Write one JSON value; options are those of `json.dumps`.

    Raises:
        JsonError: The value holds NaN or an infinity, for which JSON has no text, or is nested too deeply.
    """
    try:
        return json.dumps(value, allow_nan=False, **options)
    except (ValueError, RecursionError) as error:
        raise JsonError("values are nested too deeply" if isinstance(error, RecursionError) else str(error)) from None


def _decoded(text: bytes) -> str:
    try:
        return text.decode(json.detect_encoding(text))
    except UnicodeDecodeError as error:
        raise JsonError(f"the text is not {error.encoding}: {error.reason} at byte {error.start}") from None


def _read(decode: Callable[[str], T], text: str) -> T:
    try:
        return decode(text)
    except JsonError:
        raise
    except RecursionError:
        raise JsonError("values are nested too deeply") from None
    except ValueError as error:
        raise JsonError(str(error)) from None


def _refuse_half_pairs(text: str, value: Any) -> None:
    """Raise JsonError if a string of the value, which was read from the text, holds half a surrogate pair."""
    if _SURROGATE_ESCAPE.search(text):
        try:
            json.dumps(value, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise JsonError("a string holds half a surrogate pair, which no encoding of Unicode can hold") from None
        except RecursionError:
            raise JsonError("values are nested too deeply") from None


def _refuse_constant(name: str) -> Any:
    raise JsonError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"{text} is beyond the range of a number")
    return number


def _decoder(parse_float: Callable[[str], Any]) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_refuse_constant, parse_float=parse_float)


_DECODER = _decoder(_finite)
