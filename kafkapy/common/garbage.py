"""When Python's collector of cyclic garbage rests."""

from __future__ import annotations

import gc
import time

LONGEST_REST_SECONDS = 60.0

_resting: set[int] = set()
_began = 0.0


class Rest:
    """While there is one, nobody looks for garbage: a walk that meets a list of 300,000 visits all of them, which took 70 ms.

    What a large request leaves goes by its reference counts. After a minute no rest begins before the collector has worked again.
    """

    def __init__(self) -> None:
        global _began
        now = time.monotonic()
        if not _resting:
            _began = now
        if now - _began <= LONGEST_REST_SECONDS:
            _resting.add(id(self))
            gc.disable()

    def __del__(self) -> None:
        """In whichever thread; should a new one begin just now, that one is of no use, and nothing else happens."""
        if id(self) in _resting:
            _resting.discard(id(self))
            if not _resting:
                gc.enable()
