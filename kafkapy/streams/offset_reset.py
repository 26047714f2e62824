"""Offset reset policies of sources."""

from __future__ import annotations

from enum import Enum


class AutoOffsetReset(Enum):
    """The start position of a source without committed offsets (`Topology.AutoOffsetReset`).

    Example:
        >>> AutoOffsetReset.EARLIEST.value
        'earliest'
    """

    EARLIEST = "earliest"
    LATEST = "latest"
