"""Special timestamps: requests of ListOffsets, and records without a timestamp."""

from __future__ import annotations

from typing import Final

NO_TIMESTAMP: Final = -1
LATEST_TIMESTAMP: Final = -1
EARLIEST_TIMESTAMP: Final = -2
MAX_TIMESTAMP: Final = -3
"""Asks for the record with the largest timestamp (KIP-734)."""
EARLIEST_LOCAL_TIMESTAMP: Final = -4
LATEST_TIERED_TIMESTAMP: Final = -5
