"""Spare receive buffers for large frames."""

from __future__ import annotations

from bisect import insort

MAX_SPARES = 4
"""Limits the memory that is kept between frames."""


class SpareBuffers:
    """Unused receive buffers of all connections, to be reused.

    Fresh memory must be zeroed and costs a page fault for each 4 KiB, which takes longer than to receive into it.

    Invariant: at most `MAX_SPARES`, the smallest first.
    """

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []

    def take(self, size: int) -> memoryview | None:
        """Return the first `size` bytes of a buffer that is large enough; None if there is none."""
        if self._buffers and len(self._buffers[-1]) >= size:
            return memoryview(self._buffers.pop())[:size]
        return None

    def give(self, buffer: bytearray) -> None:
        """Add an unused buffer."""
        insort(self._buffers, buffer, key=len)
        if len(self._buffers) > MAX_SPARES:
            del self._buffers[0]
