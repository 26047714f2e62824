"""Values with their times, where None is no value at all."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.records import ValueAndTimestamp


def timestamped(value: Any, timestamp: int) -> ValueAndTimestamp | None:
    """A value for a timestamped store, which None deletes."""
    return None if value is None else ValueAndTimestamp(value, timestamp)
