"""What a broker's memory holds, counted by type: unreachable cycles, and objects that are alive."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

_MALLINFO2 = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class GarbageCount:
    """Invariant: from `begin` to `end` the collector finds nothing by itself, so what it would have found is counted."""

    def begin(self) -> None:
        """Collect what is unreachable now, and leave everything later to `unreachable`."""
        gc.disable()
        _malloc_bytes()  # what the first look makes is not counted
        gc.unfreeze()
        gc.collect()

    def unreachable(self) -> dict[str, int]:
        """Free the cycles that were made since, and return how many objects of each type they had."""
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            return _by_type(gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.collect()

    def alive(self) -> dict[str, int]:
        """Return how many objects of each type the collector knows."""
        return _by_type(gc.get_objects())

    def memory(self) -> dict[str, int]:
        """Return how many pieces of memory Python holds, and how many bytes the C library's `malloc` has given out.

        The first counts objects that the collector does not know, too; the second is 0 where the C library does not tell.
        """
        return {"blocks": sys.getallocatedblocks(), "malloc": _malloc_bytes()}

    def end(self) -> None:
        gc.enable()


class _Mallinfo2(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _MALLINFO2)


@cache
def _mallinfo2() -> Callable[[], Any] | None:
    try:
        found = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        return None
    found.restype = _Mallinfo2
    return found


def _malloc_bytes() -> int:
    """What is given out, of the heaps and by mmap."""
    mallinfo2 = _mallinfo2()
    if mallinfo2 is None:
        return 0
    told = mallinfo2()
    return int(told.uordblks + told.hblkhd)


def _by_type(objects: list[object]) -> dict[str, int]:
    """Functions are counted by their own names: a closure that refers to itself is the usual cycle."""
    return dict(Counter(_name(item) for item in objects))


def _name(item: object) -> str:
    named = item if isinstance(item, FunctionType) else type(item)
    return f"{named.__module__}.{named.__qualname__}"
