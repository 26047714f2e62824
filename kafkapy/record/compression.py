"""The codecs of record batches, in the framings that the Java client writes (Kafka's
`org.apache.kafka.common.compress`).

Decompression is bounded: no function here allocates more than the caller's limit, whatever a peer's bytes announce
(CVE-2026-111073). The codec libraries are imported when a codec is first met: they are megabytes that most brokers need
only in part.
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
        """The codec of an id; `KafkaError` UNKNOWN_SERVER_ERROR for 5 to 7, as a 3.9 broker answers."""
        try:
            return cls(codec)
        except ValueError:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Unknown compression type id: {codec}") from None

    @classmethod
    def for_name(cls, name: str) -> CompressionType:
        """The codec of a config value; `ValueError` if there is none."""
        try:
            return cls[name.upper()]
        except KeyError:
            raise ValueError(f"Unknown compression name: {name}") from None


def compress(codec: int, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """`data` as the Java client of 3.9 writes it. `level`: of gzip, lz4 or zstd; None is the codec's default."""
    return b"".join(compress_chunks(codec, (data,), level, magic))


def compress_chunks(codec: int, chunks: Iterable[Buffer], level: int | None = None, magic: int = 2) -> Iterable[Buffer]:
    """As `compress`, piece by piece: only what is being compressed is in memory."""
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
    """All of the decompressed bytes.

    `KafkaError` MESSAGE_TOO_LARGE if there are more than `limit`; UNKNOWN_SERVER_ERROR if the data is damaged (what a
    3.9 broker answers to both clients and logs).
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
    """The decompressed bytes in pieces of a few megabytes at most, so that any stream can be walked in bounded memory. Only
    snappy has larger ones: those of more than `limit` are refused.

    Errors as of `decompress`, raised when the damaged part is reached.
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
    """All of the decompressed bytes of a batch (format v2), if it shows at once that they are 64 KB at most and nothing is
    wrong with them; None otherwise."""
    return lz4_frame.only_block(data) if codec == CompressionType.LZ4 else None
