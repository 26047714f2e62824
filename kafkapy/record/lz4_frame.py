"""LZ4 frames as Kafka's clients write and read them (`Lz4BlockOutputStream`, `Lz4BlockInputStream`).

    magic 04 22 4d 18 | FLG | BD | [content size, 8] | header checksum | blocks | 00 00 00 00 | [content checksum, 4]
    block: size (uint32, little-endian; top bit: stored uncompressed) | data | [block checksum, 4]

Only frames of independent blocks are taken. Of the checksums only the header's is verified: the batch's CRC covers
the rest. Clients of message format v0 computed the header's checksum over the magic as well (KAFKA-3160); it is not
looked at when `check_header` is off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from struct import Struct
from typing import Final

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.blocks import blocks_of

Buffer = bytes | bytearray | memoryview

_LZ4_MAGIC: Final[bytes] = b"\x04\x22\x4d\x18"
_LZ4_BLOCK: Final = 1 << 16
_STORED: Final = 0x80000000
_FRAME_HEADER: Final = _LZ4_MAGIC + b"\x60\x40\x82"
"""Version 1, independent blocks of at most 64 KB, no checksums of content or blocks."""
_BROKEN_HEADER: Final = _LZ4_MAGIC + b"\x60\x40\x1a"
_HEAD_AND_SIZE: Final = Struct(f"<{len(_FRAME_HEADER)}sI").unpack_from
_BLOCK_SIZE: Final = Struct("<I").unpack_from
_LZ4_DEFAULT_LEVEL: Final = 9
"""Kafka's name for "the fast compressor"; all other levels use lz4's high compression."""


def compressed(chunks: Iterable[Buffer], level: int | None = None, broken_checksum: bool = False) -> Iterator[bytes]:
    """Yield one frame. `level`: 1 to 17, None or 9 for the fast compressor. `broken_checksum`: as in message format v0."""
    import lz4.block

    yield _BROKEN_HEADER if broken_checksum else _FRAME_HEADER
    fast = level is None or level == _LZ4_DEFAULT_LEVEL
    for block in blocks_of(chunks, _LZ4_BLOCK):
        if fast:
            packed = lz4.block.compress(block, store_size=False)
        else:
            packed = lz4.block.compress(block, mode="high_compression", compression=level, store_size=False)
        size = len(packed)
        if size >= len(block):
            size = len(block) | _STORED
            packed = bytes(block)
        yield size.to_bytes(4, "little")
        yield packed
    yield b"\0\0\0\0"


def blocks(data: Buffer, check_header: bool = True) -> Iterator[bytes]:
    """Yield the decompressed blocks, 4 MB at most each; bytes after the end mark are ignored.

    Raises `KafkaError` UNKNOWN_SERVER_ERROR where the frame is damaged.
    """
    import lz4.block

    view = memoryview(data)
    position, block_max, checksum_size = _read_header(view, check_header)
    while True:
        if position + 4 > len(view):
            raise _damaged("stream ended prematurely")
        size = int.from_bytes(view[position : position + 4], "little")
        position += 4
        stored = size & _STORED
        size &= ~_STORED
        if size == 0:
            return
        if size > block_max:
            raise _damaged(f"block size {size} exceeded max: {block_max}")
        if position + size + checksum_size > len(view):
            raise _damaged("stream ended prematurely")
        block = view[position : position + size]
        position += size + checksum_size
        if stored:
            yield bytes(block)
            continue
        try:
            yield lz4.block.decompress(block, uncompressed_size=block_max)
        except lz4.block.LZ4BlockError as error:
            raise _damaged(error) from None


def only_block(data: memoryview) -> bytes | None:
    """Decompress the usual frame of a client: one block of 64 KB at most. None if it is different or damaged; see
    `blocks`.

    A generator, and support for other frames, would cost as much as decompressing the block.
    """
    import lz4.block

    start = len(_FRAME_HEADER) + 4
    if len(data) < start + 4:
        return None
    header, size = _HEAD_AND_SIZE(data)
    end = start + (size & ~_STORED)
    if (
        header != _FRAME_HEADER
        or not start < end <= start + _LZ4_BLOCK
        or end + 4 > len(data)
        or _BLOCK_SIZE(data, end)[0]
    ):
        return None
    block = data[start:end]
    if size & _STORED:
        return bytes(block)
    try:
        unpacked: bytes = lz4.block.decompress(block, uncompressed_size=_LZ4_BLOCK)
    except lz4.block.LZ4BlockError:
        return None
    return unpacked


def _read_header(view: memoryview, check_header: bool) -> tuple[int, int, int]:
    """Return (position of the first block, largest block size, bytes of a block's checksum)."""
    if len(view) < 7:
        raise _damaged("stream ended prematurely")
    if view[:4] != _LZ4_MAGIC:
        raise _damaged("stream unsupported (invalid magic bytes)")
    flags, descriptor = view[4], view[5]
    if flags & 0x03 or flags >> 6 != 1 or not flags & 0x20:
        raise _damaged("unsupported version, reserved bits or dependent blocks")
    size_id = descriptor >> 4 & 7
    if descriptor & 0x8F or size_id < 4:
        raise _damaged("invalid block size")
    end = 14 if flags & 0x08 else 6
    if len(view) <= end:
        raise _damaged("stream ended prematurely")
    if check_header and view[end] != _header_checksum(bytes(view[4:end])):
        raise _damaged("stream frame descriptor corrupted")
    return end + 1, 1 << (2 * size_id + 8), 4 if flags & 0x10 else 0


@lru_cache(maxsize=64)
def _header_checksum(descriptor: bytes) -> int:
    return xxh32_short(descriptor) >> 8 & 0xFF


def xxh32_short(data: bytes) -> int:
    """Return the 32-bit xxHash (seed 0) of fewer than 16 bytes, which is enough for frame headers."""
    mask = 0xFFFFFFFF
    prime1, prime2, prime3, prime4, prime5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    h = prime5 + len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        h = h + int.from_bytes(data[start : start + 4], "little") * prime3 & mask
        h = (h << 17 | h >> 15) * prime4 & mask
    for byte in data[whole:]:
        h = h + byte * prime5 & mask
        h = (h << 11 | h >> 21) * prime1 & mask
    h = (h ^ h >> 15) * prime2 & mask
    h = (h ^ h >> 13) * prime3 & mask
    return h ^ h >> 16


def _damaged(reason: object) -> KafkaError:
    return KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Failed to decompress record stream: lz4: {reason}")
