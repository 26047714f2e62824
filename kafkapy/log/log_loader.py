"""Opens a log directory and repairs it after a crash (Kafka's `LogLoader`)."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import (
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    PARTITION_METADATA_FILE,
    LeaderEpochCheckpointFile,
    MalformedFileError,
    PartitionMetadataFile,
)
from kafkapy.log.files.file_batches import Batch
from kafkapy.log.files.log_files import (
    CLEANED_FILE_SUFFIX,
    DELETE_DIR_SUFFIX,
    DELETED_FILE_SUFFIX,
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    is_segment_file,
    offset_from_file,
    parse_topic_partition_name,
    segment_file,
)
from kafkapy.log.files.sync_queue import SyncQueue
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.loaded_log import LoadedLog
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.log.log_config import DAY_MS, LogConfig
from kafkapy.log.log_types import CompletedTxn
from kafkapy.log.producers.producer_state_manager import ProducerStateManager, snapshot_offsets
from kafkapy.log.producers.producer_state_rebuild import rebuild_producer_state
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.segments.log_segments import LogSegments
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.LogLoader")

_TRANSIT_SUFFIXES = (DELETED_FILE_SUFFIX, CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX)
_INDEX_SUFFIXES = (INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)


def load_log(
    directory: str,
    config: LogConfig,
    scheduler: Scheduler,
    time: Time,
    on_dir_failure: DirFailureHandler = lambda directory, doing, error: None,
    *,
    log_start_offset: int = 0,
    recovery_point: int = 0,
    had_clean_shutdown: bool = True,
    topic_id: bytes | None = None,
    producer_id_expiration_ms: int = DAY_MS,
    on_segments_left: Callable[[int], object] = lambda count: None,
    syncs: SyncQueue | None = None,
) -> Log:
    """Open the log in `directory`, which is created if it does not exist.

    Args:
        directory: The path, `.../<topic>-<partition>`.
        config: The topic's config.
        scheduler: For background tasks.
        time: The clock.
        on_dir_failure: Called after an I/O error; default: nothing.
        log_start_offset: From the dir's checkpoint; default 0.
        recovery_point: From the dir's checkpoint; default 0.
        had_clean_shutdown: Whether the dir had a clean-shutdown marker; default True.
        topic_id: The topic's id; None (default) if it is not known.
        producer_id_expiration_ms: When idle producers expire, ms; default a day.
        on_segments_left: Called with the number of segments that still need recovery; default: nothing.
        syncs: The queue of small fsyncs that the logs of a broker share; None (default): one of its own.

    Raises:
        OSError: reading or writing failed.
        KafkaError: INCONSISTENT_TOPIC_ID.
    """
    loaded = _LogLoader(
        directory, _names_in_or_made(directory), config, time, log_start_offset, recovery_point, had_clean_shutdown,
        producer_id_expiration_ms, on_segments_left,
    ).load()  # fmt: skip
    return Log(loaded, scheduler, time, on_dir_failure, topic_id=topic_id, syncs=syncs)


def _names_in_or_made(directory: str) -> list[str]:
    try:
        return _file_names(directory)
    except FileNotFoundError:
        os.makedirs(directory, exist_ok=True)
        return []


def _file_names(directory: str) -> list[str]:
    """List the files. `ValueError` for a segment's file with a malformed name; `IsADirectoryError` for a directory in
    place of a file.
    """
    names = []
    with os.scandir(directory) as entries:
        for entry in entries:
            is_segment = is_segment_file(entry.name)
            if is_segment:
                offset_from_file(entry.name)
            if entry.is_file():
                names.append(entry.name)
            elif is_segment or entry.name in (LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA_FILE):
                raise IsADirectoryError(
                    errno.EISDIR, "A file is expected here, not a directory or a broken link", entry.path
                )
    return names


class _LogLoader:
    """One load of one directory, in Kafka's order.

    1. Delete .deleted and .cleaned files, complete or delete swaps.
    2. Open the segments, rebuilding missing indexes.
    3. After an unclean shutdown check every batch after the recovery point, cut at the first bad one, delete all later
       segments.
    4. Truncate the epochs to the log.
    5. Load the producers from the newest snapshot and replay the remaining batches.
    """

    def __init__(
        self,
        directory: str,
        names: list[str],
        config: LogConfig,
        time: Time,
        log_start_offset: int,
        recovery_point: int,
        had_clean_shutdown: bool,
        producer_id_expiration_ms: int,
        on_segments_left: Callable[[int], object],
    ) -> None:
        self.directory = directory
        self.names = names
        """The files in the directory, listed once, because thousands of logs are opened."""
        self.topic_partition: TopicPartition = parse_topic_partition_name(directory)
        self.config = config
        self.time = time
        self.log_start_checkpoint = log_start_offset
        self.recovery_point_checkpoint = recovery_point
        self.had_clean_shutdown = had_clean_shutdown
        self.producer_id_expiration_ms = producer_id_expiration_ms
        self.on_segments_left = on_segments_left
        self.segments = LogSegments()
        self._bases: list[int] = []
        self._unflushed_from = 0
        """The base offset of the first segment that a crash may have damaged; above all segments after a clean
        shutdown.
        """
        self._snapshots: set[int] = set()
        self._recovered: ProducerStateManager | None = None
        self.epochs = LeaderEpochCache(
            self.topic_partition,
            LeaderEpochCheckpointFile(directory),
            enabled=config.record_version >= 2,
            exists=LEADER_EPOCH_CHECKPOINT in names,
        )

    def load(self) -> LoadedLog:
        if self._finish_interrupted_swaps(self.names):
            self.names = _file_names(self.directory)
        self._snapshots = set(snapshot_offsets(self.names))
        self._open_segments(set(self.names))
        if self.directory.endswith(DELETE_DIR_SUFFIX):
            recovery_point = end = 0  # it only waits for its removal
            if not len(self.segments):
                self.segments.add(LogSegment.create(self.directory, 0, self.config, self.time))
        else:
            recovery_point, end = self._recover()
        self.epochs.truncate_from_end(end)
        start = max(self.log_start_checkpoint, self.segments.first.base_offset)
        # The truncation at the start may not have been durable before a crash.
        self.epochs.truncate_from_start(self.log_start_checkpoint)
        producers = self._load_producers(start, end)
        for segment in self.segments.values():
            segment.close_handlers()  # thousands of idle logs must not keep thousands of files open
        return LoadedLog(
            self.directory,
            self.topic_partition,
            self.config,
            self.segments,
            start,
            recovery_point,
            end,
            self.epochs,
            producers,
            PartitionMetadataFile(self.directory).read() if PARTITION_METADATA_FILE in self.names else None,
        )

    # -- 1. files in transit

    def _finish_interrupted_swaps(self, names: list[str]) -> bool:
        """Complete or delete swaps; return whether there were any temporary files."""
        if not any(name.endswith(_TRANSIT_SUFFIXES) for name in names):
            return False
        cleaned = [name for name in names if name.endswith(CLEANED_FILE_SUFFIX)]
        swaps = [name for name in names if name.endswith(SWAP_FILE_SUFFIX)]
        min_cleaned = min(map(offset_from_file, cleaned), default=None)
        # A split renames its output starting at the end, so .swap files at or after a .cleaned file are incomplete.
        invalid = [name for name in swaps if min_cleaned is not None and offset_from_file(name) >= min_cleaned]
        deleted = [name for name in names if name.endswith(DELETED_FILE_SUFFIX)]
        for name in [*deleted, *invalid, *cleaned]:
            logger.info("Deleting stray temporary file %s in %s", name, self.directory)
            self._unlink(name)
        removed = {*deleted, *invalid, *cleaned}
        valid = [name for name in swaps if name not in removed]
        if valid:
            self._complete_swap(valid, [name for name in names if name not in removed])
        return True

    def _complete_swap(self, swaps: list[str], names: list[str]) -> None:
        """Complete swaps, whose new segments are whole: delete the files they replace, then remove the suffix."""
        start, end = None, -1
        for name in swaps:
            if name.endswith(LOG_FILE_SUFFIX + SWAP_FILE_SUFFIX):
                base = offset_from_file(name)
                segment = LogSegment.open(self.directory, base, self.config, self.time, False, SWAP_FILE_SUFFIX)
                start = base if start is None else min(start, base)
                end = max(end, segment.read_next_offset())
        if start is not None:
            for name in names:
                if not name.endswith(SWAP_FILE_SUFFIX) and start <= _offset_or_minus_one(name) < end:
                    logger.info("Deleting %s in %s, which is compacted but not deleted yet", name, self.directory)
                    self._unlink(name)
        for name in swaps:
            logger.info("Recovering file %s in %s by renaming", name, self.directory)
            os.rename(f"{self.directory}/{name}", f"{self.directory}/{name.removesuffix(SWAP_FILE_SUFFIX)}")

    def _unlink(self, name: str) -> None:
        os.unlink(f"{self.directory}/{name}")

    # -- 2. segments

    def _open_segments(self, names: set[str]) -> None:
        self._bases = [offset_from_file(name) for name in names if name.endswith(LOG_FILE_SUFFIX)]
        if self.had_clean_shutdown:
            self._unflushed_from = MAX_LONG
        else:
            self._unflushed_from = max(
                (base for base in self._bases if base <= self.recovery_point_checkpoint), default=0
            )
        for name in sorted(names):
            if name.endswith(_INDEX_SUFFIXES) and name[: name.index(".")] + LOG_FILE_SUFFIX not in names:
                logger.warning(
                    "Found an orphaned index file %s in %s, with no corresponding log file.", name, self.directory
                )
                self._unlink(name)
            elif name.endswith(LOG_FILE_SUFFIX):
                self._open_segment(offset_from_file(name), names)

    def _open_segment(self, base_offset: int, names: set[str]) -> None:
        has_txn_index = f"{base_offset:020d}{TXN_INDEX_FILE_SUFFIX}" in names
        segment = LogSegment.open(self.directory, base_offset, self.config, self.time, has_txn_index)
        if base_offset < self._unflushed_from:  # otherwise it is recovered anyway
            self._ensure_indexes(segment, names)
        self.segments.add(segment)

    def _ensure_indexes(self, segment: LogSegment, names: set[str]) -> None:
        """Rebuild indexes that are missing, or are invalid without reading batches."""
        prefix = f"{segment.base_offset:020d}"
        try:
            if prefix + INDEX_FILE_SUFFIX not in names:
                raise FileNotFoundError(f"Could not find offset index file of {segment.log_path}")
            if prefix + TXN_INDEX_FILE_SUFFIX in names:
                segment.txn_index.sanity_check()
        except (FileNotFoundError, MalformedFileError) as error:
            logger.warning("%s: recovering segment and rebuilding index files...", error)
            self._recover_segment(segment, may_cut=False)
        else:
            if prefix + TIME_INDEX_FILE_SUFFIX not in names:
                open(segment_file(self.directory, segment.base_offset, TIME_INDEX_FILE_SUFFIX), "wb").close()

    # -- 3. recovery

    def _recover(self) -> tuple[int, int]:
        """Repair the log; return (recovery point, log end offset)."""
        self._check_flushed()
        if not self.had_clean_shutdown:
            self._recover_unflushed()
        end = self._log_end_unless_below_start()
        if end is None:
            end = self.log_start_checkpoint
            self.segments.add(LogSegment.create(self.directory, end, self.config, self.time))
            return min(self.recovery_point_checkpoint, end), end
        if self.had_clean_shutdown:
            return end, end
        # Not moved: recovered data is only in the page cache, and must be checked again after the next crash.
        return min(self.recovery_point_checkpoint, end), end

    def _recover_unflushed(self) -> None:
        unflushed = self.segments.from_offset(self.recovery_point_checkpoint)
        for number, segment in enumerate(unflushed):
            self.on_segments_left(len(unflushed) - number)
            logger.log(
                logging.INFO if len(unflushed) > 1 else logging.DEBUG,  # normal for thousands of logs
                "Recovering unflushed segment %d. %d/%d recovered for %s.",
                segment.base_offset, number, len(unflushed), self.topic_partition,
            )  # fmt: skip
            truncated = self._recover_segment(segment, is_last=number == len(unflushed) - 1)
            if truncated > 0:
                behind = unflushed[number + 1 :]
                logger.warning(
                    "Corruption found in segment %s of %s after an unclean stop: it is cut at offset %d, and what is behind "
                    "goes, %d bytes and %d later segments. Records of it that were replicated are copied from the leader again; "
                    "others only a backup has.",
                    segment.log_path, self.topic_partition, segment.read_next_offset(), truncated, len(behind),
                )  # fmt: skip
                self._delete_segments(behind)
                break
        self.on_segments_left(0)

    def _check_flushed(self) -> None:
        """Check the starts of the segments that a crash cannot have damaged, and the end of the last one. `KafkaError`."""
        segments = self.segments.values()
        for number, segment in enumerate(segments, 1):
            if segment.base_offset < self._unflushed_from:
                segment.check_first_batch(MAX_LONG if number == len(segments) else segments[number].base_offset)
        if segments and self.had_clean_shutdown:
            self._check_end(segments[-1])

    def _check_end(self, active: LogSegment) -> None:
        try:
            active.check_last_batches()
        except KafkaError as error:
            raise KafkaError(
                error.error,
                f"{error}, though the broker was stopped in order: something else has changed the file. The next start checks "
                "all of it, and cuts off the end from there on",
            ) from error

    def _recover_segment(self, segment: LogSegment, is_last: bool = False, may_cut: bool = True) -> int:
        """Check one segment; return the number of bytes that were cut off."""
        # Later snapshots are not used; one at the segment's end is overwritten or deleted.
        known = {offset for offset in self._snapshots if offset <= segment.base_offset}
        producers = ProducerStateManager(self.topic_partition, self.directory, self.producer_id_expiration_ms, known)
        now = self.time.milliseconds()
        rebuild_producer_state(
            producers,
            self.segments,
            self.log_start_checkpoint,
            segment.base_offset,
            now,
            False,
            self.config.record_version,
        )
        completed_before: list[CompletedTxn] = []

        def on_batch(batch: Batch) -> CompletedTxn | None:
            while completed_before:
                producers.complete_txn(completed_before.pop())
            epoch, latest = batch.partition_leader_epoch, self.epochs.latest_epoch
            if batch.magic >= 2 and epoch >= 0 and (latest is None or epoch > latest):
                self.epochs.assign(epoch, batch.base_offset)
            completed = producers.replay(batch)
            if completed is not None:
                completed_before.append(completed)
            return completed

        end_offset = min((base for base in self._bases if base > segment.base_offset), default=MAX_LONG)
        truncated = segment.recover(on_batch, producers.last_stable_offset, end_offset, may_cut)
        for completed in completed_before:
            producers.complete_txn(completed)
        if not is_last:  # no check starts after the last segment
            producers.take_snapshot(sync=False)
        self._snapshots = (self._snapshots - known) | producers.snapshots
        self._recovered = producers
        return truncated

    def _log_end_unless_below_start(self) -> int | None:
        """Return the log end; None if there is no segment, or all were deleted because they end below the log start."""
        if not len(self.segments):
            return None
        end = self.segments.active.read_next_offset()
        if self.had_clean_shutdown and end < self.recovery_point_checkpoint:
            logger.error(
                "The log of %s in %s ends at offset %d, and ended at %d when the broker was stopped in order: files are missing, "
                "or were cut, or replaced by older ones. Restore them from a backup, or move the directory away while the broker "
                "is down: the log is then copied from its leader.",
                self.topic_partition, self.directory, end, self.recovery_point_checkpoint,
            )  # fmt: skip
        if end >= self.log_start_checkpoint:
            return end
        if self.had_clean_shutdown and end > self.segments.first.base_offset:
            raise ValueError(
                f"It ends at offset {end}, and {LOG_START_OFFSET_CHECKPOINT} beside it says that it begins at "
                f"{self.log_start_checkpoint}: one of them is of another log, or older. Correct or remove the line there"
            )
        logger.warning(
            "Deleting all segments of %s because logEndOffset (%d) is smaller than logStartOffset %d. "
            "This could happen if segment files were deleted from the file system.",
            self.topic_partition, end, self.log_start_checkpoint,
        )  # fmt: skip
        self._delete_segments(self.segments.values())
        self.epochs.clear_and_flush()
        return None

    def _delete_segments(self, segments: list[LogSegment]) -> None:
        """Delete files without delay, because there are no readers yet; the snapshots are deleted as strays."""
        for segment in segments:
            logger.info("Deleting segment %s as part of log recovery", segment)
            self.segments.remove(segment.base_offset)
            segment.delete_if_exists()

    # -- 5. producers

    def _load_producers(self, log_start_offset: int, log_end_offset: int) -> ProducerStateManager:
        recovered = self._recovered
        if recovered is not None and recovered.map_end_offset == log_end_offset:
            recovered.complete_recovery(self._snapshots, log_start_offset, self.time.milliseconds())
            recovered.remove_stray_snapshots(segment.base_offset for segment in self.segments.values())
            return recovered
        producers = ProducerStateManager(
            self.topic_partition, self.directory, self.producer_id_expiration_ms, self._snapshots
        )
        producers.remove_stray_snapshots(segment.base_offset for segment in self.segments.values())
        rebuild_producer_state(
            producers,
            self.segments,
            log_start_offset,
            log_end_offset,
            self.time.milliseconds(),
            self.had_clean_shutdown,
            self.config.record_version,
        )
        return producers


def _offset_or_minus_one(name: str) -> int:
    try:
        return offset_from_file(name)
    except ValueError:
        return -1
