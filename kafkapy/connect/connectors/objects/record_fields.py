"""Fields of a record's value, with or without a schema."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException


def field_of(value: Any, path: str) -> Any:
    """Return a field of a struct or map.

    Args:
        value: A record's value.
        path: Name of the field; with dots if it is inside of another.

    Raises:
        DataException: There is no such field.

    Example:
        >>> field_of({"a": {"b": 5}}, "a.b")
        5
    """
    for name in (path,) if _has(value, path) else path.split("."):
        if not _has(value, name):
            raise DataException(f"The value has no field {path}.")
        value = value[name]
    return value


def _has(value: Any, name: str) -> bool:
    if isinstance(value, Struct):
        return value.schema.field(name) is not None
    return isinstance(value, dict) and name in value
