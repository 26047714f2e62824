"""The functions of expressions; their results are bounded in size."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.patterns import PatternError, PatternTimeoutError, java
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.errors import DataException

_LARGEST: Final = 1 << 20


def bounded(value: Any) -> Any:
    """Return a value that is not too large. Raises DataException.

    Args:
        value: Text, bytes or a list of more than 1,048,576 items is refused.

    Example:
        >>> bounded("a")
        'a'
    """
    if isinstance(value, str | bytes | list) and len(value) > _LARGEST:
        raise DataException(f"A value of an expression has more than {_LARGEST} items")
    return value


def compiled_pattern(text: str) -> Callable[[str], bool]:
    """Return the function that says whether a regular expression of Java matches a whole text.

    Args:
        text: The regular expression.

    Raises:
        ConfigException: It is none.
    """
    try:
        pattern = java(text)
    except PatternError as error:
        raise ConfigException(f"{text!r} is no regular expression: {error}") from error

    def matches(value: str) -> bool:
        try:
            return bool(pattern.fullmatch(value))
        except PatternTimeoutError as error:
            raise DataException(str(error)) from error

    return matches


def _on_text(function: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else function(str(value))


def _replace(value: Any, old: str, new: str) -> Any:
    if value is None:
        return None
    if not old:
        raise DataException("replace needs a text that is replaced")
    text = str(value)
    if text.count(old) * max(len(new) - len(old), 0) + len(text) > _LARGEST:
        raise DataException(f"A value of an expression has more than {_LARGEST} items")
    return text.replace(old, new)


def _split(value: Any, separator: str) -> Any:
    return None if value is None else str(value).split(separator, _LARGEST)


def _join(separator: str, values: Any) -> str:
    texts = [java_str(each) for each in values]
    if sum(map(len, texts)) + len(separator) * len(texts) > _LARGEST:
        raise DataException(f"A value of an expression has more than {_LARGEST} items")
    return separator.join(texts)


def _coalesce(*values: Any) -> Any:
    return next((each for each in values if each is not None), None)


def _integer(value: Any) -> int:
    if isinstance(value, Instant):
        return value.ms
    return int(value[:1_000] if isinstance(value, str) else value)


def _decimal(value: Any) -> Decimal:
    return Decimal(str(value) if isinstance(value, float) else value)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "bool": bool,
    "coalesce": _coalesce,
    "decimal": _decimal,
    "endswith": lambda value, suffix: value is not None and str(value).endswith(suffix),
    "float": float,
    "int": _integer,
    "join": _join,
    "len": len,
    "lower": _on_text(str.lower),
    "matches": lambda value, pattern: compiled_pattern(pattern)(str(value)),
    "max": max,
    "min": min,
    "replace": _replace,
    "round": round,
    "split": _split,
    "startswith": lambda value, prefix: value is not None and str(value).startswith(prefix),
    "str": java_str,
    "strip": _on_text(str.strip),
    "timestamp": lambda ms: None if ms is None else Instant(_integer(ms)),
    "upper": _on_text(str.upper),
}
"""By name. `coalesce`: the first argument that is not None; `int` of a time: ms since 1970; `matches`: whether a regular
expression of Java matches the whole text; `timestamp`: the time of ms since 1970."""
