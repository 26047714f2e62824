"""Records whose bytes are made while they are sent."""

from __future__ import annotations


class LateRecords:
    """How many bytes there will be is known before: the size stands in front of them on the wire."""

    def __len__(self) -> int:
        """Bytes that `next_piece` has still to give."""
        raise NotImplementedError

    async def next_piece(self) -> bytes:
        """The next of them, at least one and at most `len` before; asked for when all before it were sent."""
        raise NotImplementedError
