"""Zstandard frames as Kafka's clients write them (`ZstdCompression`).

A frame's block headers are scanned before decompression. Each block yields at most 128 KB, so the scan tells whether
the frame is complete (the library's reader ends silently with the data) and bounds the decompressed size, without
trusting the content size in the header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.zstd_library import ZstdLibrary, best_library

Buffer = bytes | bytearray | memoryview

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_BLOCK = 1 << 17
_ONE_SHOT = 1 << 22
"""Frames up to this decompressed size are decompressed in one call; larger ones in pieces."""
_RLE = 1
_ZSTD_DEFAULT_LEVEL = 3


@cache
def _library() -> ZstdLibrary:
    """Choose the library at the first frame."""
    return best_library()


def compressed(chunks: Iterable[Buffer], level: int | None = None) -> Iterator[bytes]:
    """Yield one frame without content size and checksum. `level`: -131072 to 22, None is 3."""
    stream, flush_block = _library().compressor(_ZSTD_DEFAULT_LEVEL if level is None else level)
    for chunk in chunks:
        yield stream.compress(chunk)
    # The Java client flushes before it closes, which adds an empty block.
    yield stream.flush(flush_block)
    yield stream.flush()


def blocks(data: Buffer) -> Iterator[bytes]:
    """Yield the decompressed data in pieces of at most 4 MB.

    Raises `KafkaError` UNKNOWN_SERVER_ERROR where a frame is damaged.
    """
    library = _library()
    view = memoryview(data)
    position = 0
    while position < len(view) or position == 0:
        end, bound = _scan(view, position)
        frame = view[position:end]
        position = end
        if frame[:4] != _ZSTD_MAGIC:  # a skippable frame
            continue
        try:
            if bound <= _ONE_SHOT:
                yield library.decompress(frame, bound)
            else:
                yield from library.pieces(frame)
        except library.errors as error:
            raise _damaged(error) from None


def _scan(view: memoryview, position: int) -> tuple[int, int]:
    """Return (end of the frame at `position`, upper bound of its decompressed size)."""
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
