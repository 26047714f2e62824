"""Records that are encoded while they are sent."""

from __future__ import annotations


class LazyRecords:
    """The number of bytes is known in advance, because the size precedes them on the wire."""

    def __len__(self) -> int:
        """The bytes that `next_piece` has not yet returned."""
        raise NotImplementedError

    async def next_piece(self) -> bytes:
        """Return the next bytes, at least one and at most `len` of before; called when all earlier ones were sent."""
        raise NotImplementedError
