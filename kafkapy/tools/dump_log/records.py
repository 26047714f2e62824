"""The part of kafka-dump-log that prints record batches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafkapy.log.files.file_batches import Batch, whole_batches
from kafkapy.protocol.errors import KafkaError
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import DefaultRecord, RecordBatch
from kafkapy.tools.common.command_line import Options, ToolError
from kafkapy.tools.dump_log.decoders import RecordDecoder, record_decoder
from kafkapy.tools.dump_log.indexes import print_findings
from kafkapy.tools.dump_log.text import base_offset, optional_long

RECORD_INDENT = "|"
NO_LIMIT = 2**31 - 1


class View(NamedTuple):
    """Which parts of a batch are printed."""

    records: bool
    metadata: bool
    decoder: RecordDecoder | None
    """The decoder of keys and values; None: they are not printed."""


def view_of(options: Options) -> View:
    decoders = ("offsets-decoder", "transaction-log-decoder", "value-decoder-class", "key-decoder-class")
    contents = options.has("print-data-log") or options.count(decoders) > 0
    deep = contents or options.has("deep-iteration")
    return View(deep, not options.has("skip-record-metadata"), record_decoder(options) if contents else None)


def dump_log(path: str, options: Options) -> int:
    """Print the batches of a .log file; 1 if records are missing between them or the end of the file is damaged."""
    view = view_of(options)
    print(f"Log starting offset: {base_offset(path)}")
    gaps: list[str] = []
    damage: KafkaError | None = None
    position, last_offset = 0, -1
    fd = os.open(path, os.O_RDONLY)
    try:
        size = min(os.fstat(fd).st_size, options.value("max-bytes"))
        try:
            for batch in whole_batches(fd, 0, size):
                print(format_batch(batch, position))
                if view.records:
                    last_offset = _print_records(batch, view, last_offset, gaps)
                position += batch.size_in_bytes
        except KafkaError as error:
            damage = error
    finally:
        os.close(fd)
    if size > position and options.value("max-bytes") == NO_LIMIT:
        print(f"Found {size - position} invalid bytes at the end of {os.path.basename(path)}")
    status = print_findings(f"Non-consecutive offsets in {os.path.abspath(path)}", gaps)
    if damage is not None:
        raise ToolError(f"{path} cannot be read from position {position} on: {damage.message}")
    return status


def format_batch(batch: Batch, position: int) -> str:
    if isinstance(batch, RecordBatch):
        start = (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count} "
            f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} "
            f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
            f"partitionLeaderEpoch: {batch.partition_leader_epoch} isTransactional: {java(batch.is_transactional)} "
            f"isControl: {java(batch.is_control)} deleteHorizonMs: {optional_long(batch.delete_horizon_ms)}"
        )
    else:
        start = f"offset: {batch.last_offset}"
    return (
        f"{start} position: {position} {batch.timestamp_type.text}: {batch.max_timestamp} "
        f"size: {batch.size_in_bytes} magic: {batch.magic} compresscodec: {batch.compression_type.text} "
        f"crc: {batch.crc} isvalid: {java(batch.is_valid())}"
    )


def _print_records(batch: Batch, view: View, last_offset: int, gaps: list[str]) -> int:
    """Print each record; returns the last offset."""
    lines: Iterable[tuple[DefaultRecord, str]]
    lines = _records(batch) if isinstance(batch, RecordBatch) else _legacy_records(batch)
    for record, metadata in lines:
        if last_offset != -1 and record.offset != last_offset + 1:
            gaps.append(f"  {last_offset} is followed by {record.offset}")
        last_offset = record.offset
        line = ""
        if view.metadata:
            line = (
                f"{RECORD_INDENT} offset: {record.offset} {batch.timestamp_type.text}: {record.timestamp} "
                f"keySize: {_size(record.key)} valueSize: {_size(record.value)}{metadata}"
            )
        if view.decoder is not None and not batch.is_control:
            key, payload = view.decoder(record)
            if key is not None:
                line = f"{line or RECORD_INDENT} key: {key}"
            line += "" if payload is None else f" payload: {payload}"
        print(line)
    return last_offset


def _records(batch: RecordBatch) -> Iterator[tuple[DefaultRecord, str]]:
    """Each record with the metadata that only this format has."""
    for record in batch.records():
        keys = ",".join(key.decode("utf-8", "replace") for key, _ in record.headers)
        metadata = f" sequence: {record.sequence} headerKeys: [{keys}]"
        if batch.is_control:
            metadata += _format_marker(record)
        yield record, metadata


def _legacy_records(batch: LegacyRecordBatch) -> Iterator[tuple[DefaultRecord, str]]:
    for entry in batch.inner_entries() if batch.is_compressed else [batch]:
        key, value = entry.key_and_value()
        metadata = f" isValid: {java(entry.is_valid())} crc: {entry.crc}}}"
        yield DefaultRecord(entry.offset, entry.timestamp, key, value), metadata


def _format_marker(record: DefaultRecord) -> str:
    control_type = ControlRecordType.parse(record.key)
    if control_type is ControlRecordType.UNKNOWN:
        type_id = int.from_bytes((record.key or b"")[2:4], "big", signed=True)
        return f" controlType: UNKNOWN({type_id})"
    marker = EndTransactionMarker.parse(record.key, record.value)
    return f" endTxnMarker: {marker.control_type.name} coordinatorEpoch: {marker.coordinator_epoch}"


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def java(value: bool) -> str:
    return "true" if value else "false"
