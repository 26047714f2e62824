"""Zstandard frames as Kafka's clients write them (`ZstdCompression`).

A frame's blocks are walked before anything is decompressed: each gives at most 128 KB, so the walk tells whether the
frame is whole (the library's reader ends silently where the data does) and bounds what comes out of it, without
trusting the content size that the header may announce.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import local
from typing import Any

from kafkapy.protocol.errors import Errors, KafkaError

Buffer = bytes | bytearray | memoryview

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 17
_ZSTD_CHUNK = 1 << 18
_ONE_SHOT = 1 << 22
_RLE = 1
_ZSTD_DEFAULT_LEVEL = 3


class _Decompressors(local):
    """A decompression context for each thread: making one costs more than a small batch."""

    def __init__(self) -> None:
        import zstandard

        self.decompressor: Any = zstandard.ZstdDecompressor()


_decompressors: _Decompressors | None = None


def compressed(chunks: Iterable[Buffer], level: int | None = None) -> Iterator[bytes]:
    """One frame without content size and checksum. `level`: -131072 to 22, None is 3."""
    import zstandard

    level = _ZSTD_DEFAULT_LEVEL if level is None else level
    stream = zstandard.ZstdCompressor(level, write_content_size=False).compressobj()
    for chunk in chunks:
        yield stream.compress(chunk)
    # The Java client flushes before it closes, which adds an empty block.
    yield stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    yield stream.flush()


def blocks(data: Buffer) -> Iterator[bytes]:
    """The decompressed data in pieces of at most 4 MB.

    Raises `KafkaError` UNKNOWN_SERVER_ERROR where a frame is damaged.
    """
    import zstandard

    global _decompressors
    if _decompressors is None:
        _decompressors = _Decompressors()
    view = memoryview(data)
    position = 0
    while position < len(view) or position == 0:
        end, bound = _scan(view, position)
        frame = view[position:end]
        position = end
        try:
            if bound <= _ONE_SHOT:
                yield _decompressors.decompressor.decompress(frame, max_output_size=max(bound, 1))
            else:
                reader = zstandard.ZstdDecompressor().stream_reader(frame)
                while piece := reader.read(_ZSTD_CHUNK):
                    yield piece
        except zstandard.ZstdError as error:
            raise _damaged(error) from None


def _scan(view: memoryview, position: int) -> tuple[int, int]:
    """(end of the frame at `position`, upper bound of what it decompresses to)."""
    length = len(view)
    magic = bytes(view[position : position + 4])
    if magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:  # a skippable frame
        end = position + 8 + int.from_bytes(view[position + 4 : position + 8], "little")
        return _within(end, length), 0
    if magic != _ZSTD_MAGIC:
        raise _damaged("unknown frame descriptor")
    descriptor = view[_within(position + 5, length) - 1]
    single_segment = descriptor >> 5 & 1
    dictionary_size = (0, 1, 2, 4)[descriptor & 3]
    content_size_field = (single_segment, 2, 4, 8)[descriptor >> 6]
    position += 5 + (1 - single_segment) + dictionary_size
    content_size = int.from_bytes(view[position : position + content_size_field], "little")
    position += content_size_field
    bound = 0
    while True:
        start = position
        position = _within(start + 3, length)
        header = int.from_bytes(view[start:position], "little")
        kind, size = header >> 1 & 3, header >> 3
        bound += min(size, _ZSTD_BLOCK) if kind <= _RLE else _ZSTD_BLOCK
        position += 1 if kind == _RLE else size
        if header & 1:
            if content_size > bound:  # the library would allocate it
                raise _damaged("impossible content size")
            return _within(position + (4 if descriptor & 4 else 0), length), bound


def _within(position: int, length: int) -> int:
    if position > length:
        raise _damaged("truncated source")
    return position


def _damaged(reason: object) -> KafkaError:
    return KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Failed to decompress record stream: zstd: {reason}")
