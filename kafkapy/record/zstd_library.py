"""Two libraries for Zstandard.

The standard library's (before Python 3.14 `backports.zstd`, 2 MB) is always installed. `zstandard` (23 MB) is used if
it is installed, as with the broker: it keeps a context for decompression, which saves 40 µs per batch. Their output is
the same.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import local
from typing import Any, Protocol

from kafkapy.record.blocks import PIECE

Buffer = bytes | bytearray | memoryview


class ZstdLibrary(Protocol):
    """A library. Its frames have neither content size nor checksum."""

    errors: tuple[type[Exception], ...]
    """Exceptions for a damaged frame."""

    def compressor(self, level: int) -> tuple[Any, Any]:
        """Return (a stream with `compress(data)` and `flush(mode)`, the mode that ends a block)."""
        ...

    def decompress(self, frame: Buffer, bound: int) -> bytes:
        """Decompress one whole frame of at most `bound` decompressed bytes."""
        ...

    def pieces(self, frame: Buffer) -> Iterator[bytes]:
        """Decompress one whole frame in pieces."""
        ...


class StandardZstd:
    def __init__(self) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
        self._zstd: Any = zstd
        self.errors: tuple[type[Exception], ...] = (zstd.ZstdError, EOFError)

    def compressor(self, level: int) -> tuple[Any, Any]:
        parameter = self._zstd.CompressionParameter
        options = {parameter.compression_level: level, parameter.content_size_flag: 0}
        stream = self._zstd.ZstdCompressor(options=options)
        return stream, stream.FLUSH_BLOCK

    def decompress(self, frame: Buffer, bound: int) -> bytes:
        decompressor = self._zstd.ZstdDecompressor()
        plain: bytes = decompressor.decompress(frame, max(bound, 1))
        if not decompressor.eof:
            raise EOFError("did not decompress full frame")
        return plain

    def pieces(self, frame: Buffer) -> Iterator[bytes]:
        decompressor = self._zstd.ZstdDecompressor()
        piece = decompressor.decompress(frame, PIECE)
        while piece:
            yield piece
            piece = b"" if decompressor.eof else decompressor.decompress(b"", PIECE)


class _Contexts(local):
    """A decompression context per thread."""

    def __init__(self) -> None:
        import zstandard

        self.decompressor: Any = zstandard.ZstdDecompressor()


class FastZstd:
    def __init__(self) -> None:
        import zstandard

        self._zstd: Any = zstandard
        self._contexts = _Contexts()
        self.errors: tuple[type[Exception], ...] = (zstandard.ZstdError,)

    def compressor(self, level: int) -> tuple[Any, Any]:
        stream = self._zstd.ZstdCompressor(level, write_content_size=False).compressobj()
        return stream, self._zstd.COMPRESSOBJ_FLUSH_BLOCK

    def decompress(self, frame: Buffer, bound: int) -> bytes:
        plain: bytes = self._contexts.decompressor.decompress(frame, max_output_size=max(bound, 1))
        return plain

    def pieces(self, frame: Buffer) -> Iterator[bytes]:
        reader = self._zstd.ZstdDecompressor().stream_reader(frame)
        while piece := reader.read(PIECE):
            yield piece


def best_library() -> ZstdLibrary:
    """Return the fast library if it is installed."""
    try:
        return FastZstd()
    except ImportError:
        return StandardZstd()
