"""Memory of one large request each: the kernel gives it page by page, as bytes come, and takes it back in portions."""

from __future__ import annotations

from mmap import MADV_DONTNEED, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Final

from kafkapy.runtime.hand_over import hand_over

_PORTION: Final = 1 << 20
"""Bytes that go back to the kernel at once: 90 MB in one go had others wait for 4 ms, so these for some 0.05 ms."""


def allocate(size: int) -> memoryview:
    """Nothing is zeroed or moved."""
    return memoryview(mmap(-1, size, MAP_PRIVATE | MAP_ANONYMOUS))


def release(views: list[memoryview]) -> None:
    """Nobody else reads what they show. For a thread.

    Large memory that goes at once has whoever asks the kernel for memory meanwhile wait: 4 ms for 90 MB.
    """
    mappings = {id(view.obj): view.obj for view in views if isinstance(view.obj, mmap)}
    views.clear()
    for mapping in mappings.values():
        size = len(mapping)
        for start in range(0, size, _PORTION):
            mapping.madvise(MADV_DONTNEED, start, min(_PORTION, size - start))
            hand_over()


class LargeBytes:
    """Bytes that come in pieces. What is there already does not move while there are no more than was expected: a bytearray
    that grows may be copied as a whole, and keeps the interpreter to itself meanwhile.

    Invariant: they are the first `_size` of `_memory`.
    """

    def __init__(self, expected: int) -> None:
        """`expected`: how many there will be at most, roughly; what is not used costs nothing."""
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
        """The bytes so far; `release` takes it."""
        return self._memory[: self._size]
