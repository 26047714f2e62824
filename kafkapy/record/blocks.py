"""Splits bytes into pieces, for work that must not hold the interpreter lock for long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.yield_gil import yield_gil

Buffer = bytes | bytearray | memoryview

PIECE: Final = 1 << 18
"""Bytes that a thread decompresses, checks or compresses between two yields of the interpreter lock
(docs/benchmarks.md, loads with large compressed batches).
"""


def pieces(data: Buffer) -> Iterator[bytes]:
    """Yield copies of 256 KB each, and yield the interpreter lock before all but the first."""
    view = memoryview(data)
    yield bytes(view[:PIECE])
    for start in range(PIECE, len(view), PIECE):
        yield_gil()
        yield bytes(view[start : start + PIECE])


def blocks_of(chunks: Iterable[Buffer], size: int) -> Iterator[Buffer]:
    """Yield the same bytes in blocks of `size`, the last of which may be smaller."""
    rest: Buffer = b""
    for chunk in chunks:
        view = memoryview(chunk)
        position = 0
        if rest:
            position = size - len(rest)
            rest = b"".join((rest, view[:position]))
            if len(rest) < size:
                continue
            yield rest
        end = position + (len(view) - position) // size * size
        for start in range(position, end, size):
            yield view[start : start + size]
        rest = bytes(view[end:])
    if rest:
        yield rest


def too_large(limit: int) -> KafkaError:
    """Return the error for more than `limit` decompressed bytes."""
    return KafkaError(Errors.MESSAGE_TOO_LARGE, f"The records take more than {limit} bytes when they are decompressed")
