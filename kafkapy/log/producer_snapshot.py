"""The file format of producer snapshots (Kafka's `ProducerStateManager.writeSnapshot`)."""

from __future__ import annotations

import os
import struct
from collections.abc import Collection

from crc32c import crc32c

from kafkapy.log.checkpoints import MalformedFileError
from kafkapy.log.producer_state import NO_TXN, BatchMetadata, ProducerStateEntry

_VERSION = 1
_HEADER = struct.Struct(">hIi")
_CRC_START = 6
_ENTRY = struct.Struct(">qhiqiqiq")


def encode_snapshot(producers: Collection[ProducerStateEntry]) -> bytes:
    """int16 version 1, uint32 CRC-32C of the rest, int32 count, 46 bytes for each producer (its last batch only)."""
    body = b"".join(
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_seq,
            entry.last_data_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.current_txn_first_offset,
        )
        for entry in producers
    )
    content = bytearray(_HEADER.pack(_VERSION, 0, len(producers)) + body)
    struct.pack_into(">I", content, 2, crc32c(content[_CRC_START:]))
    return bytes(content)


def decode_snapshot(content: bytes, path: str = "") -> list[ProducerStateEntry]:
    """The producers of a snapshot; `MalformedFileError` for another version, a wrong CRC or a wrong length."""
    if len(content) < _HEADER.size:
        raise MalformedFileError(f"Snapshot {path} is corrupt: {len(content)} bytes are less than its header")
    version, crc, count = _HEADER.unpack_from(content)
    if version != _VERSION:
        raise MalformedFileError(f"Snapshot {path} contained an unknown file version {version}")
    computed = crc32c(content[_CRC_START:])
    if crc != computed:
        raise MalformedFileError(
            f"Snapshot {path} is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    if count < 0 or len(content) != _HEADER.size + count * _ENTRY.size:
        raise MalformedFileError(f"Snapshot {path} is corrupt: {count} entries in {len(content)} bytes")
    return [_entry(*fields) for fields in _ENTRY.iter_unpack(content[_HEADER.size :])]


def _entry(
    producer_id: int, epoch: int, seq: int, offset: int, delta: int, timestamp: int, coordinator_epoch: int, txn: int
) -> ProducerStateEntry:
    batch = BatchMetadata(seq, offset, delta, timestamp) if offset >= 0 else None
    return ProducerStateEntry(producer_id, epoch, coordinator_epoch, timestamp, txn if txn >= 0 else NO_TXN, batch)


def write_snapshot(path: str, producers: Collection[ProducerStateEntry], sync: bool) -> None:
    """Write a snapshot file. A crash may leave it torn: the CRC tells. Raises `OSError`."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        view = memoryview(encode_snapshot(producers))
        while view:
            view = view[os.write(fd, view) :]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def read_snapshot(path: str) -> list[ProducerStateEntry]:
    """Raises `OSError` (`MalformedFileError`)."""
    with open(path, "rb") as file:
        return decode_snapshot(file.read(), path)
