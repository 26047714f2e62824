"""Appends to a log, with what they bring about: new epochs, rolls, producer state, flushes (part of Kafka's `UnifiedLog`).

The produce path runs through `append_as_leader`; it reaches the page cache only and runs on the reactor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.file_batches import Batch
from kafkapy.log.files.log_files import fsync_file
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.log_bounds import BoundedLog
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import (
    UNKNOWN_OFFSET,
    AppendOrigin,
    CompletedTxn,
    LogAppendInfo,
    LogOffsetMetadata,
    UnexpectedAppendOffsetError,
)
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.producers.producer_state import BatchMetadata, ProducerAppendInfo, ProducerStateEntry
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.local_log import DirFailureHandler
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.segments.log_segments import LogSegments
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import CONTROL_MASK, TRANSACTIONAL_MASK
from kafkapy.record.record_batch import batches as batches_of

logger = logging.getLogger("kafkapy.log.Log")

_MAX_INT: Final = 0x7FFFFFFF
_TRANSACTIONAL_OR_CONTROL: Final = TRANSACTIONAL_MASK | CONTROL_MASK


class AppendableLog(BoundedLog):
    """A log that grows.

    Invariant: epochs are noted before the batches they belong to are written; log end and producers move after the batches are
    written, so whatever fails on the way, offsets are never given twice.
    """

    def __init__(
        self,
        directory: str,
        topic_partition: TopicPartition,
        config: LogConfig,
        segments: LogSegments,
        log_start_offset: int,
        recovery_point: int,
        log_end_offset: int,
        epochs: LeaderEpochCache,
        producers: ProducerStateManager,
        scheduler: Scheduler,
        time: Time,
        on_dir_failure: DirFailureHandler,
    ) -> None:
        super().__init__(
            directory,
            topic_partition,
            config,
            segments,
            log_start_offset,
            recovery_point,
            log_end_offset,
            epochs,
            producers,
            scheduler,
            time,
            on_dir_failure,
        )
        self._validator = LogValidator(topic_partition, config)

    def update_config(self, config: LogConfig) -> LogConfig:
        """Go on with another config; the one before. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io("changing the message format"), self.lock:
            self._validator = LogValidator(self.topic_partition, config)
            old = super().update_config(config)
            if config.record_version != old.record_version:
                logger.info(
                    "[%s] The message format changes from v%d to v%d",
                    *(self.name, old.record_version, config.record_version),
                )
                self.epochs.set_enabled(config.record_version >= 2)
            return old

    # -- appending

    def append_as_leader(
        self,
        records: bytes | bytearray | memoryview,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = 11,
    ) -> LogAppendInfo:
        """Check what a client or coordinator sends, give it offsets and this epoch, and append it.

        A writable buffer is changed in place. `request_version`: of the Produce request (what it may hold depends on it).
        `KafkaError`: what `LogValidator.validate` says; OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
        TRANSACTION_COORDINATOR_FENCED; RECORD_LIST_TOO_LARGE for more than a segment; KAFKA_STORAGE_ERROR.
        """
        with self.lock:
            self._check_open()
            now_ms = self.time.milliseconds()
            checked = self._validator.validate(
                records, self.log_end_offset, now_ms, leader_epoch, origin, request_version
            )
            if not checked.batches:
                return LogAppendInfo(UNKNOWN_OFFSET, UNKNOWN_OFFSET, self.log_start_offset)
            info = LogAppendInfo(checked.first_offset, checked.last_offset, self.log_start_offset)
            info.record_count = checked.record_count
            info.max_timestamp = checked.max_timestamp
            info.shallow_offset_of_max_timestamp = checked.shallow_offset_of_max_timestamp
            info.log_append_time = checked.log_append_time
            info.last_leader_epoch = leader_epoch
            info.valid_bytes = len(checked.records)
            self._append(checked.records, checked.batches, info, origin, now_ms)
            return info

    def append_as_follower(self, records: bytes | bytearray | memoryview) -> LogAppendInfo:
        """Append what the leader sent as it is; a batch that is cut off at the end is left out.

        `KafkaError`: CORRUPT_MESSAGE, UNKNOWN_SERVER_ERROR (offsets that go back), `UnexpectedAppendOffsetError` (offsets
        below the log end), RECORD_LIST_TOO_LARGE, KAFKA_STORAGE_ERROR.
        """
        batches = list(batches_of(records))
        info = LogAppendInfo(UNKNOWN_OFFSET, UNKNOWN_OFFSET, self.log_start_offset)
        if not batches:
            return info
        for batch in batches:
            batch.ensure_valid()
            if batch.last_offset <= info.last_offset:
                raise KafkaError(
                    Errors.UNKNOWN_SERVER_ERROR, f"Out of order offsets found in append to {self.topic_partition}"
                )
            info.last_offset = batch.last_offset
            info.valid_bytes += batch.size_in_bytes
            if batch.max_timestamp > info.max_timestamp:
                info.max_timestamp = batch.max_timestamp
                info.shallow_offset_of_max_timestamp = batch.last_offset
        info.last_leader_epoch = batches[-1].partition_leader_epoch
        first = batches[0]
        info.first_offset = first.base_offset if first.magic >= 2 else first.last_offset
        with self.lock:
            self._check_open()
            if info.first_offset < self.log_end_offset:
                raise UnexpectedAppendOffsetError(
                    f"Unexpected offset in append to {self.topic_partition}. First offset {info.first_offset} is less than "
                    f"the next offset {self.log_end_offset}. Last offset in append: {info.last_offset}. "
                    f"Log start offset = {self.log_start_offset}",
                    info.first_offset,
                    info.last_offset,
                )
            self._append(
                memoryview(records)[: info.valid_bytes],
                batches,
                info,
                AppendOrigin.REPLICATION,
                self.time.milliseconds(),
            )
        return info

    def _append(
        self,
        records: bytes | bytearray | memoryview,
        batches: Sequence[Batch],
        info: LogAppendInfo,
        origin: AppendOrigin,
        now_ms: int,
    ) -> None:
        """Append checked batches whose offsets and epochs are set; fills in `info` for a duplicate."""
        try:
            if self.epochs.is_unwritten:
                self.epochs.write_out()
            for batch in batches:
                if batch.partition_leader_epoch != self.epochs.latest_epoch:
                    self._note_epoch(batch)
            size = len(records)
            config = self.config
            if size > config.segment_bytes:
                raise KafkaError(
                    Errors.RECORD_LIST_TOO_LARGE,
                    f"Message batch size is {size} bytes in append to partition {self.topic_partition}, which exceeds the "
                    f"maximum configured segment size of {config.segment_bytes}.",
                )
            segment = self.segments.active
            if segment.should_roll(size, info.max_timestamp, info.last_offset, now_ms, config):
                # The first offset of a v0 or v1 set is not known: this is surely not above it, and leaves room for the last.
                known = batches[0].magic >= 2
                segment = self._roll(info.first_offset if known else info.last_offset - _MAX_INT)
            infos: dict[int, ProducerAppendInfo] = {}
            completed: list[CompletedTxn] = []
            first = batches[0]
            entry: ProducerStateEntry | None = None
            if len(batches) == 1 and not first.attributes & _TRANSACTIONAL_OR_CONTROL:
                # Nearly every batch is the one that is expected next: then there is nothing to check or to collect.
                entry = self.producers.producers.get(first.producer_id)
                if entry is not None and not entry.expects(first.producer_epoch, first.base_sequence):
                    entry = None
            if entry is None and (len(batches) > 1 or first.producer_id >= 0):
                duplicate = self._check_producers(batches, infos, completed, segment, origin)
                if duplicate is not None:
                    info.duplicate = True
                    info.first_offset, info.last_offset = duplicate.first_offset, duplicate.last_offset
                    info.log_append_time = duplicate.timestamp
                    info.valid_bytes = 0
                    return
            segment.append(records, batches)
            # From here on the records are there, and the end must say so even if something below fails.
            end = info.last_offset + 1
            self.log_end_offset = end
            self.log_end_offset_metadata = LogOffsetMetadata(end, segment.base_offset, segment.size)
            producers = self.producers
            if entry is not None:
                entry.add_batch(
                    BatchMetadata(
                        first.last_sequence, info.last_offset, info.last_offset - info.first_offset, first.max_timestamp
                    )
                )
            elif infos:
                for producer_info in infos.values():
                    producers.update(producer_info)
                for txn in completed:
                    segment.update_txn_index(txn, producers.last_stable_offset(txn))
                    producers.complete_txn(txn)
            producers.map_end_offset = end
            if producers.ongoing_txns or producers.unreplicated_txns or self._first_unstable is not None:
                self._update_first_unstable_offset()
            if end - self.recovery_point >= config.flush_messages:
                self.flush()
        except OSError as error:
            raise self._storage_failure("appending records", error) from error

    def _note_epoch(self, batch: Batch) -> None:
        if batch.magic >= 2 and batch.partition_leader_epoch >= 0:
            self.epochs.assign(batch.partition_leader_epoch, batch.base_offset)
        elif self.epochs.latest_epoch is not None:
            # An older format has come back: only the high watermark is a safe place to truncate to now.
            logger.warning(
                "[%s] Clearing leader epoch cache after unexpected append with format v%d", self.name, batch.magic
            )
            self.epochs.clear_and_flush()

    def _check_producers(
        self,
        batches: Iterable[Batch],
        infos: dict[int, ProducerAppendInfo],
        completed: list[CompletedTxn],
        segment: LogSegment,
        origin: AppendOrigin,
    ) -> BatchMetadata | None:
        """Check sequences and epochs; the earlier batch if a client sends one again."""
        position = segment.size
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id >= 0:
                if origin is AppendOrigin.CLIENT:
                    entry = self.producers.producers.get(producer_id)
                    if entry is not None:
                        duplicate = entry.find_duplicate_batch(
                            batch.producer_epoch, batch.base_sequence, batch.last_sequence
                        )
                        if duplicate is not None:
                            return duplicate
                # Kept with its position for transactions, so that the last stable offset needs no look-up.
                first_offset = LogOffsetMetadata(batch.base_offset, segment.base_offset, position)
                txn = self.producers.note_batch(batch, infos, origin, first_offset)
                if txn is not None:
                    completed.append(txn)
            position += batch.size_in_bytes
        return None

    # -- rolling and flushing

    def roll(self) -> LogSegment:
        """Begin a new segment at the log end. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io("rolling a segment"), self.lock:
            self._check_open()
            return self._roll(self.log_end_offset)

    def _roll(self, expected_next_offset: int) -> LogSegment:
        segment = self._roll_segment(expected_next_offset)
        # A snapshot at the base offset makes recovery of the new segment begin here.
        self.producers.map_end_offset = segment.base_offset
        snapshot = self.producers.take_snapshot(sync=False)
        self._high_watermark_follows_end()

        def flush_old_segment() -> None:
            with self._io("flushing a producer snapshot"):
                if snapshot is not None:
                    fsync_file(snapshot)
            self.flush_up_to(segment.base_offset)

        self.scheduler.schedule_in_thread("flush-log", flush_old_segment)
        return segment

    def flush(self, force_active_segment: bool = False) -> None:
        """Fsync everything; blocks on the disk. `force_active_segment`: an empty active segment too (at shutdown)."""
        self._flush(self.log_end_offset, force_active_segment)

    def flush_up_to(self, offset: int) -> None:
        """Fsync everything below `offset`, the new recovery point. `KafkaError` KAFKA_STORAGE_ERROR."""
        self._flush(offset, False)

    def _flush(self, offset: int, including: bool) -> None:
        if self.closed or offset + including <= self.recovery_point:
            return
        with self._io(f"flushing up to {offset}"):
            while True:
                directory = self.directory
                self._sync_epochs()
                self._flush_segments(offset + including)
                with self.lock:
                    if directory == self.directory:  # else it was renamed, and files may not have been found
                        self._mark_flushed(min(offset, self.log_end_offset))
                        return

    def _sync_epochs(self) -> None:
        """Make the leader epoch checkpoint durable: written under the lock, as all in the directory is. Raises `OSError`."""
        with self.lock:
            if self.closed:
                return
            self.epochs.write_out()
        self.epochs.sync()
