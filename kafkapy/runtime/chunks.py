"""Long lists, a few items at a time. This is machine code where there is any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

T = TypeVar("T")

CHUNK: Final = 50
"""Items of a chunk: of most handlers 20 to 100 µs of work, half a time slice at most (`TURN_SECONDS`)."""

_SEQUENCES: Any = (list, tuple, range)
"""Not in the call itself: mypyc takes what is one of the three for a list or a tuple."""


def chunks(items: Iterable[T]) -> Iterable[Sequence[T]]:
    """A few items at a time: a chunk is as much as may be done between two checkpoints.

    Example:
        >>> [len(chunk) for chunk in chunks(range(120))]
        [50, 50, 20]
    """
    if not isinstance(items, _SEQUENCES):
        return _cut(iter(items))
    sequence: Any = items
    size: int = len(sequence)
    if size <= CHUNK:
        return (sequence,) if size else ()
    return [sequence[start : start + CHUNK] for start in range(0, size, CHUNK)]


def _cut(items: Iterator[T]) -> Iterator[list[T]]:
    while chunk := list(islice(items, CHUNK)):
        yield chunk
