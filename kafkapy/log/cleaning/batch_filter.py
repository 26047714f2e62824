"""What compaction leaves of a batch (Kafka's `MemoryRecords.filterTo` with the filter of `Cleaner.cleanInto`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.cleaning.cleaned_transactions import CleanedTransactionMetadata
from kafkapy.log.cleaning.cleaner_stats import CleanerStats
from kafkapy.log.cleaning.offset_map import OffsetMap
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
from kafkapy.record.record_spans import RecordSpan, rebase_timestamps, record_spans
from kafkapy.record.records_builder import MemoryRecordsBuilder, encode_batch

_KEPT_FLAGS = TIMESTAMP_TYPE_MASK | TRANSACTIONAL_MASK | CONTROL_MASK

ActiveProducers = Mapping[int, tuple[int, int]]
"""Of each producer that the log knows: (offset of its last data record or -1, its epoch)."""

_PORTION = 64


def portions(spans: Iterable[RecordSpan]) -> Iterator[list[RecordSpan]]:
    """A few records at a time, so that a large batch does not keep the interpreter for long."""
    iterator = iter(spans)
    while portion := list(itertools.islice(iterator, _PORTION)):
        yield portion


@dataclass(eq=False)
class BatchFilter:
    """Decides for the batches of a segment, in order, what of them stays.

    - A record stays if the map knows no later one of its key, or does not reach so far.
    - A tombstone stays until the delete horizon of its batch, which the first cleaning sets (KIP-534).
    - Data of an aborted transaction goes. A marker goes once its data is gone and its own delete horizon has passed.
    - A batch that has a producer's last sequence stays, empty if need be; so does the marker that has its epoch.

    A batch that loses records keeps its offset range, sequence, codec and header; its records keep their bytes.

    `retain_legacy_deletes`: tombstones of message formats v0 and v1 stay. `breathe` is called often.
    """

    _map: OffsetMap
    _transactions: CleanedTransactionMetadata
    _active_producers: ActiveProducers
    _now_ms: int
    _delete_retention_ms: int
    _retain_legacy_deletes: bool
    _stats: CleanerStats
    _breathe: Callable[[], object]

    def filter(self, batch: Batch) -> Batch | None:
        """The batch itself, a new one in its place, or None. `KafkaError` if it cannot be read; `OSError`."""
        if isinstance(batch, LegacyRecordBatch):
            return self._filter_legacy(batch)
        horizon = batch.delete_horizon_ms
        if batch.is_control:
            can_discard = self._transactions.on_control_batch_read(batch)
            discard = can_discard and horizon is not None and horizon <= self._now_ms
        else:
            discard = can_discard = self._transactions.on_batch_read(batch)
        keep_empty = batch.has_producer_id and self._is_last_of_producer(batch)
        if discard and not keep_empty:
            return None
        self._stats.messages_read += batch.record_count
        data = batch.record_bytes() if batch.record_count and not discard else b""
        found = 0
        retained: list[RecordSpan] = []
        for portion in portions(record_spans(data, batch.record_count if data else 0)):
            found += len(portion)
            if not batch.is_control:
                portion = [span for span in portion if self._is_retained(batch, span, horizon)]
            retained += portion
            self._breathe()
        if not retained:
            return self._emptied(batch) if keep_empty else None
        # A deletion is about to begin: of a tombstone, or of a marker whose data is all gone.
        begins = can_discard if batch.is_control else not all(span[5] for span in retained)
        begins = begins and horizon is None
        self._stats.messages_written += len(retained)
        if len(retained) == found and not begins:
            return batch
        return self._rebuilt(batch, data, retained, begins)

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        last = self._active_producers.get(batch.producer_id)
        if last is None:
            return False
        last_data_offset, epoch = last
        if last_data_offset >= 0:
            return batch.last_offset == last_data_offset
        return batch.is_control and batch.producer_epoch == epoch

    def _is_retained(self, batch: RecordBatch, span: RecordSpan, horizon: int | None) -> bool:
        offset = batch.base_offset + span[3]
        if offset > self._map.latest_offset:
            return True
        key = span[4]
        if key is None:
            self._stats.invalid_messages_read += 1
            return False
        return offset >= self._map.get(key) and (span[5] or horizon is None or self._now_ms < horizon)

    def _rebuilt(self, batch: RecordBatch, data: bytes, retained: list[RecordSpan], begins: bool) -> RecordBatch:
        base_timestamp = batch.base_timestamp
        attributes = batch.attributes & (_KEPT_FLAGS | DELETE_HORIZON_MASK)
        if batch.attributes & TIMESTAMP_TYPE_MASK:
            max_timestamp = batch.max_timestamp
        else:
            max_timestamp = base_timestamp + max([span[2] for span in retained])
        if begins:
            # The delete horizon takes the place of the base timestamp.
            base_timestamp = self._now_ms + self._delete_retention_ms
            attributes |= DELETE_HORIZON_MASK
            body = rebase_timestamps(data, retained, batch.base_timestamp - base_timestamp)
        else:
            body = b"".join([data[span[0] : span[1]] for span in retained])
        codec = batch.compression_type
        if codec != CompressionType.NONE:
            body = compress(codec, body)
        return self._with_header_of(batch, body, len(retained), attributes | codec, base_timestamp, max_timestamp)

    def _emptied(self, batch: RecordBatch) -> RecordBatch:
        """Only the header, for the sake of the producer's state."""
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
        """As for v2; a delete horizon is the segment's, and a wrapper shrinks from both sides."""
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
