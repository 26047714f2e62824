"""Iterates over the batches in a .log file by `pread`: headers only, or whole batches (Kafka's `FileLogInputStream`)."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafkapy.common import page_cache
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    HEADER_TO_MAX_TIMESTAMP,
    LOG_OVERHEAD,
    MIN_RECORD_SIZE,
    RECORD_BATCH_OVERHEAD,
    RecordBatch,
)

Batch = RecordBatch | LegacyRecordBatch
File = int | io.FileIO
"""A descriptor, or an open file, which the iterator keeps open even if the segment is deleted."""

_V1_TIMESTAMP: Final = struct.Struct(">q")
_V1_TIMESTAMP_POSITION: Final = 18
HEADER_SCAN_CHUNK: Final = 8192
"""Bytes per read when scanning headers."""
_WHOLE_BATCHES_CHUNK: Final = 1 << 20
"""Bytes per read when reading whole batches: Kafka's default for `max.message.bytes`."""


class BatchHeader(NamedTuple):
    """The fields that the first bytes of a batch contain, in every message format."""

    position: int
    size: int
    base_offset: int
    """For formats v0 and v1 the last offset, because the header of a compressed set has no base offset."""
    last_offset: int
    max_timestamp: int


def headers(file: File, position: int, end: int) -> Iterator[BatchHeader]:
    """Yield the headers of the complete batches in `[position, end)`.

    `KafkaError` CORRUPT_MESSAGE, with the file's name, where a batch has an impossible size.
    """
    fd = _descriptor(file)
    chunk: bytes | bytearray = b""
    start = position
    while end - position >= HEADER_SIZE_UP_TO_MAGIC:
        if position + HEADER_TO_MAX_TIMESTAMP.size > start + len(chunk):
            chunk, start = page_cache.read(fd, min(HEADER_SCAN_CHUNK, end - position), position), position
        header = parse_header(chunk, position - start, position, file)
        if header is None or position + header.size > end:
            return
        yield header
        position += header.size


def parse_header(chunk: bytes | bytearray, index: int, position: int, file: File) -> BatchHeader | None:
    """Return the header at `chunk[index]`, which is at `position` of the file; None if it extends beyond the chunk."""
    try:
        base_offset, length, _, magic, _, _, delta, _, max_timestamp = HEADER_TO_MAX_TIMESTAMP.unpack_from(chunk, index)
    except struct.error:
        # Only a small message of an old format can be this short.
        cut = chunk[index:]
        if len(cut) < HEADER_SIZE_UP_TO_MAGIC or cut[16] >= 2:
            return None
        base_offset, length, _, magic, _, _, delta, _, max_timestamp = HEADER_TO_MAX_TIMESTAMP.unpack(
            cut.ljust(HEADER_TO_MAX_TIMESTAMP.size, b"\0")
        )
    if length < MIN_RECORD_SIZE:
        raise _corrupt(
            f"Found record size {length} smaller than minimum record overhead ({MIN_RECORD_SIZE})", position, file
        )
    if magic >= 2:
        return BatchHeader(position, length + LOG_OVERHEAD, base_offset, base_offset + delta, max_timestamp)
    timestamp = NO_TIMESTAMP
    if magic == 1:
        (timestamp,) = _V1_TIMESTAMP.unpack_from(chunk, index + _V1_TIMESTAMP_POSITION)
    return BatchHeader(position, length + LOG_OVERHEAD, base_offset, base_offset, timestamp)


def find_offset(file: File, position: int, end: int, offset: int) -> BatchHeader | None:
    """Return the first batch at or after `position` whose last offset is >= `offset`."""
    return first_up_to(headers(file, position, end), offset)


def first_up_to(walk: Iterator[BatchHeader], offset: int) -> BatchHeader | None:
    """Return the next batch of an iterator whose last offset is >= `offset`."""
    for header in walk:
        if header.last_offset >= offset:
            return header
    return None


def batch_with(file: File, position: int, end: int, offset: int) -> BatchHeader | None:
    """Return the batch that begins at `position`, if it is complete and contains the offset: then no earlier batch
    does.
    """
    chunk = page_cache.read(_descriptor(file), HEADER_TO_MAX_TIMESTAMP.size, position)
    try:
        header = parse_header(chunk, 0, position, file)
    except KafkaError:
        return None
    if header is None or position + header.size > end:
        return None
    return header if header.base_offset <= offset <= header.last_offset else None


def read_batch(file: File, header: BatchHeader) -> Batch:
    """Read one whole batch. `KafkaError` CORRUPT_MESSAGE if the file ends within it."""
    data = os.pread(_descriptor(file), header.size, header.position)
    if len(data) < header.size:
        raise KafkaError(Errors.CORRUPT_MESSAGE, f"The batch at position {header.position} is cut off")
    return RecordBatch(data) if data[16] >= 2 else LegacyRecordBatch(data)


def whole_batches(file: File, position: int, end: int) -> Iterator[Batch]:
    """Yield all complete batches of `[position, end)` with their bytes, about a megabyte in memory at a time.

    `KafkaError` CORRUPT_MESSAGE where a batch has an impossible size or magic. CRCs are not checked.
    """
    fd = _descriptor(file)
    chunk, start = b"", position
    while end - position >= HEADER_SIZE_UP_TO_MAGIC:
        index = position - start
        if index + RECORD_BATCH_OVERHEAD > len(chunk):
            chunk, start, index = os.pread(fd, min(_WHOLE_BATCHES_CHUNK, end - position), position), position, 0
        header = parse_header(chunk, index, position, file)
        if header is None or position + header.size > end:
            return
        if index + header.size > len(chunk):
            wanted = max(header.size, min(_WHOLE_BATCHES_CHUNK, end - position))
            chunk, start, index = os.pread(fd, wanted, position), position, 0
            if len(chunk) < header.size:
                return
        magic = chunk[index + 16]
        if magic > 2 or (magic == 2 and header.size < RECORD_BATCH_OVERHEAD):
            raise _corrupt(f"Found magic {magic} in a record batch of {header.size} bytes", position, file)
        yield RecordBatch(chunk, index) if magic >= 2 else LegacyRecordBatch(chunk, index)
        position += header.size


def _corrupt(what: str, position: int, file: File) -> KafkaError:
    name = "" if isinstance(file, int) else f" of {file.name}"
    return KafkaError(Errors.CORRUPT_MESSAGE, f"{what} at position {position}{name}")


def _descriptor(file: File) -> int:
    return file if isinstance(file, int) else file.fileno()
