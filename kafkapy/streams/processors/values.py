"""Optional values with timestamps."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.records import ValueAndTimestamp


def timestamped(value: Any, timestamp: int) -> ValueAndTimestamp | None:
    """Return the value with its timestamp for a timestamped store; None, which deletes, for None."""
    return None if value is None else ValueAndTimestamp(value, timestamp)
