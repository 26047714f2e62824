"""The log of one partition (Kafka's `UnifiedLog`): appends, reads, high watermark, producers, epochs, retention.

The two hot paths run through `Log.append_as_leader` and `Log.read`, which reach the page cache only and run on the reactor.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import to_string
from kafkapy.log import timestamp_lookup
from kafkapy.log.checkpoints import LeaderEpochCheckpointFile, PartitionMetadataFile
from kafkapy.log.file_batches import Batch
from kafkapy.log.leader_epoch_cache import UNDEFINED_EPOCH_OFFSET, LeaderEpochCache
from kafkapy.log.local_log import DirFailureHandler, LocalLog
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_files import fsync_dir, fsync_file
from kafkapy.log.log_segment import LogSegment
from kafkapy.log.log_segments import LogSegments
from kafkapy.log.log_types import (
    UNKNOWN_OFFSET,
    AppendOrigin,
    FetchDataInfo,
    FetchIsolation,
    LogAppendInfo,
    LogOffsetMetadata,
    LogOffsetSnapshot,
    TimestampAndOffset,
)
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.producer_state import BatchMetadata, CompletedTxn, ProducerAppendInfo, ProducerStateEntry
from kafkapy.log.producer_state_manager import ProducerStateManager
from kafkapy.log.producer_state_rebuild import rebuild_producer_state
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import batches as batches_of

__all__ = [
    "AppendOrigin",
    "FetchDataInfo",
    "FetchIsolation",
    "Log",
    "LogAppendInfo",
    "LogOffsetMetadata",
    "LogOffsetSnapshot",
    "TimestampAndOffset",
]

logger = logging.getLogger("kafkapy.log.Log")

_MAX_INT = 0x7FFFFFFF


class Log(LocalLog):
    """A partition's log as its replica uses it.

    Invariants, beyond those of `LocalLog`: log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset.
    Records below `log_start_offset` are deleted, if still on disk; those at or above `high_watermark` may still be lost with
    the leader. `epochs` has the epoch of every batch, `producers` the state up to the log end.
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
        topic_id: bytes | None = None,
    ) -> None:
        """Use `log_loader.load_log`."""
        super().__init__(
            directory, topic_partition, config, segments, recovery_point, log_end_offset, scheduler, time, on_dir_failure
        )
        self.epochs = epochs
        self.producers = producers
        self._validator = LogValidator(topic_partition, config)
        self.log_start_offset = log_start_offset
        self.high_watermark = log_start_offset
        self._high_watermark_metadata = LogOffsetMetadata(log_start_offset)
        self._first_unstable: LogOffsetMetadata | None = None
        self._set_log_start_offset(log_start_offset)
        self._update_first_unstable_offset()
        self._topic_id: bytes | None = None
        self._load_topic_id(topic_id)

    def update_config(self, config: LogConfig) -> LogConfig:
        """Go on with another config; the one before."""
        with self.lock:
            self._validator = LogValidator(self.topic_partition, config)
            return super().update_config(config)

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
            checked = self._validator.validate(
                records, self.log_end_offset, self.time.milliseconds(), leader_epoch, origin, request_version
            )
            info = LogAppendInfo(checked.first_offset, checked.last_offset, self.log_start_offset)
            if checked.batches:
                info.record_count = checked.record_count
                info.max_timestamp = checked.max_timestamp
                info.shallow_offset_of_max_timestamp = checked.shallow_offset_of_max_timestamp
                info.log_append_time = checked.log_append_time
                info.last_leader_epoch = leader_epoch
                info.valid_bytes = len(checked.records)
                self._append(checked.records, checked.batches, info, origin)
            return info

    def append_as_follower(self, records: bytes | bytearray | memoryview) -> LogAppendInfo:
        """Append what the leader sent as it is; a batch that is cut off at the end is left out.

        `KafkaError`: CORRUPT_MESSAGE, OFFSET_OUT_OF_RANGE (offsets that go back or are below the log end),
        RECORD_LIST_TOO_LARGE, KAFKA_STORAGE_ERROR.
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
                raise KafkaError(
                    Errors.UNKNOWN_SERVER_ERROR,
                    f"Unexpected offset in append to {self.topic_partition}. First offset {info.first_offset} is less than "
                    f"the next offset {self.log_end_offset}. Last offset in append: {info.last_offset}. "
                    f"Log start offset = {self.log_start_offset}",
                )
            self._append(memoryview(records)[: info.valid_bytes], batches, info, AppendOrigin.REPLICATION)
        return info

    def _append(
        self,
        records: bytes | bytearray | memoryview,
        batches: Sequence[Batch],
        info: LogAppendInfo,
        origin: AppendOrigin,
    ) -> None:
        """Append checked batches whose offsets and epochs are set; fills in `info` for a duplicate."""
        try:
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
            if segment.should_roll(size, info.max_timestamp, info.last_offset, self.time.milliseconds(), config):
                # The first offset of a v0 or v1 set is not known: this is surely not above it, and leaves room for the last.
                known = batches[0].magic >= 2
                segment = self._roll(info.first_offset if known else info.last_offset - _MAX_INT)
            infos: dict[int, ProducerAppendInfo] = {}
            completed: list[CompletedTxn] = []
            if len(batches) > 1 or batches[0].producer_id >= 0:
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
            if infos:
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
            logger.warning("[%s] Clearing leader epoch cache after unexpected append with format v%d", self.name, batch.magic)
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

    # -- reading

    def read(
        self, start_offset: int, max_length: int, isolation: FetchIsolation, min_one_message: bool
    ) -> FetchDataInfo:
        """Batches from the one that holds `start_offset` on, at most `max_length` bytes, as far as `isolation` lets see.

        The last batch may be cut. With `min_one_message` the first batch comes whole even if it is larger.
        `KafkaError`: OFFSET_OUT_OF_RANGE (below the log start or above the log end), KAFKA_STORAGE_ERROR.
        """
        if start_offset < self.log_start_offset:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {start_offset} for partition {self.topic_partition}, but we only have log "
                f"segments starting from offset: {self.log_start_offset}.",
            )
        try:
            end = self.end_offset_metadata(isolation)
            info, segment = self._read_up_to(start_offset, max_length, min_one_message, end)
            if isolation is FetchIsolation.TXN_COMMITTED:
                info.aborted_transactions = self._collect_aborted(start_offset, info, segment)
            return info
        except OSError as error:
            self._check_open()
            raise self._storage_failure("reading", error) from error

    # -- high watermark and last stable offset

    @property
    def last_stable_offset(self) -> int:
        """Everything below it is decided (KIP-98): min(high watermark, first offset of an undecided transaction)."""
        first = self._first_unstable
        if first is not None and first.message_offset < self.high_watermark:
            return first.message_offset
        return self.high_watermark

    def end_offset_metadata(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Up to where a reader may see, with its position. `KafkaError` OFFSET_OUT_OF_RANGE if it has none."""
        if isolation is FetchIsolation.LOG_END:
            return self.log_end_offset_metadata
        if isolation is FetchIsolation.TXN_COMMITTED:
            first = self._first_unstable
            if first is not None and first.message_offset < self.high_watermark:
                if first.message_offset_only:
                    first = self._position_of(first.message_offset)
                    with self.lock:
                        if self._first_unstable is not None and self._first_unstable.message_offset == first.message_offset:
                            self._first_unstable = first
                return first
        metadata = self._high_watermark_metadata
        if metadata.message_offset_only:
            metadata = self._position_of(metadata.message_offset)
            with self.lock:
                if self.high_watermark == metadata.message_offset:
                    self._set_high_watermark(metadata)
        return metadata

    @property
    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark; its position may not be known (see `end_offset_metadata`)."""
        return self._high_watermark_metadata

    def fetch_offset_snapshot(self) -> LogOffsetSnapshot:
        """All offsets with their positions. `KafkaError` OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR."""
        with self._io("reading offsets"):
            return LogOffsetSnapshot(
                self.log_start_offset,
                self.log_end_offset_metadata,
                self.end_offset_metadata(FetchIsolation.HIGH_WATERMARK),
                self.end_offset_metadata(FetchIsolation.TXN_COMMITTED),
            )

    def maybe_increment_high_watermark(self, new: LogOffsetMetadata) -> LogOffsetMetadata | None:
        """As leader: move the high watermark up to `new` if it is higher (or as high on a newer segment).

        The high watermark before, None if it stays. `ValueError` above the log end.
        """
        if new.message_offset > self.log_end_offset:
            raise ValueError(f"High watermark {new} update exceeds current log end offset {self.log_end_offset_metadata}")
        with self.lock:
            old = self._high_watermark_metadata
            if old.message_offset < new.message_offset or (
                old.message_offset == new.message_offset and old.on_older_segment(new)
            ):
                self._set_high_watermark(new)
                return old
        return None

    def update_high_watermark(self, offset: int) -> int:
        """Set the high watermark (at start, or as a follower): brought into [log start, log end]. What holds now."""
        with self.lock:
            if offset >= self.log_end_offset:
                self._set_high_watermark(self.log_end_offset_metadata)
            else:
                self._set_high_watermark(LogOffsetMetadata(max(offset, self.log_start_offset)))
            return self.high_watermark

    def maybe_update_high_watermark(self, offset: int) -> int | None:
        """As follower: take over the leader's high watermark; the new one if it changed."""
        before = self.high_watermark
        if offset == before:
            return None
        after = self.update_high_watermark(offset)
        return after if after != before else None

    def _set_high_watermark(self, metadata: LogOffsetMetadata) -> None:
        if metadata.message_offset < 0:
            raise ValueError("High watermark offset should be non-negative")
        if metadata.message_offset < self.high_watermark:
            logger.warning("[%s] Non-monotonic update of high watermark from %d to %s", self.name, self.high_watermark, metadata)
        self._high_watermark_metadata = metadata
        self.high_watermark = metadata.message_offset
        producers = self.producers
        if producers.unreplicated_txns:
            producers.on_high_watermark_updated(metadata.message_offset)
        if self._first_unstable is not None:
            self._update_first_unstable_offset()

    def _high_watermark_follows_end(self) -> None:
        """After the end moved back, or got another position by a roll."""
        if self.high_watermark >= self.log_end_offset:
            self._set_high_watermark(self.log_end_offset_metadata)

    def _update_first_unstable_offset(self) -> None:
        first = self.producers.first_unstable_offset()
        if first is not None and (first.message_offset_only or first.message_offset < self.log_start_offset):
            offset = max(first.message_offset, self.log_start_offset)
            try:
                first = self._position_of(offset)
            except KafkaError:
                first = LogOffsetMetadata(offset)
        self._first_unstable = first

    # -- log start

    def maybe_increment_log_start_offset(self, offset: int, reason: str = "client delete records request") -> bool:
        """Delete everything below `offset`, in name; True if the log start moved. `KafkaError` OFFSET_OUT_OF_RANGE."""
        with self.lock, self._io(f"increasing log start offset to {offset}"):
            if offset > self.high_watermark:
                raise KafkaError(
                    Errors.OFFSET_OUT_OF_RANGE,
                    f"Cannot increment the log start offset to {offset} of partition {self.topic_partition} since it is "
                    f"larger than the high watermark {self.high_watermark}",
                )
            self._check_open()
            if offset <= self.log_start_offset:
                return False
            self._set_log_start_offset(offset)
            logger.info("[%s] Incremented log start offset to %d due to %s", self.name, offset, reason)
            self.epochs.truncate_from_start(offset)
            self.producers.on_log_start_offset_incremented(offset)
            self._update_first_unstable_offset()
            return True

    def _set_log_start_offset(self, offset: int) -> None:
        self.log_start_offset = offset
        if self.high_watermark < offset:
            self.update_high_watermark(offset)
        if self.recovery_point < offset:
            self.recovery_point = offset

    # -- epochs and times

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last leader that this log knows."""
        return self.epochs.latest_epoch

    def maybe_assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """A leader of this epoch begins here. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io("writing the leader epoch checkpoint"):
            self.epochs.assign(leader_epoch, start_offset)
        self.scheduler.schedule_in_thread("leader-epoch-cache-flush", self._flush_epochs)

    def _flush_epochs(self) -> None:
        with self._io("flushing the leader epoch checkpoint"):
            self.epochs.flush()

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int] | None:
        """(largest epoch <= the requested one, its end offset); None if the requested one is not known."""
        epoch, offset = self.epochs.end_offset_for(leader_epoch, self.log_end_offset)
        return None if offset == UNDEFINED_EPOCH_OFFSET else (epoch, offset)

    def fetch_offset_by_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """ListOffsets from v1 on: the first record whose timestamp is >= `timestamp`; None if there is none.

        -1 log end, -2 and -4 log start, -3 the record with the largest timestamp, -5 nothing tiered. `KafkaError`
        KAFKA_STORAGE_ERROR.
        """
        with self._io("looking up a timestamp"):
            return timestamp_lookup.fetch_offset_by_timestamp(self, timestamp)

    def legacy_fetch_offsets_before(self, timestamp: int, max_num_offsets: int) -> list[int]:
        """ListOffsets v0: base offsets of the segments last modified by `timestamp`, newest first."""
        with self._io("looking up offsets"):
            return timestamp_lookup.legacy_fetch_offsets_before(self, timestamp, max_num_offsets)

    # -- producers

    def active_producers(self) -> list[ProducerStateEntry]:
        """What DescribeProducers tells."""
        with self.lock:
            return list(self.producers.producers.values())

    def remove_expired_producers(self, now_ms: int) -> None:
        with self.lock:
            self.producers.remove_expired_producers(now_ms)

    def _rebuild_producers(self, up_to: int) -> None:
        rebuild_producer_state(
            self.producers, self.segments, self.log_start_offset, up_to, self.time.milliseconds(), False
        )

    # -- rolling and flushing

    def roll(self) -> LogSegment:
        """Begin a new segment at the log end. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self.lock, self._io("rolling a segment"):
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
            self.epochs.flush()
            self._flush_segments(offset + including)
            with self.lock:
                self._mark_flushed(min(offset, self.log_end_offset))

    # -- retention

    def delete_old_segments(self) -> int:
        """Delete whole segments that are too old, too many, or below the log start; how many. `KafkaError`."""
        with self._io("deleting old segments"), self.lock:
            self._check_open()
            deleted = self._delete_oldest(
                lambda _, following: following is not None and following.base_offset <= self.log_start_offset,
                "log start offset breach",
            )
            if self.config.delete:
                deleted += self._delete_by_size() + self._delete_by_time()
            return deleted

    def _delete_by_size(self) -> int:
        retention_bytes = self.config.retention_bytes
        excess = self.size - retention_bytes
        if retention_bytes < 0 or excess < 0:
            return 0

        def too_much(segment: LogSegment, _: LogSegment | None) -> bool:
            nonlocal excess
            if excess - segment.size < 0:
                return False
            excess -= segment.size
            return True

        return self._delete_oldest(too_much, f"log retention size {retention_bytes} breach")

    def _delete_by_time(self) -> int:
        retention_ms = self.config.retention_ms
        if retention_ms < 0:
            return 0
        now = self.time.milliseconds()
        return self._delete_oldest(
            lambda segment, _: now - segment.largest_timestamp > retention_ms,
            f"log retention time {retention_ms}ms breach",
        )

    def _delete_oldest(self, is_deletable: Callable[[LogSegment, LogSegment | None], bool], reason: str) -> int:
        """Delete from the oldest segment on while `is_deletable(segment, the next one)`; nothing at or above the high watermark."""
        segments = self.segments.values()
        deletable = []
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            upper_bound = following.base_offset if following is not None else self.log_end_offset
            is_empty_end = following is None and segment.size == 0
            if is_empty_end or self.high_watermark < upper_bound or not is_deletable(segment, following):
                break
            deletable.append(segment)
        if not deletable:
            return 0
        if len(deletable) == len(segments):
            self._roll(self.log_end_offset)  # there must always be one
        first_kept = self.segments.higher(deletable[-1].base_offset)
        assert first_kept is not None
        self.maybe_increment_log_start_offset(first_kept.base_offset, "segment deletion")
        for segment in deletable:
            logger.info("[%s] Deleting segment %s due to %s", self.name, segment, reason)
        self.remove_and_delete_segments(deletable)
        self._delete_snapshots_of(deletable)
        return len(deletable)

    def _delete_snapshots_of(self, segments: Iterable[LogSegment]) -> None:
        marked = (self.producers.remove_and_mark_for_deletion(segment.base_offset) for segment in segments)
        self._delete_files_later("delete-producer-snapshot", [path for path in marked if path is not None])

    def replace_segments(self, new_segments: list[LogSegment], old_segments: list[LogSegment]) -> None:
        """The cleaner's swap. `new_segments` are flushed .cleaned files. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self.lock, self._io("replacing segments"):
            self._check_open()
            self._delete_snapshots_of(self._swap_segments(new_segments, old_segments))

    # -- truncation

    def truncate_to(self, offset: int) -> bool:
        """Drop everything at or behind `offset`; True if there was something. `KafkaError` KAFKA_STORAGE_ERROR."""
        if offset < 0:
            raise ValueError(f"Cannot truncate partition {self.topic_partition} to a negative offset ({offset}).")
        with self.lock, self._io(f"truncating to offset {offset}"):
            self._check_open()
            if offset >= self.log_end_offset:
                # A leader's epoch may have been noted here without any record of it, and the next leader knows nothing of it.
                self.epochs.truncate_from_end(self.log_end_offset)
                return False
            logger.info("[%s] Truncating to offset %d", self.name, offset)
            if self.segments.first.base_offset > offset:
                self.truncate_fully_and_start_at(offset)
                return True
            self._delete_snapshots_of(self._truncate_segments_to(offset))
            self.epochs.truncate_from_end(offset)
            self.log_start_offset = min(offset, self.log_start_offset)
            self._rebuild_producers(offset)
            self._high_watermark_follows_end()
            self._update_first_unstable_offset()
            return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drop everything and go on at `offset`. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self.lock, self._io("truncating the entire log"):
            self._check_open()
            self._truncate_segments_fully(offset)
            self.epochs.clear_and_flush()
            self.producers.truncate_fully_and_start_at(offset)
            self.log_start_offset = offset if log_start_offset is None else log_start_offset
            self._rebuild_producers(offset)
            self._set_high_watermark(self.log_end_offset_metadata)
            self._update_first_unstable_offset()

    # -- topic id

    @property
    def topic_id(self) -> bytes | None:
        return self._topic_id

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Tie the log to one life of its topic. `KafkaError` INCONSISTENT_TOPIC_ID if it is tied to another."""
        if self._topic_id is None:
            file = PartitionMetadataFile(self.directory)
            with self._io("writing partition.metadata"):
                file.write(topic_id, sync=False)
            self._topic_id = topic_id
            self.scheduler.schedule_in_thread("flush-metadata-file", lambda: self._sync_metadata_file(file.path))
        elif self._topic_id != topic_id:
            raise KafkaError(
                Errors.INCONSISTENT_TOPIC_ID,
                f"Tried to assign topic ID {to_string(topic_id)} to log for topic partition {self.topic_partition}, but log "
                f"already contained topic ID {to_string(self._topic_id)}",
            )

    def _sync_metadata_file(self, path: str) -> None:
        with self._io("flushing partition.metadata"):
            fsync_file(path)
            fsync_dir(self.directory)

    def _load_topic_id(self, topic_id: bytes | None) -> None:
        self._topic_id = PartitionMetadataFile(self.directory).read()
        if topic_id is not None:
            self.assign_topic_id(topic_id)

    # -- end of life

    def rename_dir(self, name: str) -> None:
        """Give the directory another name. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self.lock, self._io(f"renaming the directory to {name}"):
            self._rename_directory(name)
            self.producers.update_directory(self.directory)
            self.epochs.move_to(LeaderEpochCheckpointFile(self.directory))

    def close(self) -> None:
        """Write a producer snapshot at the end, trim the indexes, let go of the files. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self.lock, self._io("closing"):
            self._check_open()
            self.producers.take_snapshot()
            self._close_segments()

    def delete(self) -> None:
        """Remove the directory with everything in it at once; blocks on the disk. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self.lock, self._io("deleting the log"):
            self.epochs.clear()
            self.close_handlers()
            self._delete_directory()

    def __repr__(self) -> str:
        topic_id = f"topicId={to_string(self._topic_id)}, " if self._topic_id is not None else ""
        return (
            f"Log(dir={self.directory}, {topic_id}topic={self.topic_partition.topic}, "
            f"partition={self.topic_partition.partition}, highWatermark={self.high_watermark}, "
            f"lastStableOffset={self.last_stable_offset}, logStartOffset={self.log_start_offset}, "
            f"logEndOffset={self.log_end_offset})"
        )
