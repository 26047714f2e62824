"""Bytes in pieces, for work on them that others must not wait for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.hand_over import hand_over

Buffer = bytes | bytearray | memoryview

PIECE: Final = 1 << 18
"""Bytes that a thread decompresses, checks or compresses between two hand-overs. The loads with large compressed batches in
docs/benchmarks.md were measured with it."""


def pieces(data: Buffer) -> Iterator[bytes]:
    """Copies of 256 KB each, with a hand-over before all but the first."""
    view = memoryview(data)
    yield bytes(view[:PIECE])
    for start in range(PIECE, len(view), PIECE):
        hand_over()
        yield bytes(view[start : start + PIECE])


def blocks_of(chunks: Iterable[Buffer], size: int) -> Iterator[Buffer]:
    """The same bytes in blocks of `size`, the last of which may be smaller."""
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
    """More than `limit` bytes come out."""
    return KafkaError(Errors.MESSAGE_TOO_LARGE, f"The records take more than {limit} bytes when they are decompressed")
