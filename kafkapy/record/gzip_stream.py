"""Gzip as the Java client writes it (`GzipOutputStream`)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.blocks import PIECE

Buffer = bytes | bytearray | memoryview

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_INPUT = 1 << 16
"""Small input pieces, because zlib copies the unconsumed input."""


def compressed(chunks: Iterable[Buffer], level: int | None = None) -> Iterator[bytes]:
    """Yield one member, whose header has no time and an unknown system. `level`: -1 (the default) or 1 to 9."""
    stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -15)
    crc = size = 0
    yield _GZIP_HEADER
    for chunk in chunks:
        crc = zlib.crc32(chunk, crc)
        size += len(chunk)
        yield stream.compress(chunk)
    yield stream.flush()
    yield crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def blocks(data: Buffer) -> Iterator[bytes]:
    """Yield the decompressed data in pieces of at most 256 KB.

    Raises `KafkaError` UNKNOWN_SERVER_ERROR where the stream is damaged.
    """
    view = memoryview(data)
    position = 0
    member = True
    while member:
        stream = zlib.decompressobj(31)
        while not stream.eof:
            rest: Buffer = stream.unconsumed_tail
            if not rest:
                rest = view[position : position + _INPUT]
                position += len(rest)
            try:
                piece = stream.decompress(rest, PIECE)
            except zlib.error as error:
                raise _damaged(error) from None
            if piece:
                yield piece
            elif not stream.eof and not stream.unconsumed_tail and position == len(view):
                raise _damaged("unexpected end of the gzip stream")
        position -= len(stream.unused_data)
        # Java reads further members, and treats anything else as the end.
        member = view[position : position + 3] == _GZIP_HEADER[:3]


def _damaged(reason: object) -> KafkaError:
    return KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Failed to decompress record stream: gzip: {reason}")
