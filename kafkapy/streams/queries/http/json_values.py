"""Converts keys and values of stores to JSON, and a URL's text to keys."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from kafkapy.streams.records import ValueAndTimestamp, Windowed


class UnreadableKey(ValueError):
    """The text in the URL is not a valid key of the store."""


def key_of(text: str, is_json: bool, serialize: Callable[[Any], object]) -> Any:
    """Return the key for a text: the first of the text itself, its value as JSON, and its bytes that the store's
    serializer accepts.

    Args:
        text: The decoded text of the URL.
        is_json: Whether it must be JSON.
        serialize: The store's serializer of keys.

    Raises:
        UnreadableKey: The serializer accepts none of them.

    Example:
        >>> key_of("42", False, lambda key: key.to_bytes(4))
        42
    """
    candidates: list[Any] = [] if is_json else [text]
    try:
        candidates.append(json.loads(text))
    except (ValueError, RecursionError):
        if is_json:
            raise UnreadableKey("The key is no JSON") from None
    if not is_json:
        candidates.append(text.encode())
    for candidate in candidates:
        try:
            serialize(candidate)
        except Exception:
            continue  # whatever a serializer of the application raises
        return candidate
    raise UnreadableKey("The store's serializer does not take such a key")


def entry_of(key: Any, value: Any) -> dict[str, Any]:
    """Convert an entry of a store to an object: key, value, and if present the window's bounds and the timestamp.

    Args:
        key: Key of the entry; may be `Windowed`.
        value: Value of the entry; may be `ValueAndTimestamp`.

    Raises:
        TypeError: Something in it cannot be converted to JSON.
    """
    entry: dict[str, Any] = {}
    if isinstance(key, Windowed):
        entry |= {"key": plain(key.key), "start": key.window.start, "end": key.window.end}
    else:
        entry["key"] = plain(key)
    if isinstance(value, ValueAndTimestamp):
        return entry | {"value": plain(value.value), "timestamp": value.timestamp}
    return entry | {"value": plain(value)}


def plain(value: Any) -> Any:
    """Convert a value to JSON's types. Bytes become {"base64": …}, dataclasses objects, times their ISO form.

    Raises:
        TypeError: The value cannot be converted.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(value).decode()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, Enum):
        return plain(value.value)
    raise TypeError(f"A {type(value).__name__} has no form in JSON")
