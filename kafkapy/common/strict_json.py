"""Strict JSON (RFC 8259) for untrusted text; Python's `json` accepts more."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|(?P<comment>/\*.*?\*/|//[^\r\n]*)', re.DOTALL)
_NOT_A_LINE_END = re.compile(r"[^\r\n]")


class JsonError(ValueError):
    """The text is not JSON, or the value cannot be written as JSON; the message says where and why."""


class JsonDepthError(JsonError, RecursionError):
    """The values are nested deeper than the stack allows."""


class JsonSurrogateError(JsonError):
    """A string holds a lone surrogate."""


def loads(
    text: str | bytes | bytearray, parse_float: Callable[[str], Any] | None = None, *, comments: bool = False
) -> Any:
    """Parse one JSON value.

    Args:
        text: The document. Bytes are UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
        parse_float: Makes the value of a number with a fraction or an exponent, `decimal.Decimal` for one. Default: a
            float, and a number that no float can hold is refused.
        comments: Also takes `/* … */` and `// …` between the values, as Avro's parser does. Default: False.

    Raises:
        JsonError: The text is no JSON, names NaN or Infinity, holds a number beyond a float's range, half a surrogate
            pair, bytes that are not UTF-8, or values nested too deeply to be read.

    Example:
        >>> loads('{"rate": 1.5}')
        {'rate': 1.5}
        >>> loads("NaN")
        Traceback (most recent call last):
        kafkapy.common.strict_json.JsonError: NaN is not a JSON number
    """
    if not isinstance(text, str):
        text = _decoded(bytes(text))
    if comments:
        text = without_comments(text)
    decoder = _DECODER if parse_float is None else _decoder(parse_float)
    value = _read(decoder.decode, text)
    _refuse_lone_surrogates(text, value)
    return value


def load_first(text: str, start: int = 0) -> tuple[Any, int]:
    """Parse the JSON value that begins at `start`, in a text of several values.

    Returns:
        The value, and the index after it.

    Raises:
        JsonError: As for `loads`.
    """
    value, end = _read(lambda given: _DECODER.raw_decode(given, start), text)
    _refuse_lone_surrogates(text[start:end], value)
    return value, end


def dumps(value: Any, **options: Any) -> str:
    """Serialize a value as JSON; options are those of `json.dumps`.

    Raises:
        JsonError: The value holds NaN or an infinity, for which JSON has no text, or is nested too deeply.
    """
    try:
        return json.dumps(value, allow_nan=False, **options)
    except (ValueError, RecursionError) as error:
        raise _as_json_error(error) from None


def without_comments(text: str) -> str:
    """Replace comments by spaces, so that positions stay the same."""
    return _COMMENT_OR_STRING.sub(_blank, text) if "/" in text else text


def _blank(found: re.Match[str]) -> str:
    return found[0] if found["comment"] is None else _NOT_A_LINE_END.sub(" ", found[0])


def _decoded(text: bytes) -> str:
    try:
        return text.decode(json.detect_encoding(text))
    except UnicodeDecodeError as error:
        raise JsonError(f"the text is not {error.encoding}: {error.reason} at byte {error.start}") from None


def _read(decode: Callable[[str], T], text: str) -> T:
    try:
        return decode(text)
    except (ValueError, RecursionError) as error:
        raise _as_json_error(error) from None


def _refuse_lone_surrogates(text: str, value: Any) -> None:
    """Raise JsonError if a string of the value, which was parsed from the text, holds a lone surrogate."""
    try:
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False, default=str).encode()
        else:
            text.encode()
    except (ValueError, RecursionError) as error:
        raise _as_json_error(error) from None


def _as_json_error(error: Exception) -> JsonError:
    if isinstance(error, JsonError):
        return error
    if isinstance(error, RecursionError):
        return JsonDepthError("values are nested too deeply")
    if isinstance(error, UnicodeEncodeError):
        return JsonSurrogateError("a string holds half a surrogate pair, which no encoding of Unicode can hold")
    return JsonError(str(error))


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
