"""Random record batches, good and damaged, and record batches without what differs between brokers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from crc32c import crc32c

from kafkapy.record.compression import CompressionType
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import LOG_OVERHEAD, RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from system_tests.beside_apache.draw import LOG_BEGIN_MS, Draw

FIRST_PRODUCER_ID = 4000
"""Ids of producers that no broker has given out by then, so that both are asked with the same ones."""
_MAGIC = 16
_RECENT_MS = range(1_700_000_000_000, 4_000_000_000_000)


def random_records(draw: Draw, produce_version: int, topic: str, partition: int, sound: bool) -> bytes:
    """One batch, of a magic that suits the version; unless `sound` sometimes two, another magic, or damaged."""
    magic = 2 if produce_version >= 3 else draw.one_of(0, 1)
    if not sound and draw.chance(0.03):
        magic = draw.one_of(0, 1, 2)
    batches = 1 if sound or draw.chance(0.9) else 2
    return b"".join(_random_batch(draw, magic, topic, partition, sound) for _ in range(batches))


def _random_batch(draw: Draw, magic: int, topic: str, partition: int, sound: bool) -> bytes:
    codecs = [CompressionType.NONE] * 3 + [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]
    if magic == 2 and not sound:  # Produce knows zstd since version 7
        codecs.append(CompressionType.ZSTD)
    count = draw.one_of(1, 1, 2, 5, 30)
    time = LOG_BEGIN_MS + draw.randrange(10**9)
    builder = MemoryRecordsBuilder(magic=magic, compression_type=draw.choice(codecs), log_append_time=time)
    if magic and draw.chance(0.03):
        builder.timestamp_type = TimestampType.LOG_APPEND_TIME
    if magic == 2:
        if draw.chance(0.4):
            _number(draw, builder, topic, partition, count)
        builder.is_control = not sound and draw.chance(0.02)
    keys, size = draw.chance(0.9), draw.one_of(5, 20, 20, 200, 3000)
    for number in range(count):
        key = b"k%d" % (number % 3) if keys else None
        headers = [(b"h", b"x")] if magic == 2 and number % 2 else ()
        builder.append(time + number, key, b"v" * size if number % 4 else None, headers)
    batch = bytearray(builder.build())
    if magic == 2 and not sound and draw.chance(0.02):
        batch[:8] = struct.pack(">q", 55)  # a base offset, which the broker is to overwrite
    if not sound and draw.chance(0.06):
        _damage(draw, batch, magic, count)
    return bytes(batch)


def _number(draw: Draw, builder: MemoryRecordsBuilder, topic: str, partition: int, count: int) -> None:
    """Make it a batch of an idempotent producer: the next one, one again, or one out of order or of another epoch."""
    producer_id = FIRST_PRODUCER_ID + draw.randrange(3)
    key = (producer_id, topic, partition)
    following = draw.sequences.get(key, 0)
    builder.producer_id = producer_id
    builder.producer_epoch = draw.one_of(0, 0, 0, 0, 0, 0, 1, 2)
    builder.base_sequence = max(0, following + draw.one_of(0, 0, 0, 0, 0, 0, -count, -count, -1, 1, 5, -following))
    builder.is_transactional = draw.chance(0.03)
    draw.sequences[key] = builder.base_sequence + count


def _damage(draw: Draw, batch: bytearray, magic: int, count: int) -> None:
    damage = draw.randrange(6)
    if damage == 0:
        batch[-1] ^= 1
    elif damage == 1:
        del batch[-3:]
    elif damage == 2:
        batch[_MAGIC] = draw.one_of(3, 7, 255)
    elif damage == 3:
        batch[8:12] = struct.pack(">i", draw.one_of(-1, 5, 10**6, 0))
    elif magic == 2 and damage == 4:
        _rewrite(batch, 57, draw.one_of(-1, 0, count + 1))  # the number of records
    elif magic == 2 and damage == 5:
        _rewrite(batch, 23, draw.one_of(-1, 0, count))  # the last offset delta


def _rewrite(batch: bytearray, position: int, value: int) -> None:
    """Change a field such that the checksum is right still."""
    batch[position : position + 4] = struct.pack(">i", value)
    batch[17:21] = struct.pack(">I", crc32c(bytes(batch[21:])))


def neutral_time(time: int) -> int | str:
    """Times of now differ between brokers; those of the records that are produced are older."""
    return "<now>" if time in _RECENT_MS else time


def neutral_records(data: Any, producer_name: Callable[[int], int | str]) -> list[Any]:
    """The batches with their records as plain data; a last one that is cut off is left out."""
    view = memoryview(bytes(data))
    position, batches = 0, []
    while position + _MAGIC < len(view):
        end = position + LOG_OVERHEAD + int.from_bytes(view[position + 8 : position + 12], "big")
        if end > len(view):
            break
        batch = view[position:end]
        batches.append(_neutral_batch(batch, producer_name) if batch[_MAGIC] == 2 else _neutral_legacy_batch(batch))
        position = end
    return batches


def _neutral_batch(data: memoryview, producer_name: Callable[[int], int | str]) -> dict[str, Any]:
    batch = RecordBatch(data)
    return {
        "magic": 2,
        "valid": batch.is_valid(),
        "offsets": (batch.base_offset, batch.last_offset),
        "codec": batch.compression_type.name,
        "timestamp_type": batch.timestamp_type.name,
        "max_timestamp": neutral_time(batch.max_timestamp),
        "producer": (producer_name(batch.producer_id), batch.producer_epoch, batch.base_sequence),
        "leader_epoch": batch.partition_leader_epoch,
        "control": batch.is_control,
        "transactional": batch.is_transactional,
        "records": [
            (record.offset, neutral_time(record.timestamp), record.key, record.value, list(record.headers))
            for record in batch.records()
        ],
    }


def _neutral_legacy_batch(data: memoryview) -> dict[str, Any]:
    batch = LegacyRecordBatch(data)
    return {
        "magic": data[_MAGIC],
        "offsets": (batch.base_offset, batch.last_offset),
        "codec": batch.compression_type.name,
        "timestamp_type": batch.timestamp_type.name,
        "max_timestamp": neutral_time(batch.max_timestamp),
        "records": [
            (record.offset, neutral_time(record.timestamp), record.key, record.value) for record in batch.records()
        ],
    }
