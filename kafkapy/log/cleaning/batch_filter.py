"""Filters the batches of a segment during compaction (Kafka's `MemoryRecords.filterTo` with the filter of
`Cleaner.cleanInto`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.cleaning.cleaned_transactions import CleanedTransactionMetadata
from kafkapy.log.cleaning.cleaner_stats import CleanerStats
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.record_sieve import RecordSieve, rebase_timestamps
from kafkapy.log.files.file_batches import Batch
from kafkapy.record.compression import CompressionType, compress
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    CONTROL_MASK,
    DELETE_HORIZON_MASK,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_MASK,
    RecordBatch,
    TimestampType,
)
from kafkapy.record.records_builder import MemoryRecordsBuilder, encode_batch

_KEPT_FLAGS = TIMESTAMP_TYPE_MASK | TRANSACTIONAL_MASK | CONTROL_MASK

ActiveProducers = Mapping[int, tuple[int, int]]
"""Producer id -> (offset of the last data record or -1, epoch), for each producer that the log knows."""


@dataclass(eq=False)
class BatchFilter:
    """Decides what remains of each batch of a segment.

    - A record remains if the map has no later record of its key, or does not cover its offset.
    - A tombstone remains until the delete horizon of its batch, which the first cleaning sets (KIP-534).
    - Data of an aborted transaction is removed. A marker is removed once its data is gone and its own delete horizon
      has passed.
    - A batch that has a producer's last sequence remains, empty if need be; so does the marker that has its epoch.

    A batch that loses records keeps its offset range, sequence, codec and header; its records keep their bytes.

    `retain_legacy_deletes`: whether tombstones of message formats v0 and v1 remain. `yield_regularly`: called often, to pause
    the thread.
    """

    _map: OffsetMap
    _transactions: CleanedTransactionMetadata
    _active_producers: ActiveProducers
    _now_ms: int
    _delete_retention_ms: int
    _retain_legacy_deletes: bool
    _stats: CleanerStats
    _yield_regularly: Callable[[], object]

    def filter(self, batch: Batch) -> Batch | None:
        """Return the batch itself, a new batch in its place, or None.

        Raises:
            KafkaError: the batch cannot be read.
            OSError: the transaction index cannot be written.
        """
        if isinstance(batch, LegacyRecordBatch):
            return self._filter_legacy(batch)
        horizon = batch.delete_horizon_ms
        if batch.is_control:
            can_discard = self._transactions.on_control_batch_read(batch)
            discard = can_discard and self._is_past(horizon)
        else:
            discard = can_discard = self._transactions.on_batch_read(batch)
        keep_empty = batch.has_producer_id and self._is_last_of_producer(batch)
        if discard and not keep_empty:
            return None
        self._stats.messages_read += batch.record_count
        data = batch.record_bytes() if batch.record_count and not discard else b""
        sieve = RecordSieve(data, batch.record_count if data else 0, batch.base_offset, self._map)
        while sieve.retain_all() if batch.is_control else sieve.retain_latest(self._is_past(horizon)):
            self._yield_regularly()
        self._yield_regularly()
        self._stats.invalid_messages_read += sieve.invalid
        if not sieve.retained:
            return self._without_records(batch) if keep_empty else None
        # Set the delete horizon of a tombstone, or of a marker whose data is all gone.
        begins = horizon is None and (can_discard if batch.is_control else sieve.has_tombstones)
        self._stats.messages_written += sieve.retained
        if sieve.retained == sieve.found and not begins:
            return batch
        return self._rebuilt(batch, sieve, begins)

    def _is_past(self, horizon: int | None) -> bool:
        return horizon is not None and horizon <= self._now_ms

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        last = self._active_producers.get(batch.producer_id)
        if last is None:
            return False
        last_data_offset, epoch = last
        if last_data_offset >= 0:
            return batch.last_offset == last_data_offset
        return batch.is_control and batch.producer_epoch == epoch

    def _rebuilt(self, batch: RecordBatch, sieve: RecordSieve, begins: bool) -> RecordBatch:
        base_timestamp = batch.base_timestamp
        attributes = batch.attributes & (_KEPT_FLAGS | DELETE_HORIZON_MASK)
        if batch.attributes & TIMESTAMP_TYPE_MASK:
            max_timestamp = batch.max_timestamp
        else:
            max_timestamp = base_timestamp + sieve.max_timestamp_delta
        body = b"".join(sieve.runs)
        if begins:
            # The delete horizon is stored in place of the base timestamp.
            base_timestamp = self._now_ms + self._delete_retention_ms
            attributes |= DELETE_HORIZON_MASK
            body = self._rebased(body, batch.base_timestamp - base_timestamp)
        codec = batch.compression_type
        if codec != CompressionType.NONE:
            body = compress(codec, body)
        return self._with_header_of(batch, body, sieve.retained, attributes | codec, base_timestamp, max_timestamp)

    def _rebased(self, records: bytes, shift: int) -> bytes:
        portions, position = [], 0
        while position < len(records):
            portion, position = rebase_timestamps(records, position, shift)
            portions.append(portion)
            self._yield_regularly()
        return b"".join(portions)

    def _without_records(self, batch: RecordBatch) -> RecordBatch:
        """Return the batch's header without records, which preserves the producer's state."""
        attributes = batch.attributes & _KEPT_FLAGS
        return self._with_header_of(batch, b"", 0, attributes, NO_TIMESTAMP, batch.max_timestamp)

    @staticmethod
    def _with_header_of(
        batch: RecordBatch, body: bytes, record_count: int, attributes: int, base_timestamp: int, max_timestamp: int
    ) -> RecordBatch:
        return RecordBatch(
            encode_batch(
                body,
                base_offset=batch.base_offset,
                last_offset_delta=batch.last_offset_delta,
                record_count=record_count,
                attributes=attributes,
                base_timestamp=base_timestamp,
                max_timestamp=max_timestamp,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=batch.base_sequence,
                partition_leader_epoch=batch.partition_leader_epoch,
            )
        )

    def _filter_legacy(self, batch: LegacyRecordBatch) -> LegacyRecordBatch | None:
        """Filter as for v2. The delete horizon is the segment's; the records of a wrapper may be removed at either end."""
        self._transactions.on_batch_read(batch)
        records = list(batch.records())
        self._stats.messages_read += len(records)
        retained = []
        for record in records:
            if record.offset <= self._map.latest_offset:
                if record.key is None:
                    self._stats.invalid_messages_read += 1
                    continue
                if record.offset < self._map.get(record.key):
                    continue
                if record.value is None and not self._retain_legacy_deletes:
                    continue
            retained.append(record)
        self._stats.messages_written += len(retained)
        if len(retained) == len(records):
            return batch
        if not retained:
            return None
        append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
        builder = MemoryRecordsBuilder(
            magic=batch.magic,
            compression_type=batch.compression_type,
            timestamp_type=batch.timestamp_type,
            base_offset=retained[0].offset,
            log_append_time=batch.max_timestamp if append_time else NO_TIMESTAMP,
        )
        for record in retained:
            builder.append_with_offset(record.offset, record.timestamp, record.key, record.value)
        return LegacyRecordBatch(builder.build())
