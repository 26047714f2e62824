"""Parts of documents: fields that are kept or removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkapy.common.config_def import ConfigException

Projection = Callable[[dict[str, Any]], dict[str, Any]]


def projection(kind: str, fields: str, name: str) -> Projection | None:
    """Return a function that returns a document with some of its fields; None: all of them.

    Args:
        kind: Allowlist (fields to keep), blocklist (fields to remove), or none.
        fields: Their names, separated by commas; dots lead into documents and arrays of documents.
        name: Of the config with `fields`, for errors.

    Raises:
        ConfigException: A name has a wildcard.

    Example:
        >>> keep = projection("AllowList", "a,b.c", "value.projection.list")
        >>> keep({"a": 1, "b": {"c": 2, "d": 3}, "e": 4}) if keep else None
        {'a': 1, 'b': {'c': 2}}
    """
    if kind.lower() in ("", "none"):
        return None
    paths = [each.strip() for each in fields.split(",") if each.strip()]
    if any("*" in each for each in paths):
        raise ConfigException.invalid(name, fields, "Wildcards are not supported: name the fields.")
    if kind.lower() in ("allowlist", "whitelist"):
        allowed = {".".join(parts[: n + 1]) for parts in (path.split(".") for path in paths) for n in range(len(parts))}
        return lambda document: _kept(document, allowed, "")
    blocked = [path.split(".") for path in paths]
    return lambda document: _without(document, blocked)


def _kept(document: dict[str, Any], allowed: set[str], prefix: str) -> dict[str, Any]:
    def part(value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return _kept(value, allowed, f"{path}.")
        if isinstance(value, list):
            return [part(each, path) if isinstance(each, dict) else each for each in value]
        return value

    return {name: part(value, prefix + name) for name, value in document.items() if prefix + name in allowed}


def _without(document: dict[str, Any], blocked: Sequence[Sequence[str]]) -> dict[str, Any]:
    def part(value: Any, below: Sequence[Sequence[str]]) -> Any:
        if isinstance(value, dict):
            return _without(value, below)
        if isinstance(value, list):
            return [part(each, below) if isinstance(each, dict) else each for each in value]
        return value

    kept = {}
    for name, value in document.items():
        if [name] not in [list(path) for path in blocked]:
            below = [path[1:] for path in blocked if path[0] == name and len(path) > 1]
            kept[name] = part(value, below) if below else value
    return kept
