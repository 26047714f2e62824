"""The log of one partition (Kafka's `UnifiedLog`): reads, look-ups, retention, truncation, the end of its life.

Below it, one class a concern: `LocalLog` the segments, `BoundedLog` the offsets that bound it, `AppendableLog` the appends.
The two hot paths run through `append_as_leader` and `read`, which reach the page cache only and run on the reactor.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import to_string
from kafkapy.log import log_retention, timestamp_lookup
from kafkapy.log.files.checkpoints import LeaderEpochCheckpointFile, PartitionMetadataFile
from kafkapy.log.files.log_files import fsync_dir, fsync_file
from kafkapy.log.files.sync_queue import SyncQueue
from kafkapy.log.leader_epoch_cache import UNDEFINED_EPOCH_OFFSET, LeaderEpochCache
from kafkapy.log.log_append import AppendableLog
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import (
    AppendOrigin,
    FetchDataInfo,
    FetchIsolation,
    LogAppendInfo,
    LogOffsetMetadata,
    LogOffsetSnapshot,
    TimestampAndOffset,
)
from kafkapy.log.producers.producer_state import ProducerStateEntry
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.producers.producer_state_rebuild import rebuild_producer_state
from kafkapy.log.segments.local_log import DirFailureHandler
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.segments.log_segments import LogSegments
from kafkapy.protocol.errors import Errors, KafkaError

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


class Log(AppendableLog):
    """A partition's log as its replica uses it.

    Invariants: those of `LocalLog` (files), `BoundedLog` (offsets) and `AppendableLog`. A method that changes the log holds its
    lock, so it may be called from any thread; an I/O error takes the dir offline and is raised as KAFKA_STORAGE_ERROR.
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
        syncs: SyncQueue | None = None,
    ) -> None:
        """Use `log_loader.load_log`."""
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
        self._syncs = syncs or SyncQueue(scheduler)
        self.truncations = 0
        """How often records at the end were dropped: whoever copies the log compares."""
        self._topic_id: bytes | None = None
        self._load_topic_id(topic_id)

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
            return self._read(start_offset, max_length, isolation, min_one_message)
        except OSError:
            # Not `_read_files` at once: a closure less on the fetch path.
            return self._read_files("reading", lambda: self._read(start_offset, max_length, isolation, min_one_message))

    def _read(
        self, start_offset: int, max_length: int, isolation: FetchIsolation, min_one_message: bool
    ) -> FetchDataInfo:
        end = self._end_offset_metadata(isolation)
        info, segment = self._read_up_to(start_offset, max_length, min_one_message, end)
        if isolation is FetchIsolation.TXN_COMMITTED:
            info.aborted_transactions = self._collect_aborted(start_offset, info, segment)
        return info

    # -- epochs and times

    @property
    def latest_epoch(self) -> int | None:
        """The epoch of the last leader that this log knows."""
        return self.epochs.latest_epoch

    def maybe_assign_epoch_start_offset(self, leader_epoch: int, start_offset: int) -> None:
        """A leader of this epoch begins here. The file is written with the first batch, or a moment later."""
        if self.epochs.announce(leader_epoch, start_offset):
            self._syncs.add(self._flush_epochs)

    def _flush_epochs(self) -> None:
        with self._io("flushing the leader epoch checkpoint"):
            self._sync_epochs()

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int] | None:
        """(largest epoch <= the requested one, its end offset); None if the requested one is not known."""
        epoch, offset = self.epochs.end_offset_for(leader_epoch, self.log_end_offset)
        return None if offset == UNDEFINED_EPOCH_OFFSET else (epoch, offset)

    def fetch_offset_by_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """ListOffsets from v1 on: the first record whose timestamp is >= `timestamp`; None if there is none.

        -1 log end, -2 and -4 log start, -3 the record with the largest timestamp, -5 nothing tiered. `KafkaError`
        KAFKA_STORAGE_ERROR, UNSUPPORTED_FOR_MESSAGE_FORMAT.
        """
        return self._read_files(
            "looking up a timestamp", lambda: timestamp_lookup.fetch_offset_by_timestamp(self, timestamp)
        )

    def legacy_fetch_offsets_before(self, timestamp: int, max_num_offsets: int) -> list[int]:
        """ListOffsets v0: base offsets of the segments last modified by `timestamp`, newest first."""
        return self._read_files(
            "looking up offsets",
            lambda: timestamp_lookup.legacy_fetch_offsets_before(self, timestamp, max_num_offsets),
        )

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
            self.producers,
            self.segments,
            self.log_start_offset,
            up_to,
            self.time.milliseconds(),
            False,
            self.config.record_version,
        )

    # -- retention

    def delete_old_segments(self) -> int:
        """Delete whole segments that are too old, too many, or below the log start; how many. `KafkaError`."""
        deleted = 0
        with self._io("deleting old segments"), self.lock:
            self._check_open()
            for breach in log_retention.breaches(self.config):
                deletable = breach.find(self)
                for segment in deletable:
                    logger.info("[%s] Deleting segment %s due to %s", self.name, segment, breach.reason)
                if deletable:
                    self._delete_oldest(deletable)
                deleted += len(deletable)
        return deleted

    def _delete_oldest(self, deletable: list[LogSegment]) -> None:
        if len(deletable) == len(self.segments):
            self._roll(self.log_end_offset)  # there must always be one
        first_kept = self.segments.higher(deletable[-1].base_offset)
        assert first_kept is not None
        self.maybe_increment_log_start_offset(first_kept.base_offset, "segment deletion")
        self.remove_and_delete_segments(deletable)
        self._delete_snapshots_of(deletable)

    def _delete_snapshots_of(self, segments: Iterable[LogSegment]) -> None:
        marked = (self.producers.remove_and_mark_for_deletion(segment.base_offset) for segment in segments)
        self._delete_files_later("delete-producer-snapshot", [path for path in marked if path is not None])

    def replace_segments(self, new_segments: list[LogSegment], old_segments: list[LogSegment]) -> None:
        """The cleaner's swap. `new_segments` are flushed .cleaned files. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io("replacing segments"), self.lock:
            self._check_open()
            self._delete_snapshots_of(self._swap_segments(new_segments, old_segments))

    # -- truncation

    def truncate_to(self, offset: int) -> bool:
        """Drop everything at or behind `offset`; True if there was something. `KafkaError` KAFKA_STORAGE_ERROR."""
        if offset < 0:
            raise ValueError(f"Cannot truncate partition {self.topic_partition} to a negative offset ({offset}).")
        with self._io(f"truncating to offset {offset}"), self.lock:
            self._check_open()
            if offset >= self.log_end_offset:
                # A leader's epoch may have been noted here without any record of it, and the next leader knows nothing of it.
                self.epochs.truncate_from_end(self.log_end_offset)
                return False
            logger.debug("[%s] Truncating to offset %d", self.name, offset)  # who asks says why
            self.truncations += 1
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
        with self._io("truncating the entire log"), self.lock:
            self._check_open()
            self.truncations += 1
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
            with self._io("writing partition.metadata"), self.lock:
                PartitionMetadataFile(self.directory).write(topic_id, sync=False)
            self._topic_id = topic_id
            self._syncs.add(self._sync_metadata_file)
        elif self._topic_id != topic_id:
            raise KafkaError(
                Errors.INCONSISTENT_TOPIC_ID,
                f"Tried to assign topic ID {to_string(topic_id)} to log for topic partition {self.topic_partition}, but log "
                f"already contained topic ID {to_string(self._topic_id)}",
            )

    def _sync_metadata_file(self) -> None:
        with self._io("flushing partition.metadata"):
            fsync_file(PartitionMetadataFile(self.directory).path)
            fsync_dir(self.directory)

    def _load_topic_id(self, topic_id: bytes | None) -> None:
        self._topic_id = PartitionMetadataFile(self.directory).read()
        if topic_id is not None:
            self.assign_topic_id(topic_id)

    # -- end of life

    def rename_dir(self, name: str, sync: bool = True) -> None:
        """Give the directory another name. Without `sync` the caller has the log dir synced. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io(f"renaming the directory to {name}"), self.lock:
            self._rename_directory(name, sync)
            self.producers.update_directory(self.directory)
            self.epochs.move_to(LeaderEpochCheckpointFile(self.directory))

    def close(self) -> None:
        """Write a producer snapshot at the end, trim the indexes, let go of the files. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io("closing"), self.lock:
            self._check_open()
            self.producers.take_final_snapshot()
            self._close_segments()

    def delete(self) -> None:
        """Remove the directory with everything in it at once; blocks on the disk. `KafkaError` KAFKA_STORAGE_ERROR."""
        with self._io("deleting the log"), self.lock:
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
