"""Splits long lists into chunks that fit a time slice. Compiled where possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

T = TypeVar("T")

CHUNK: Final = 50
"""Items in a chunk. For most handlers that is 20 to 100 µs of work: at most half a time slice (`SLICE_SECONDS`)."""

_SEQUENCES: Any = (list, tuple, range)
"""A constant, because mypyc treats a value that `isinstance` narrows to these types as a list or a tuple."""


def chunks(items: Iterable[T]) -> Iterable[Sequence[T]]:
    """Split the items into chunks: the caller awaits a checkpoint between two of them.

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
