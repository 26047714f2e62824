"""Where to begin to read."""

from __future__ import annotations

from enum import Enum


class AutoOffsetReset(Enum):
    """Where a source begins without committed offsets (`Topology.AutoOffsetReset`).

    Example:
        >>> AutoOffsetReset.EARLIEST.value
        'earliest'
    """

    EARLIEST = "earliest"
    LATEST = "latest"
