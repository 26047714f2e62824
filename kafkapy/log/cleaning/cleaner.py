"""The compaction of one log (Kafka's `Cleaner`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator

from kafkapy.common.limits import MAX_INT
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.cleaning.batch_filter import ActiveProducers, BatchFilter
from kafkapy.log.cleaning.cleaned_transactions import CleanedTransactionMetadata
from kafkapy.log.cleaning.cleaner_stats import CleanerStats
from kafkapy.log.cleaning.log_cleaner_manager import LogToClean
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.record_sieve import RecordSieve
from kafkapy.log.cleaning.throttler import Throttler
from kafkapy.log.files.file_batches import Batch
from kafkapy.log.files.log_files import CLEANED_FILE_SUFFIX
from kafkapy.log.index.transaction_index import AbortedTxn
from kafkapy.log.log import Log
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import LOG_OVERHEAD, RecordBatch
from kafkapy.runtime.yield_gil import yield_gil

logger = logging.getLogger("kafkapy.log.LogCleaner")


class Cleaner:
    """Compacts logs one after the other, in its own thread, with memory for one offset map and two I/O buffers.

    A cleaning reads the dirty part of a log and records the last offset of each key. Then it copies every segment of
    that range without the records that a later one replaces, and swaps the copies in. A crash leaves `.cleaned` files,
    which the next start deletes, or `.swap` files, which it swaps in.

    The thread shares the interpreter lock with the reactor, so it sleeps briefly after each millisecond of work.
    """

    def __init__(
        self,
        cleaner_id: int,
        offset_map: OffsetMap,
        io_buffer_size: int,
        load_factor: float,
        throttler: Throttler,
        time: Time,
        check_done: Callable[[TopicPartition], object],
    ) -> None:
        """`io_buffer_size`: bytes read and written at a time; `load_factor`: the share of the offset map that may be
        filled.

        `check_done` is called often, and raises an exception to stop the cleaning. `ValueError` if the map has no room
        for a key.
        """
        if offset_map.slots * load_factor <= 1:
            raise ValueError(
                "offset map is too small to fit in even a single message, so log cleaning will never make progress. You can "
                "increase log.cleaner.dedupe.buffer.size or decrease log.cleaner.threads"
            )
        self.id = cleaner_id
        self._map = offset_map
        self._io_buffer = bytearray(io_buffer_size)
        self._max_map_size = int(offset_map.slots * load_factor)
        self._throttler = throttler
        self._time = time
        self._check_done = check_done
        self._last_yield_ms = 0

    def clean(self, cleanable: LogToClean) -> tuple[int, CleanerStats]:
        """Compact a log; return (the first offset that is not cleaned, statistics).

        If it fails, the log is as before, except for groups of segments that were completed.

        Raises:
            OSError: reading or writing failed.
            KafkaError: KAFKA_STORAGE_ERROR, or a damaged batch.
            Exception: whatever `check_done` raises.
        """
        now_ms = self._time.milliseconds()
        log = cleanable.log
        logger.info("Cleaner %d: Beginning cleaning of log %s", self.id, log.name)
        stats = CleanerStats(self._time)
        try:
            clean_segments = log.segments.between(-1, cleanable.first_dirty_offset)
            legacy_delete_horizon = (
                clean_segments[-1].last_modified - log.config.delete_retention_ms if clean_segments else 0
            )
            self._build_offset_map(log, cleanable.first_dirty_offset, cleanable.first_uncleanable_offset, stats)
            end_offset = self._map.latest_offset + 1
            stats.index_done()

            transactions = CleanedTransactionMetadata()
            groups = group_segments_by_size(
                log.segments.between(0, end_offset),
                log.config.segment_bytes,
                log.config.segment_index_bytes,
                cleanable.first_uncleanable_offset,
            )
            for group in groups:
                self._clean_segments(log, group, now_ms, stats, transactions, legacy_delete_horizon)
            stats.buffer_utilization = self._map.utilization
            stats.all_done()
            return end_offset, stats
        finally:
            self._map.clear(0, 0)

    # -- the offset map

    def _build_offset_map(self, log: Log, start: int, end: int, stats: CleanerStats) -> None:
        """Record the last offset of each key in [start, end), or as far as the map has room."""
        self._map.clear(start, end)
        dirty = log.segments.between(start, end)
        logger.info(
            "Cleaner %d: Building offset map for log %s for %d segments in offset range [%d, %d)",
            self.id, log.name, len(dirty), start, end,
        )  # fmt: skip
        transactions = CleanedTransactionMetadata()
        transactions.add_aborted_transactions(_aborted_transactions(log, start, end))
        ends = [segment.base_offset for segment in dirty[1:]] + [end]
        for segment, segment_end in zip(dirty, ends, strict=True):
            self._check_done(log.topic_partition)
            if not self._add_segment(log, segment, start, segment_end, transactions, stats):
                break

    def _add_segment(
        self,
        log: Log,
        segment: LogSegment,
        start: int,
        end: int,
        transactions: CleanedTransactionMetadata,
        stats: CleanerStats,
    ) -> bool:
        """Add a segment's keys; return False if the map is full."""
        first = next(iter(segment.headers_towards(start)), None)
        position = segment.size if first is None else first.position
        for chunk, bytes_read in self._read(log.topic_partition, segment, position):
            for batch in chunk:
                if isinstance(batch, RecordBatch) and batch.is_control:
                    transactions.on_control_batch_read(batch)
                elif not transactions.on_batch_read(batch) and not self._add_batch(batch, start):
                    return False
                if batch.last_offset >= start:
                    self._map.update_latest_offset(batch.last_offset)
            stats.map_bytes_read += bytes_read
        # The last records of the segment may have been removed: the next cleaning still starts after it.
        self._map.update_latest_offset(end - 1)
        return True

    def _add_batch(self, batch: Batch, start: int) -> bool:
        """Add a batch's keys; return False if the map is full."""
        offset_map = self._map
        if isinstance(batch, LegacyRecordBatch):
            for record in batch.records():
                if record.key is not None and record.offset >= start:
                    if offset_map.size >= self._max_map_size:
                        return False
                    offset_map.put(record.key, record.offset)
            self._yield_regularly()
            return True
        if not batch.record_count:
            return True
        sieve = RecordSieve(batch.record_bytes(), batch.record_count, batch.base_offset, offset_map)
        while sieve.put_keys(start, self._max_map_size):
            self._yield_regularly()
        self._yield_regularly()
        return not sieve.is_full

    # -- the copy

    def _clean_segments(
        self,
        log: Log,
        segments: list[LogSegment],
        now_ms: int,
        stats: CleanerStats,
        transactions: CleanedTransactionMetadata,
        legacy_delete_horizon: int,
    ) -> None:
        """Copy a group of segments into one, and replace them by it."""
        cleaned = LogSegment.create(log.directory, segments[0].base_offset, log.config, self._time, CLEANED_FILE_SUFFIX)
        transactions.cleaned_index = cleaned.txn_index
        try:
            producers = {
                producer.producer_id: (producer.last_data_offset, producer.producer_epoch)
                for producer in log.active_producers()
            }
            ends = [segment.base_offset for segment in segments[1:]] + [segments[-1].read_next_offset()]
            for segment, end in zip(segments, ends, strict=True):
                transactions.add_aborted_transactions(_aborted_transactions(log, segment.base_offset, end))
                retain_legacy_deletes = segment.last_modified > legacy_delete_horizon
                logger.info(
                    "Cleaner %d: Cleaning %s in log %s into %d", self.id, segment, log.name, cleaned.base_offset
                )
                self._clean_into(log, segment, cleaned, transactions, producers, retain_legacy_deletes, now_ms, stats)
            last_modified = segments[-1].last_modified
            cleaned.on_become_inactive()
            cleaned.write_out_indexes()
            cleaned.flush()
            cleaned.set_last_modified(last_modified)
            self._check_done(log.topic_partition)
            logger.info(
                "Cleaner %d: Swapping in cleaned segment %s for %d segment(s) from %s to %s in log %s",
                self.id, cleaned, len(segments), segments[0], segments[-1], log.name,
            )  # fmt: skip
            log.replace_segments([cleaned], segments)
        except BaseException:
            if cleaned.suffix == CLEANED_FILE_SUFFIX:
                cleaned.delete_if_exists()
            raise

    def _clean_into(
        self,
        log: Log,
        source: LogSegment,
        destination: LogSegment,
        transactions: CleanedTransactionMetadata,
        producers: ActiveProducers,
        retain_legacy_deletes: bool,
        now_ms: int,
        stats: CleanerStats,
    ) -> None:
        batch_filter = BatchFilter(
            self._map,
            transactions,
            producers,
            now_ms,
            log.config.delete_retention_ms,
            retain_legacy_deletes,
            stats,
            self._yield_regularly,
        )
        for chunk, bytes_read in self._read(log.topic_partition, source, 0):
            retained = []
            for batch in chunk:
                kept = batch_filter.filter(batch)
                if kept is not None:
                    retained.append(kept)
            stats.bytes_read += bytes_read
            if retained:
                # No lock: the log does not know this segment yet.
                data = b"".join([batch.buffer for batch in retained])
                destination.append(data, retained)
                stats.bytes_written += len(data)
                self._throttle(log.topic_partition, len(data))

    # -- throttled reads

    def _read(self, partition: TopicPartition, segment: LogSegment, position: int) -> Iterator[tuple[list[Batch], int]]:
        """Yield (whole batches, their bytes) from a position on: one buffer full at a time, or one batch that is
        larger.

        The next batches reuse the buffer.

        Raises:
            KafkaError: CORRUPT_MESSAGE where there is no batch.
            OSError: reading failed.
        """
        file, buffer = segment.file, memoryview(self._io_buffer)
        while position < segment.size:
            self._check_done(partition)
            data = buffer[: os.preadv(file.fileno(), [buffer[: segment.size - position]], position)]
            found = list(batches(data))
            if not found:
                size = int.from_bytes(data[8:12], "big", signed=True) + LOG_OVERHEAD if len(data) >= LOG_OVERHEAD else 0
                if size <= len(data) or size > segment.size - position:
                    raise KafkaError(
                        Errors.CORRUPT_MESSAGE,
                        f"Log segment may be corrupt: a batch of {size} bytes at position {position} of {segment.log_path}, "
                        f"where {segment.size - position} bytes are left",
                    )
                found = list(batches(os.pread(file.fileno(), size, position)))
            size = found[-1].position + found[-1].size_in_bytes
            self._throttle(partition, size)
            yield found, size
            position += size

    def _throttle(self, partition: TopicPartition, size: int) -> None:
        self._throttler.maybe_throttle(size, lambda: self._check_done(partition))

    def _yield_regularly(self) -> None:
        if self._time.monotonic_ms() != self._last_yield_ms:
            yield_gil()
            self._last_yield_ms = self._time.monotonic_ms()


def group_segments_by_size(
    segments: list[LogSegment], max_size: int, max_index_size: int, first_uncleanable_offset: int
) -> list[list[LogSegment]]:
    """Group adjacent segments that fit in one segment, by size in bytes, index size and offset range."""
    groups: list[list[LogSegment]] = []
    log_size = index_size = time_index_size = 0
    for i, segment in enumerate(segments):
        # The next segment's base offset bounds the last offset of this one, without reading it.
        upper_bound = segments[i + 1].base_offset if i + 1 < len(segments) else first_uncleanable_offset
        log_size += segment.size
        index_size += segment.offset_index.size_in_bytes
        time_index_size += segment.time_index.size_in_bytes
        if (
            groups
            and log_size <= max_size
            and index_size <= max_index_size
            and time_index_size <= max_index_size
            and (segment.size == 0 or upper_bound - 1 - groups[-1][0].base_offset <= MAX_INT)
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            log_size = segment.size
            index_size = segment.offset_index.size_in_bytes
            time_index_size = segment.time_index.size_in_bytes
    return groups


def _aborted_transactions(log: Log, start: int, end: int) -> list[AbortedTxn]:
    """Return the aborted transactions that overlap [start, end)."""
    found: list[AbortedTxn] = []
    for segment in log.segments.from_offset(start):
        transactions, complete = segment.collect_aborted_txns(start, end)
        found += transactions
        if complete:
            break
    return found
