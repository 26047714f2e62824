"""Reading a partition of an internal topic from start to end. It knows no coordinator and runs in the background pool."""

from __future__ import annotations

from collections.abc import Iterable
from logging import Logger
from typing import Protocol

from kafkapy.protocol.wire import SchemaError
from kafkapy.record.batches import batches
from kafkapy.record.control_records import ControlRecordType
from kafkapy.record.record_batch import NO_PRODUCER_ID, RecordBatch


class Replayed(Protocol):
    """What a coordinator makes of the records of one partition; it belongs to the thread that reads."""

    def put(self, key: bytes | None, value: bytes | None, base_offset: int, producer_id: int) -> None:
        """The next record; `value` None: a tombstone. `base_offset`: of the first record left in its batch.

        `producer_id`: of the transaction that the record belongs to, NO_PRODUCER_ID if it holds as it is.
        `SchemaError` if the record cannot be read; it is left out then.
        """
        ...

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """The producer's records since its last marker hold, or never were."""
        ...


def replay(buffers: Iterable[memoryview], into: Replayed, log: Logger) -> None:
    """Apply all batches in order. `KafkaError` if a batch is broken."""
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
