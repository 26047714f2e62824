"""From the batches of a Fetch response to the columns of their records."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from kafkapy.protocol.errors import KafkaError
from kafkapy.record.columns import MAX_OFFSET, RecordColumns, Segment
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    MAX_DECOMPRESSED_SIZE,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    RecordBatch,
)
from kafkapy.record.record_table import ROW_SIZE, RecordTable

_CONTENT_BYTES: Final = 1 << 25
"""Decompressed batches are put together up to about this size."""

_LEGACY_ROW: Final = struct.Struct("<qqiiiiii")
assert _LEGACY_ROW.size == ROW_SIZE


def decode_batches(
    batches: Sequence[RecordBatch], first_offset: int = 0, end_offset: int = MAX_OFFSET, limit: int | None = None
) -> RecordColumns:
    """The records with first_offset <= offset < end_offset of batches that lie in one buffer, as columns.

    The batches are all compressed or all not, and their sizes and CRCs were checked, if they are to be. Not all are
    taken if they decompress to too much: there is a segment for each that was. A damaged batch ends the columns before
    it, with the error: INVALID_RECORD, UNKNOWN_SERVER_ERROR for damaged compressed data, MESSAGE_TOO_LARGE if a batch
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
    """The same for messages of formats v0 and v1."""
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
