"""Writes and reads JSON in the form of Kafka's `JsonConverter` without schemas (Jackson's compact form)."""

from __future__ import annotations

import json
import re
from typing import Any

from kafkapy.common import strict_json
from kafkapy.common.java_hash_order import hash_map_order

_SMALL_HEX = re.compile(r"\\u00[0-9a-f]{2}")


def dumps(value: object) -> bytes:
    """Return compact JSON; fields keep their order.

    Example:
        >>> dumps({"state": "RUNNING", "trace": None})
        b'{"state":"RUNNING","trace":null}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "\\u00" in text:
        text = _SMALL_HEX.sub(lambda found: "\\u" + found[0][2:].upper(), text)
    return text.encode("utf-8", "replace")


def loads(data: bytes | None) -> Any:
    """Return the value; None for a tombstone. Raises ValueError."""
    return None if data is None else strict_json.loads(data)


def as_properties(value: object) -> dict[str, str | None] | None:
    """Return a config from a topic, in the order of Java's `HashMap`; None: the value is no map."""
    if not isinstance(value, dict):
        return None
    return {name: None if value[name] is None else _text(value[name]) for name in hash_map_order(value)}


def java_kind(value: object) -> str:
    """Return the Java class of a JSON value, for messages."""
    names = {bool: "Boolean", int: "Long", float: "Double", str: "String", list: "ArrayList", dict: "HashMap"}
    if value is None:
        return "null"
    name = names.get(type(value), type(value).__name__)
    return f"java.util.{name}" if name in ("ArrayList", "HashMap") else f"java.lang.{name}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value).decode()
