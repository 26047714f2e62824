"""Counts a broker's objects by type: unreachable cycles, and live objects."""

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
    """Counts garbage between `begin` and `end`.

    Invariant: automatic garbage collection is disabled meanwhile, so that no garbage is freed uncounted.
    """

    def begin(self) -> None:
        """Collect the present garbage and disable automatic collection."""
        gc.disable()
        _malloc_bytes()  # the first call allocates objects, which are not to be counted
        gc.unfreeze()
        gc.collect()

    def unreachable(self) -> dict[str, int]:
        """Free the cycles created since `begin` or the last call, and return the number of objects by type."""
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            return _by_type(gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.collect()

    def alive(self) -> dict[str, int]:
        """Return the number of objects by type that the garbage collector tracks."""
        return _by_type(gc.get_objects())

    def memory(self) -> dict[str, int]:
        """Return the number of memory blocks that Python has allocated, and the bytes allocated by the C library's
        `malloc`.

        The first includes objects that the garbage collector does not track; the second is 0 without glibc's
        `mallinfo2`.
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
    """Bytes allocated in the heaps and by mmap."""
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
