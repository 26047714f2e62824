"""Large receive buffers between two frames."""

from __future__ import annotations

from bisect import insort

MOST_SPARES = 4
"""Bounds the memory that is kept between frames."""


class SpareBuffers:
    """Buffers into which nobody receives now, of all connections. Fresh memory is zeroed and costs a page fault for each 4 KiB,
    which takes longer than to receive into them.

    Invariant: `MOST_SPARES` at most, the smallest first.
    """

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []

    def take(self, size: int) -> memoryview | None:
        """The first `size` bytes of one that has as many; None if there is none."""
        if self._buffers and len(self._buffers[-1]) >= size:
            return memoryview(self._buffers.pop())[:size]
        return None

    def give(self, buffer: bytearray) -> None:
        """Nobody receives into it any more."""
        insort(self._buffers, buffer, key=len)
        if len(self._buffers) > MOST_SPARES:
            del self._buffers[0]
