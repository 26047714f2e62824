"""Reads a partition of an internal topic from start to end, in the background pool."""

from __future__ import annotations

from collections.abc import Iterable
from logging import Logger
from typing import Protocol

from kafkapy.protocol.wire import SchemaError
from kafkapy.record.batches import batches
from kafkapy.record.control_records import ControlRecordType
from kafkapy.record.record_batch import NO_PRODUCER_ID, RecordBatch


class Replayed(Protocol):
    """Collects the records of one partition; used by the reading thread only."""

    def put(self, key: bytes | None, value: bytes | None, base_offset: int, producer_id: int) -> None:
        """Add the next record; `value` None: a tombstone. `base_offset`: of the first remaining record of its batch.

        `producer_id`: of the record's transaction; NO_PRODUCER_ID if it is not transactional.
        `SchemaError` if the record cannot be decoded; it is skipped then.
        """
        ...

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """Commit or drop the producer's records since its last marker."""
        ...


def replay(buffers: Iterable[memoryview], into: Replayed, log: Logger) -> None:
    """Apply all batches in order. `KafkaError` if a batch is corrupt."""
    for buffer in buffers:
        for batch in batches(buffer):
            is_v2 = isinstance(batch, RecordBatch)
            if is_v2 and batch.is_control:
                for record in batch.records():
                    commit = ControlRecordType.parse(record.key) is ControlRecordType.COMMIT
                    into.end_transaction(batch.producer_id, commit)
                    break
                continue
            producer_id = batch.producer_id if is_v2 and batch.is_transactional else NO_PRODUCER_ID
            base_offset = -1
            for record in batch.records():
                if base_offset < 0:
                    base_offset = record.offset
                try:
                    into.put(record.key, record.value, base_offset, producer_id)
                except SchemaError as error:
                    log.warning("Leaving out the record at offset %d, which cannot be read: %s", record.offset, error)
