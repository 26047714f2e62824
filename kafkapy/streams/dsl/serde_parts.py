"""Serializer and deserializer of optional serdes."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.serdes import Deserializer, Serde, Serializer


def serializer_of(serde: Serde[Any] | None) -> Serializer | None:
    """Return the serializer; None for the configuration's default."""
    return None if serde is None else serde.serializer()


def deserializer_of(serde: Serde[Any] | None) -> Deserializer | None:
    """Return the deserializer; None for the configuration's default."""
    return None if serde is None else serde.deserializer()
