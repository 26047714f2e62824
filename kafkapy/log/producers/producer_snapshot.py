"""The file format of producer snapshots (Kafka's `ProducerStateManager.writeSnapshot`)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator

from kafkapy.common.capabilities import sync as make_durable
from kafkapy.common.crc32c import crc32c
from kafkapy.log.files.checkpoints import MalformedFileError
from kafkapy.log.files.log_files import read_small_file
from kafkapy.log.producers.producer_state import NO_TXN, NUM_BATCHES_TO_RETAIN, ProducerStateEntry, RetainedBatch
from kafkapy.record.record_batch import NO_SEQUENCE

_SNAPSHOT_VERSION = 1
_SNAPSHOT_HEADER = struct.Struct(">hIi")
_CRC_START = 6
_SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
_NO_BATCH = RetainedBatch(NO_SEQUENCE, -1, 0, -1)


def encode_snapshot(producers: Iterable[ProducerStateEntry]) -> bytes:
    """Encode int16 version 1, uint32 CRC-32C of the rest, int32 count, 46 bytes for each entry.

    A producer has an entry for each of its last batches, oldest first; Kafka writes only the last one. Several of its
    batches may wait for followers at the same time, and any of them may be sent again and must be recognized. Of
    several entries of a producer Kafka takes the last, so it can read this format.
    """
    rows = [row for entry in producers for row in _rows(entry)]
    content = bytearray(_SNAPSHOT_HEADER.pack(_SNAPSHOT_VERSION, 0, len(rows)) + b"".join(rows))
    struct.pack_into(">I", content, 2, crc32c(content[_CRC_START:]))
    return bytes(content)


def _rows(entry: ProducerStateEntry) -> Iterator[bytes]:
    for batch in entry.batches[:-1]:
        yield _row(entry, batch, batch.timestamp)
    yield _row(entry, entry.batches[-1] if entry.batches else _NO_BATCH, entry.last_timestamp)


def _row(entry: ProducerStateEntry, batch: RetainedBatch, timestamp: int) -> bytes:
    return _SNAPSHOT_ENTRY.pack(
        entry.producer_id,
        entry.producer_epoch,
        batch.last_seq,
        batch.last_offset,
        batch.offset_delta,
        timestamp,
        entry.coordinator_epoch,
        entry.current_txn_first_offset,
    )


def decode_snapshot(content: bytes, path: str = "") -> list[ProducerStateEntry]:
    """Return the producers of a snapshot. `MalformedFileError` for another version, a wrong CRC or a wrong length."""
    if len(content) < _SNAPSHOT_HEADER.size:
        raise MalformedFileError(f"Snapshot {path} is corrupt: {len(content)} bytes are less than its header")
    version, crc, count = _SNAPSHOT_HEADER.unpack_from(content)
    if version != _SNAPSHOT_VERSION:
        raise MalformedFileError(f"Snapshot {path} contained an unknown file version {version}")
    computed = crc32c(content[_CRC_START:])
    if crc != computed:
        raise MalformedFileError(
            f"Snapshot {path} is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    if count < 0 or len(content) != _SNAPSHOT_HEADER.size + count * _SNAPSHOT_ENTRY.size:
        raise MalformedFileError(f"Snapshot {path} is corrupt: {count} entries in {len(content)} bytes")
    producers: dict[int, ProducerStateEntry] = {}
    for fields in _SNAPSHOT_ENTRY.iter_unpack(content[_SNAPSHOT_HEADER.size :]):
        entry = _entry(*fields)
        before = producers.get(entry.producer_id)
        if before is not None and before.producer_epoch == entry.producer_epoch:
            entry.batches = (before.batches + entry.batches)[-NUM_BATCHES_TO_RETAIN:]
        producers[entry.producer_id] = entry
    return list(producers.values())


def _entry(
    producer_id: int, epoch: int, seq: int, offset: int, delta: int, timestamp: int, coordinator_epoch: int, txn: int
) -> ProducerStateEntry:
    batch = RetainedBatch(seq, offset, delta, timestamp) if offset >= 0 else None
    return ProducerStateEntry(producer_id, epoch, coordinator_epoch, timestamp, txn if txn >= 0 else NO_TXN, batch)


def write_snapshot(path: str, producers: Iterable[ProducerStateEntry], sync: bool) -> None:
    """Write a snapshot file, unless it exists. A crash may leave it torn, which the CRC reveals. Raises `OSError`."""
    content = encode_snapshot(producers)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        size = os.fstat(fd).st_size
        if size != len(content) or os.pread(fd, size, 0) != content:
            os.ftruncate(fd, 0)
            view = memoryview(content)
            while view:
                view = view[os.write(fd, view) :]
        if sync:
            make_durable(fd)
    finally:
        os.close(fd)


def read_snapshot(path: str) -> list[ProducerStateEntry]:
    """Raises `OSError` (`MalformedFileError`)."""
    return decode_snapshot(read_small_file(path), path)
