"""The log of one partition (Kafka's `UnifiedLog`): composes its parts; reads, look-ups, closing.

The two hot paths are `append_as_leader` and `read`. They access only the page cache and run on the reactor.
"""

from __future__ import annotations

import logging

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.uuid import to_string
from kafkapy.log import timestamp_lookup
from kafkapy.log.files.checkpoints import LeaderEpochCheckpointFile, PartitionMetadataFile
from kafkapy.log.files.log_files import fsync_dir, fsync_file
from kafkapy.log.files.sync_queue import SyncQueue
from kafkapy.log.leader_epoch_cache import UNDEFINED_EPOCH_OFFSET
from kafkapy.log.loaded_log import LoadedLog
from kafkapy.log.local_log import DirFailureHandler, LocalLog
from kafkapy.log.log_appender import LogAppender
from kafkapy.log.log_bounds import LogBounds
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_flusher import LogFlusher
from kafkapy.log.log_trimmer import LogTrimmer
from kafkapy.log.log_types import (
    AppendOrigin,
    FetchDataInfo,
    FetchIsolation,
    LogAppendInfo,
    LogOffsetMetadata,
    TimestampAndOffset,
)
from kafkapy.log.log_validator import LogValidator
from kafkapy.log.producers.producer_state import ProducerStateEntry
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.validation_result import ValidationResult
from kafkapy.protocol.errors import Errors, KafkaError

__all__ = [
    "AppendOrigin",
    "FetchDataInfo",
    "FetchIsolation",
    "Log",
    "LogAppendInfo",
    "LogOffsetMetadata",
    "TimestampAndOffset",
]

logger = logging.getLogger("kafkapy.log.Log")


class Log:
    """The log of a replica, composed of the files (`LocalLog`), the offsets that bound it (`LogBounds`), appends
    (`LogAppender`), deletion and truncation (`LogTrimmer`), flushes (`LogFlusher`), epochs and producers.

    Invariants: those of the parts; `epochs` has the epoch of every batch, `producers` the state up to the log end. Any
    method may be called from any thread: changes take the log's lock (see `LocalLog`). An I/O error takes the dir
    offline and is raised as KAFKA_STORAGE_ERROR. Delegating methods are documented in the parts.
    """

    def __init__(
        self,
        loaded: LoadedLog,
        scheduler: Scheduler,
        time: Time,
        on_dir_failure: DirFailureHandler,
        *,
        topic_id: bytes | None = None,
        syncs: SyncQueue | None = None,
    ) -> None:
        """Use `log_loader.load_log`."""
        self.topic_partition = loaded.topic_partition
        self.segments = loaded.segments
        self.epochs = loaded.epochs
        self.producers = loaded.producers
        self._local = local = LocalLog(loaded, scheduler, time, on_dir_failure)
        self._bounds = LogBounds(local, loaded.log_start_offset, loaded.producers)
        self._flusher = LogFlusher(local, loaded.epochs)
        self._appender = LogAppender(local, self._bounds, loaded.epochs, loaded.producers, self._flusher)
        self._syncs = syncs or SyncQueue(scheduler)
        self._trimmer = LogTrimmer(local, self._bounds, self._appender, loaded.epochs, loaded.producers)
        self.topic_id = loaded.topic_id
        self._metadata_unsynced = False
        if topic_id is not None:
            self.assign_topic_id(topic_id)

    # -- properties

    @property
    def directory(self) -> str:
        return self._local.directory

    @property
    def parent_dir(self) -> str:
        return self._local.parent_dir

    @property
    def name(self) -> str:
        return self._local.name

    @property
    def config(self) -> LogConfig:
        return self._local.config

    @property
    def size(self) -> int:
        """Bytes of all segments' .log files."""
        return self.segments.size_in_bytes

    @property
    def log_segments(self) -> list[LogSegment]:
        return self.segments.values()

    @property
    def active_segment(self) -> LogSegment:
        return self.segments.active

    def non_active_segments_from(self, offset: int) -> list[LogSegment]:
        """Return the segments from the one that contains `offset` on, without the active one (for the cleaner)."""
        active = self.segments.active
        return [segment for segment in self.segments.from_offset(offset) if segment.base_offset < active.base_offset]

    def update_config(self, config: LogConfig) -> LogConfig:
        """Set a new config, and return the old one. `KafkaError` KAFKA_STORAGE_ERROR."""
        local = self._local
        with local.io("changing the message format"), local.lock:
            self._appender.update_config(config)
            old = local.update_config(config)
            if config.record_version != old.record_version:
                logger.info(
                    "[%s] The message format changes from v%d to v%d",
                    *(self.name, old.record_version, config.record_version),
                )
                self.epochs.set_enabled(config.record_version >= 2)
            return old

    def try_update_config(self, config: LogConfig) -> bool:
        """Set a new config unless another thread holds the log's lock: then return False."""
        lock = self._local.lock
        if not lock.acquire(blocking=False):
            return False
        try:
            self.update_config(config)
        finally:
            lock.release()
        return True

    # -- offsets

    @property
    def log_start_offset(self) -> int:
        return self._bounds.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        return self._bounds.last_stable_offset

    @property
    def high_watermark(self) -> int:
        return self._bounds.high_watermark

    @property
    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark; its position may be unknown (see `end_offset_metadata`)."""
        return self._bounds.high_watermark_metadata

    @property
    def log_end_offset(self) -> int:
        return self._local.log_end_offset

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        return self._local.log_end_offset_metadata

    def end_offset_metadata(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Return the end of the range that a reader may see, with its position. `KafkaError` OFFSET_OUT_OF_RANGE if it
        has none.
        """
        try:
            return self._bounds.end_offset_metadata(isolation)
        except OSError:
            return self._local.read_files("reading offsets", lambda: self._bounds.end_offset_metadata(isolation))

    def maybe_increment_high_watermark(self, new: LogOffsetMetadata) -> LogOffsetMetadata | None:
        return self._bounds.maybe_increment_high_watermark(new)

    def update_high_watermark(self, offset: int) -> int:
        return self._bounds.update_high_watermark(offset)

    def maybe_update_high_watermark(self, offset: int) -> int | None:
        return self._bounds.maybe_update_high_watermark(offset)

    # -- appends

    def append_as_leader(
        self,
        records: bytes | bytearray | memoryview,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = 11,
        non_blocking: bool = False,
    ) -> LogAppendInfo:
        return self._appender.append_as_leader(records, leader_epoch, origin, request_version, non_blocking)

    def validate(
        self, records: bytes | bytearray | memoryview, request_version: int
    ) -> tuple[LogValidator, ValidationResult]:
        return self._appender.validate(records, request_version)

    def is_full_for(self, size: int) -> bool:
        return self._local.is_full_for(size)

    def append_validated(self, validator: LogValidator, checked: ValidationResult, leader_epoch: int) -> LogAppendInfo:
        return self._appender.append_validated(validator, checked, leader_epoch)

    def fence(self, leader_epoch: int) -> None:
        self._appender.fence(leader_epoch)

    def append_as_follower(
        self, records: bytes | bytearray | memoryview, leader_epoch: int | None = None
    ) -> LogAppendInfo:
        return self._appender.append_as_follower(records, leader_epoch)

    def roll(self) -> LogSegment:
        """Create a new active segment at the log end. `KafkaError` KAFKA_STORAGE_ERROR."""
        local = self._local
        with local.io("rolling a segment"), local.lock:
            local.check_open()
            return self._appender.roll(local.log_end_offset)

    # -- flushes

    @property
    def recovery_point(self) -> int:
        """Everything below it is on the disk, not only in the page cache."""
        return self._local.recovery_point

    @property
    def last_flush_ms(self) -> int:
        return self._local.last_flush_ms

    def flush(self, force_active_segment: bool = False) -> None:
        """Fsync everything; blocks on the disk. `force_active_segment`: even an empty active segment (at shutdown)."""
        self._flusher.flush(self._local.log_end_offset, force_active_segment)

    # -- reads

    def read(
        self, start_offset: int, max_length: int, isolation: FetchIsolation, min_one_message: bool
    ) -> FetchDataInfo:
        """Read at most `max_length` bytes of batches, starting with the batch that contains `start_offset`, up to the
        limit of `isolation`.

        The last batch may be truncated. With `min_one_message` the first batch is complete even if it is larger.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE (below the log start or above the log end), KAFKA_STORAGE_ERROR.
            BlockingIOError: the position of the offset is not cached, and this thread may not wait for disks
                (`page_cache.blocking_reads`).
        """
        if start_offset < self._bounds.log_start_offset:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {start_offset} for partition {self.topic_partition}, but we only have log "
                f"segments starting from offset: {self.log_start_offset}.",
            )
        try:
            return self._read(start_offset, max_length, isolation, min_one_message)
        except OSError:
            # Only after an error, to save a closure on the fetch path.
            return self._local.read_files(
                "reading", lambda: self._read(start_offset, max_length, isolation, min_one_message)
            )

    def _read(
        self, start_offset: int, max_length: int, isolation: FetchIsolation, min_one_message: bool
    ) -> FetchDataInfo:
        local = self._local
        end = self._bounds.end_offset_metadata(isolation)
        info, segment = local.read_up_to(start_offset, max_length, min_one_message, end)
        if isolation is FetchIsolation.TXN_COMMITTED:
            info.aborted_transactions = local.collect_aborted(start_offset, info, segment)
        return info

    # -- epochs and timestamps

    @property
    def latest_epoch(self) -> int | None:
        """The latest leader epoch of this log."""
        return self.epochs.latest_epoch

    def maybe_assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """Record the start of a leader epoch. The file is written with the first batch, or by the next delayed sync."""
        if self.epochs.announce(leader_epoch, start_offset):
            self._syncs.add(self._sync_small_files)

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int] | None:
        """Return (largest epoch <= the requested one, its end offset); None if the requested one is not known."""
        epoch, offset = self.epochs.end_offset_for(leader_epoch, self.log_end_offset)
        return None if offset == UNDEFINED_EPOCH_OFFSET else (epoch, offset)

    def fetch_offset_by_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """Return the first record whose timestamp is >= `timestamp` (ListOffsets from v1 on); None if there is none.

        Special timestamps: -1 log end, -2 and -4 log start, -3 the record with the largest timestamp, -5 tiered data,
        of which there is none.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, UNSUPPORTED_FOR_MESSAGE_FORMAT.
        """
        return self._local.read_files(
            "looking up a timestamp",
            lambda: timestamp_lookup.fetch_offset_by_timestamp(
                self._local, self.log_start_offset, self.epochs, timestamp
            ),
        )

    def legacy_fetch_offsets_before(self, timestamp: int, max_num_offsets: int) -> list[int]:
        """Return base offsets of the segments last modified by `timestamp`, newest first (ListOffsets v0)."""
        return self._local.read_files(
            "looking up offsets",
            lambda: timestamp_lookup.legacy_fetch_offsets_before(
                self._local, self.log_start_offset, timestamp, max_num_offsets
            ),
        )

    # -- producers

    def active_producers(self) -> list[ProducerStateEntry]:
        """Return the producers for DescribeProducers. It takes no lock, because the copy is atomic."""
        return list(self.producers.producers.values())

    def remove_expired_producers(self, now_ms: int) -> None:
        with self._local.lock:
            self.producers.remove_expired_producers(now_ms)

    # -- deletion and truncation

    @property
    def truncations(self) -> int:
        """How often records at the end were removed. Copies of the log compare it."""
        return self._trimmer.truncations

    def maybe_increment_log_start_offset(self, offset: int, reason: str = "client delete records request") -> bool:
        return self._trimmer.maybe_increment_log_start_offset(offset, reason)

    def delete_old_segments(self) -> int:
        return self._trimmer.delete_old_segments()

    def replace_segments(self, new_segments: list[LogSegment], old_segments: list[LogSegment]) -> None:
        self._trimmer.replace_segments(new_segments, old_segments)

    def truncate_to(self, offset: int) -> bool:
        return self._trimmer.truncate_to(offset)

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        self._trimmer.truncate_fully_and_start_at(offset, log_start_offset)

    # -- topic id

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Set the log's topic id. `KafkaError` INCONSISTENT_TOPIC_ID if it has another one."""
        if self.topic_id is None:
            with self._local.io("writing partition.metadata"), self._local.lock:
                PartitionMetadataFile(self.directory).write(topic_id, sync=False)
            self.topic_id = topic_id
            self._metadata_unsynced = True
            self._syncs.add(self._sync_small_files)
        elif self.topic_id != topic_id:
            raise KafkaError(
                Errors.INCONSISTENT_TOPIC_ID,
                f"Tried to assign topic ID {to_string(topic_id)} to log for topic partition {self.topic_partition}, but log "
                f"already contained topic ID {to_string(self.topic_id)}",
            )

    def _sync_small_files(self) -> None:
        """Sync the topic id and the epochs. A new log has both, and its directory is synced once."""
        with self._local.io("flushing partition.metadata and the leader epoch checkpoint"):
            unsynced, self._metadata_unsynced = self._metadata_unsynced, False
            if unsynced:
                fsync_file(PartitionMetadataFile(self.directory).path)
            if not self._flusher.sync_epochs() and unsynced:
                fsync_dir(self.directory)

    # -- closing and deletion

    def rename_dir(self, name: str, sync: bool = True) -> None:
        """Rename the directory. Without `sync` the caller syncs the log dir. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._local.io(f"renaming the directory to {name}"), self._local.lock:
            self._local.rename(name, sync)
            self.producers.update_directory(self.directory)
            self.epochs.move_to(LeaderEpochCheckpointFile(self.directory))

    def close_handlers(self) -> None:
        """Close all files without disk access, because the dir is offline."""
        self._local.close_handlers()

    def close(self, sync: bool = True) -> None:
        """Write a producer snapshot at the end, trim the indexes, close the files. `KafkaError` KAFKA_STORAGE_ERROR.

        Without `sync` the result is not durable: the caller syncs the file system, then calls `file_system_synced`.
        """
        with self._local.io("closing"), self._local.lock:
            self._local.check_open()
            self.epochs.write_out()
            self.producers.take_final_snapshot(sync)
            self._local.close()

    def file_system_synced(self) -> None:
        """Record that everything written before closing is on the disk."""
        self._local.mark_flushed(self._local.log_end_offset)

    def delete(self) -> None:
        """Delete the directory recursively without delay; blocks on the disk. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._local.io("deleting the log"), self._local.lock:
            self.epochs.clear()
            self._local.close_handlers()
            self._local.delete()

    def __repr__(self) -> str:
        topic_id = f"topicId={to_string(self.topic_id)}, " if self.topic_id is not None else ""
        return (
            f"Log(dir={self.directory}, {topic_id}topic={self.topic_partition.topic}, "
            f"partition={self.topic_partition.partition}, highWatermark={self.high_watermark}, "
            f"lastStableOffset={self.last_stable_offset}, logStartOffset={self.log_start_offset}, "
            f"logEndOffset={self.log_end_offset})"
        )
