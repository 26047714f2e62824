"""The largest values of Kafka's integer fields and configs (Java's `Integer.MAX_VALUE`, `Long.MAX_VALUE`)."""

from __future__ import annotations

from typing import Final

MAX_INT: Final = (1 << 31) - 1
MAX_LONG: Final = (1 << 63) - 1
