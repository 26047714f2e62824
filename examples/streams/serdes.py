"""Short forms for serdes of types."""

from __future__ import annotations

from typing import Any

from kafkapy.streams import Grouped, Materialized, serde_of


def grouped(key: type[Any], value: type[Any]) -> Grouped[Any, Any]:
    """Return the serdes of a repartition topic."""
    return Grouped.with_(serde_of(key), serde_of(value))


def stored(name: str, key: type[Any], value: type[Any]) -> Materialized[Any, Any]:
    """Return a store with its serdes."""
    return Materialized.as_(name).with_key_serde(serde_of(key)).with_value_serde(serde_of(value))
