"""JSON as RFC 8259 has it, where Python's `json` takes more: for every text that comes from outside."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_COMMENT_OR_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|(?P<comment>/\*.*?\*/|//[^\r\n]*)', re.DOTALL)
_NOT_A_LINE_END = re.compile(r"[^\r\n]")


class JsonError(ValueError):
    """The text is no JSON; the message says where and why."""


class JsonDepthError(JsonError):
    """The values are nested deeper than the stack has room for."""


class JsonSurrogateError(JsonError):
    """A string holds half a surrogate pair."""


def loads(
    text: str | bytes | bytearray, parse_float: Callable[[str], Any] | None = None, *, comments: bool = False
) -> Any:
    """Read one JSON value.

    Args:
        text: The document. Bytes are UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
        parse_float: Makes the value of a number with a fraction or an exponent, `decimal.Decimal` for one. Default: a float,
            and a number that no float can hold is refused.
        comments: Also takes `/* … */` and `// …` between the values, as Avro's parser does. Default: False.

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
    try:
        text_given = isinstance(text, str)
        if not isinstance(text, str):
            text = bytes(text).decode(json.detect_encoding(text))
        if comments:
            text = without_comments(text)
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=parse_float or _finite)
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False, default=str).encode()
        elif text_given:
            text.encode()
    except JsonError:
        raise
    except UnicodeEncodeError:
        raise JsonSurrogateError(
            "a string holds half a surrogate pair, which no encoding of Unicode can hold"
        ) from None
    except UnicodeDecodeError as error:
        raise JsonError(f"the text is not {error.encoding}: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise JsonDepthError("values are nested too deeply") from None
    except ValueError as error:
        raise JsonError(str(error)) from None
    return value


def dumps(value: Any, **options: Any) -> str:
    """Write one JSON value; options are those of `json.dumps`.

    Raises:
        ValueError: The value holds NaN or an infinity, for which JSON has no text.
    """
    return json.dumps(value, allow_nan=False, **options)


def without_comments(text: str) -> str:
    """The text with spaces for its comments, so that all else stays where it is."""
    return _COMMENT_OR_STRING.sub(_blank, text) if "/" in text else text


def _blank(found: re.Match[str]) -> str:
    return found[0] if found["comment"] is None else _NOT_A_LINE_END.sub(" ", found[0])


def _refuse_constant(name: str) -> Any:
    raise JsonError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"{text} is beyond the range of a number")
    return number
