"""Snappy as Kafka's clients write it: the xerial framing of snappy-java, or one raw block (librdkafka).

82 "SNAPPY" 00 | int32 version 1 | int32 compatible 1 | blocks: int32 length, raw snappy
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.blocks import blocks_of, too_large

Buffer = bytes | bytearray | memoryview

_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_STREAM_HEADER = _SNAPPY_MAGIC + b"\0\0\0\1\0\0\0\1"
_STREAM_HEAD = int.from_bytes(_SNAPPY_MAGIC[:4], "big", signed=True)
_SNAPPY_BLOCK = 1 << 15
_MAX_RATIO = 32
"""A snappy element of two bytes copies at most 11, one of three at most 64, so no valid block has a larger ratio."""


def compressed(chunks: Iterable[Buffer]) -> Iterator[bytes]:
    """Yield a xerial stream of 32 KB blocks."""
    import snappy

    yield _STREAM_HEADER
    for block in blocks_of(chunks, _SNAPPY_BLOCK):
        packed = snappy.compress(bytes(block))
        yield len(packed).to_bytes(4, "big")
        yield packed


def blocks(data: Buffer, limit: int) -> Iterator[bytes]:
    """Yield the decompressed blocks. A block is at most 32 times its compressed size.

    Raises `KafkaError` UNKNOWN_SERVER_ERROR where the stream is damaged, MESSAGE_TOO_LARGE for a block of more than
    `limit`.
    """
    view = memoryview(data)
    if view[:8] != _SNAPPY_MAGIC:
        yield _decompress_block(view, limit)
        return
    position = len(_STREAM_HEADER)
    while position < len(view):
        length = int.from_bytes(view[position : position + 4], "big", signed=True)
        if length == _STREAM_HEAD:  # snappy-java accepts concatenated streams
            position += len(_STREAM_HEADER)
            continue
        position += 4
        if length < 0 or position + length > len(view):
            raise _damaged("stream ended prematurely")
        yield _decompress_block(view[position : position + length], limit)
        position += length


def _decompress_block(block: memoryview, limit: int) -> bytes:
    import snappy

    size = _announced_size(block)
    if size > len(block) * _MAX_RATIO:
        raise _damaged("impossible size of a block")
    if size > limit:
        raise too_large(limit)
    try:
        return snappy.uncompress(bytes(block))  # type: ignore[no-any-return]
    except snappy.UncompressError as error:
        raise _damaged(error.__cause__ or error) from None


def _announced_size(block: memoryview) -> int:
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise _damaged("no size of a block")


def _damaged(reason: object) -> KafkaError:
    return KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Failed to decompress record stream: snappy: {reason}")
