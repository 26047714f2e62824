"""Memory for single large requests: the kernel provides pages as bytes arrive, and gets them back in portions."""

from __future__ import annotations

from mmap import MADV_DONTNEED, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

from kafkapy.runtime.yield_gil import yield_gil

_PORTION: Final = 1 << 20
"""Bytes freed at once. Freeing 90 MB in one call blocks other threads' allocations for milliseconds."""


def allocate(size: int) -> memoryview:
    """Map anonymous memory; nothing is zeroed or copied in advance."""
    return memoryview(mmap(-1, size, MAP_PRIVATE | MAP_ANONYMOUS))


def release(views: list[memoryview]) -> None:
    """Free the mappings behind these views, in portions. To be called in a thread; there must be no other users of the views.

    Freeing a large mapping in one call blocks all threads that ask the kernel for memory.
    """
    mappings = {id(view.obj): view.obj for view in views if isinstance(view.obj, mmap)}
    views.clear()
    for mapping in mappings.values():
        size = len(mapping)
        for start in range(0, size, _PORTION):
            mapping.madvise(MADV_DONTNEED, start, min(_PORTION, size - start))
            yield_gil()


class LargeBytes:
    """A byte buffer that is allocated once for the expected size.

    A growing bytearray may be copied as a whole, and holds the interpreter lock meanwhile.

    Invariant: the content is the first `_size` bytes of `_memory`.
    """

    def __init__(self, expected: int) -> None:
        """`expected`: roughly the largest size, in bytes; unused memory costs nothing."""
        self._memory = allocate(max(expected, 1))
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def extend(self, piece: bytes | bytearray | memoryview) -> None:
        end = self._size + len(piece)
        if end > len(self._memory):
            larger = allocate(2 * end)
            larger[: self._size] = self._memory[: self._size]
            self._memory = larger
        self._memory[self._size : end] = piece
        self._size = end

    def view(self) -> memoryview:
        """Return the bytes so far; `release` frees them."""
        return self._memory[: self._size]
