"""Decodes the batches of a Fetch response to columns."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64

from kafkapy.common.crc32c import crc32c
from kafkapy.protocol.errors import KafkaError
from kafkapy.record.columns import MAX_OFFSET, RecordColumns, Segment
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    CODEC_MASK,
    CONTROL_MASK,
    LOG_OVERHEAD,
    MAX_DECOMPRESSED_SIZE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    RecordBatch,
)
from kafkapy.record.record_fields import RecordFields
from kafkapy.record.record_table import ROW_SIZE, RecordTable

_CONTENT_BYTES: Final = 1 << 25
"""Approximate limit of decompressed bytes that are put together."""

_MAX_COPIED: Final = 4096
"""Fewer bytes are copied faster than a view is created."""

_LEGACY_ROW: Final = struct.Struct("<qqiiiiii")
assert _LEGACY_ROW.size == ROW_SIZE


def decode_plain(
    data: bytes,
    first_offset: int,
    end_offset: int = MAX_OFFSET,
    *,
    transactional: bool = True,
    check_crcs: bool = True,
    most: int = MAX_OFFSET,
) -> tuple[RecordColumns | None, int]:
    """Decode the usual batches at the start of `data`: format v2, uncompressed, no markers, valid (and not
    transactional, unless `transactional`).

    Return also the position of the first other batch, whose errors `decode_batches` reports. None: there are no such
    batches, or none with offsets from `first_offset` on. No object is created per batch, because producers that send
    single records write a batch for each. After `most` records no further batch is started.
    """
    refused: i64 = CODEC_MASK | CONTROL_MASK
    if not transactional:
        refused |= TRANSACTIONAL_MASK
    table = RecordTable()
    fields = RecordFields(table.headers)
    segments: list[Segment] = []
    next_offset = first_offset
    position: i64 = 0
    size: i64 = len(data)
    epoch: i64 = 0
    kind: i64 = -1
    while size - position >= RECORD_BATCH_OVERHEAD and len(table) < most:
        end = _end_of_plain(data, position, refused)
        if end < 0:
            break
        base_offset = read_i64_be(data, position)
        behind = base_offset + i64(read_i32_be(data, position + 23)) + 1
        if behind <= first_offset:
            position = end
            continue
        if base_offset >= end_offset or (check_crcs and not _crc_is_right(data, position, end)):
            break
        own_kind: i64 = 1 if data[position + 22] & TIMESTAMP_TYPE_MASK else 0
        timestamp = read_i64_be(data, position + (35 if own_kind else 27))
        count: i64 = i64(read_i32_be(data, position + 57))
        start = position + RECORD_BATCH_OVERHEAD
        before = len(table)
        added = table.add_within(
            fields, data, start, end, count, base_offset, timestamp, own_kind == 1, first_offset, end_offset
        )
        if not added:
            break
        own_epoch: i64 = i64(read_i32_be(data, position + 12))
        if kind >= 0 and (own_epoch != epoch or own_kind != kind):
            segments.append(Segment(before, epoch, kind))
        epoch = own_epoch
        kind = own_kind
        next_offset = behind
        position = end
    if kind < 0:
        return None, position
    segments.append(Segment(len(table), epoch, kind))
    return RecordColumns(data, table.rows.getvalue(), table.headers.getvalue(), segments, next_offset), position


def _end_of_plain(data: bytes, position: i64, refused: i64) -> i64:
    """Return the end of the batch whose header is at `position`; -1 if it is incomplete, or not usable for
    `decode_plain`. `refused`: attributes that it must not have.
    """
    length: i64 = i64(read_i32_be(data, position + 8))
    end = position + LOG_OVERHEAD + length
    base_offset = read_i64_be(data, position)
    attributes: i64 = i64(read_i16_be(data, position + 21))
    if (
        length < RECORD_BATCH_OVERHEAD - LOG_OVERHEAD
        or end > len(data)
        or data[position + 16] != 2
        or attributes & refused
        or base_offset < 0
        or base_offset >> 62
    ):
        return -1
    return end


def _crc_is_right(data: bytes, position: i64, end: i64) -> bool:
    stored: i64 = i64(read_i32_be(data, position + 17)) & 0xFFFFFFFF
    if end - position < _MAX_COPIED:
        return crc32c(data[position + 21 : end]) == stored
    return crc32c(memoryview(data)[position + 21 : end]) == stored


def decode_batches(
    batches: Sequence[RecordBatch], first_offset: int = 0, end_offset: int = MAX_OFFSET, limit: int | None = None
) -> RecordColumns:
    """Decode the records with first_offset <= offset < end_offset of batches in one buffer to columns.

    The batches are all compressed or all not, and their sizes and CRCs were checked, if required. If they decompress to
    too much, only the first ones are decoded: there is a segment for each. A damaged batch ends the columns before it,
    with the error: INVALID_RECORD, UNKNOWN_SERVER_ERROR for damaged compressed data, MESSAGE_TOO_LARGE if a batch
    decompresses to more than `limit` bytes.
    """
    next_offset = batches[0].base_offset
    segments: list[Segment] = []
    table = RecordTable()
    error = None
    pieces: list[bytes] = []
    size = 0
    compressed = batches[0].is_compressed
    for batch in batches:
        try:
            piece = batch.record_bytes(MAX_DECOMPRESSED_SIZE if limit is None else limit)
            table.add(
                batch, piece, size if compressed else batch.position + RECORD_BATCH_OVERHEAD, first_offset, end_offset
            )
        except KafkaError as found:
            error = found
            break
        segments.append(
            Segment(len(table), batch.partition_leader_epoch, 1 if batch.attributes & TIMESTAMP_TYPE_MASK else 0)
        )
        next_offset = batch.next_offset
        if compressed:
            pieces.append(piece)
            size += len(piece)
            if size > _CONTENT_BYTES:
                break
    data = batches[0].data
    if compressed:
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return RecordColumns(data, table.rows.getvalue(), table.headers.getvalue(), segments, next_offset, error)


def decode_legacy_batches(
    batches: Sequence[LegacyRecordBatch],
    first_offset: int = 0,
    end_offset: int = MAX_OFFSET,
    limit: int | None = None,
) -> RecordColumns:
    """Decode messages of formats v0 and v1 in the same way."""
    rows: list[bytes] = []
    pieces: list[bytes] = []
    segments: list[Segment] = []
    size = 0
    next_offset = first_offset
    error = None
    for batch in batches:
        if size > _CONTENT_BYTES:
            break
        begin = len(rows)
        try:
            for record in batch.records(MAX_DECOMPRESSED_SIZE if limit is None else limit):
                if first_offset <= record.offset < end_offset:
                    key, value = record.key or b"", record.value or b""
                    pieces += (key, value)
                    key_length = -1 if record.key is None else len(key)
                    value_length = -1 if record.value is None else len(value)
                    middle = size + len(key)
                    row = (record.offset, record.timestamp, size, key_length, middle, value_length, 0, 0)
                    rows.append(_LEGACY_ROW.pack(*row))
                    size = middle + len(value)
        except KafkaError as found:
            error = found
            del rows[begin:]
            break
        segments.append(Segment(len(rows), -1, int(batch.timestamp_type)))
        next_offset = batch.next_offset
    return RecordColumns(b"".join(pieces), b"".join(rows), b"", segments, next_offset, error)
