"""JSON pointers (RFC 6901)."""

from __future__ import annotations

from typing import Any

from kafkapy.common.config_def import ConfigException


def check_pointer(name: str, pointer: str | None) -> None:
    """Accept a missing or correct pointer; a validator of configs. Raises ConfigException."""
    if pointer and not pointer.startswith("/"):
        raise ConfigException.invalid(name, pointer, "Expected a JSON pointer, such as /data/items.")


def value_at(document: Any, pointer: str) -> Any:
    """Return what a pointer points to, None if there is nothing.

    Args:
        document: Parsed JSON.
        pointer: Empty for the whole document.

    Example:
        >>> value_at({"a": [{"b/c": 5}]}, "/a/0/b~1c")
        5
    """
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return document
