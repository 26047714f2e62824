"""Gzip as the Java client writes it (`GzipOutputStream`)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from kafkapy.protocol.errors import Errors, KafkaError

Buffer = bytes | bytearray | memoryview

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_GZIP_CHUNK = 1 << 18


def compress(data: Buffer, level: int | None = None) -> bytes:
    """One member, with no time and an unknown system in its header. `level`: -1 (the default) or 1 to 9."""
    stream = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, -15)
    body = stream.compress(data) + stream.flush()
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return _GZIP_HEADER + body + trailer


def blocks(data: Buffer) -> Iterator[bytes]:
    """The decompressed data in pieces of at most 256 KB.

    Raises `KafkaError` UNKNOWN_SERVER_ERROR where the stream is damaged.
    """
    member = True
    while member:
        stream = zlib.decompressobj(31)
        rest: Buffer = data
        while not stream.eof:
            try:
                piece = stream.decompress(rest, _GZIP_CHUNK)
            except zlib.error as error:
                raise _damaged(error) from None
            rest = stream.unconsumed_tail
            if piece:
                yield piece
            elif not stream.eof and not rest:
                raise _damaged("unexpected end of the gzip stream")
        data = stream.unused_data
        # Java reads further members, and takes anything that is not one for the end.
        member = data[:3] == _GZIP_HEADER[:3]


def _damaged(reason: object) -> KafkaError:
    return KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Failed to decompress record stream: gzip: {reason}")
