"""Reads `ssl.*` from a mapping: of a properties file (strings), or of a broker's or client's config (typed values)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import Password

TlsConfigs = Mapping[str, Any]
"""Kafka's names, without a listener's prefix. Strings, lists, booleans, `Password`s; None means missing."""


def text_of(configs: TlsConfigs, name: str, default: str | None = None) -> str | None:
    """Return a text; an empty one means missing, because none of these configs has a meaning when empty."""
    value = secret_of(configs, name)
    return value or default


def secret_of(configs: TlsConfigs, name: str) -> str | None:
    """Return a text that may be empty: a password."""
    value = configs.get(name)
    if isinstance(value, Password):
        return value.value
    return None if value is None else str(value)


def list_of(configs: TlsConfigs, name: str, default: str) -> list[str]:
    """Return a list, or the parts of a text separated by commas."""
    value = configs.get(name)
    if value is None:
        value = default
    items = value if isinstance(value, list | tuple) else str(value).split(",")
    return [item for item in (str(each).strip() for each in items) if item]


def flag_of(configs: TlsConfigs, name: str) -> bool:
    """Return a boolean, or the value of its text; false by default."""
    value = configs.get(name)
    return value if isinstance(value, bool) else str(value).strip().lower() == "true"
