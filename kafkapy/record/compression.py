"""The codecs of record batches, in the framings of the Java client (Kafka's `org.apache.kafka.common.compress`).

Decompression is bounded: no function here allocates more than the caller's limit, whatever size a peer's data claims
(CVE-2026-111073). The libraries, which take megabytes, are imported on first use of a codec.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from kafkapy.common.limits import MAX_INT
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import gzip_stream, lz4_frame, snappy_stream, zstd_frame
from kafkapy.record.blocks import pieces, too_large

Buffer = bytes | bytearray | memoryview


class CompressionType(IntEnum):
    """Codec ids as in the low three bits of the attributes; `text` is the name in configurations."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def text(self) -> str:
        return self.name.lower()

    @classmethod
    def for_id(cls, codec: int) -> CompressionType:
        """Return the codec of an id; `KafkaError` UNKNOWN_SERVER_ERROR for 5 to 7, as from a 3.9 broker."""
        try:
            return cls(codec)
        except ValueError:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {codec}") from None

    @classmethod
    def for_name(cls, name: str) -> CompressionType:
        """Return the codec of a config value; `ValueError` if there is none."""
        try:
            return cls[name.upper()]
        except KeyError:
            raise ValueError(f"Unknown compression name: {name}") from None


def compress(codec: int, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """Compress `data` as the Java client of 3.9 does. `level`: of gzip, lz4 or zstd; None is the codec's default."""
    return b"".join(compress_chunks(codec, (data,), level, magic))


def compress_chunks(codec: int, chunks: Iterable[Buffer], level: int | None = None, magic: int = 2) -> Iterable[Buffer]:
    """Compress as `compress`, in pieces, with only the current piece in memory."""
    if codec == CompressionType.LZ4:
        return lz4_frame.compressed(chunks, level, broken_checksum=magic == 0)
    if codec == CompressionType.GZIP:
        return gzip_stream.compressed(chunks, level)
    if codec == CompressionType.SNAPPY:
        return snappy_stream.compressed(chunks)
    if codec == CompressionType.ZSTD:
        return zstd_frame.compressed(chunks, level)
    return chunks


def decompress(codec: int, data: Buffer, limit: int, magic: int = 2) -> bytes:
    """Return all decompressed bytes.

    Raises:
        KafkaError: MESSAGE_TOO_LARGE if there are more than `limit`; UNKNOWN_SERVER_ERROR if the data is damaged (the
            error that a 3.9 broker sends and logs).
    """
    chunks = []
    size = 0
    for chunk in decompress_chunks(codec, data, magic, limit):
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def decompress_chunks(codec: int, data: Buffer, magic: int = 2, limit: int = MAX_INT) -> Iterator[bytes]:
    """Yield the decompressed bytes in pieces of a few megabytes at most, so any stream can be read in bounded memory.
    Only snappy has larger pieces: those of more than `limit` are refused.

    Errors are those of `decompress`, raised when the damaged part is reached.
    """
    if codec == CompressionType.LZ4:
        return lz4_frame.blocks(data, check_header=magic > 0)
    if codec == CompressionType.GZIP:
        return gzip_stream.blocks(data)
    if codec == CompressionType.SNAPPY:
        return snappy_stream.blocks(data, limit)
    if codec == CompressionType.ZSTD:
        return zstd_frame.blocks(data)
    return pieces(data)


def decompress_small(codec: int, data: memoryview) -> bytes | None:
    """Return all decompressed bytes of a v2 batch if they are evidently at most 64 KB and valid; None otherwise."""
    return lz4_frame.only_block(data) if codec == CompressionType.LZ4 else None
