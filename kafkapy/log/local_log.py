"""The segments of one log on disk, and changes of their list (Kafka's `LocalLog`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.log.files.file_batches import Batch
from kafkapy.log.files.log_files import (
    CLEANED_FILE_SUFFIX,
    DELETED_FILE_SUFFIX,
    SWAP_FILE_SUFFIX,
    delete_directory,
    delete_if_exists,
    fsync_dir,
)
from kafkapy.log.loaded_log import LoadedLog
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import FetchDataInfo, LogOffsetMetadata
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.Log")

Result = TypeVar("Result")

DirFailureHandler = Callable[[str, str, OSError], object]
"""Called with (log dir, attempted operation, error) after an I/O error. Takes the dir offline."""


class LocalLog:
    """A directory of segments.

    Invariants: there is at least one segment, and the last one is active; `log_end_offset` is one more than the last
    offset in it (or its base offset); everything below `recovery_point` is on the disk, not only in the page cache.
    Segments are replaced and removed by renames, in an order that `LogLoader` can complete after a crash at any point.

    **The lock.** `lock` is that of the whole `Log`. Every change of a segment, the list of segments or another part of
    the log requires it, on any thread (reactor, background pool, cleaner). Files in the directory are only created and
    renamed under it, because the directory itself may be renamed. Readers don't take it (see `LogSegments`), nor does
    fsync, which ignores missing files. The methods of parts that `Log` calls take the lock themselves. `LocalLog` and
    methods that only other parts call require the caller to hold it, except `flush` and reads.
    """

    def __init__(self, loaded: LoadedLog, scheduler: Scheduler, time: Time, on_dir_failure: DirFailureHandler) -> None:
        self.directory = loaded.directory
        self.parent_dir = os.path.dirname(loaded.directory)
        self.topic_partition = loaded.topic_partition
        self.config = loaded.config
        self.segments = loaded.segments
        self.recovery_point = loaded.recovery_point
        self.scheduler = scheduler
        self.time = time
        self.lock = loaded.segments.lock
        self.closed = False
        """Whether files may no longer be accessed: the log is closed or deleted, or its dir is offline."""
        self.last_flush_ms = time.milliseconds()
        self._on_dir_failure = on_dir_failure
        self.log_end_offset = loaded.log_end_offset
        self.log_end_offset_metadata = LogOffsetMetadata(loaded.log_end_offset)
        self._update_log_end_offset(loaded.log_end_offset)

    # -- helpers

    @property
    def name(self) -> str:
        return os.path.basename(self.directory)

    def update_config(self, config: LogConfig) -> LogConfig:
        """Set a new config, and return the old one."""
        old, self.config = self.config, config
        for segment in self.segments.values():
            segment.config = config
        return old

    def check_open(self) -> None:
        if self.closed:
            raise KafkaError(
                Errors.KAFKA_STORAGE_ERROR,
                f"The log for partition {self.topic_partition} is closed or its dir is offline",
            )

    def storage_failure(self, doing: str, error: OSError) -> KafkaError:
        """Report an I/O error, and return the exception to raise."""
        message = f"Error while {doing} for {self.topic_partition} in dir {self.parent_dir}"
        self._on_dir_failure(self.parent_dir, message, error)
        return KafkaError(Errors.KAFKA_STORAGE_ERROR, f"{message}: {error}")

    @contextmanager
    def io(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self.storage_failure(doing, error) from error

    def read_files(self, doing: str, read: Callable[[], Result]) -> Result:
        """Return the result of `read`, which reads files of segments. Takes the lock only if a file is missing because
        it is being renamed or deleted.

        `BlockingIOError` if this thread may not wait for disks (`page_cache.blocking_reads`) and the data is not
        cached.
        """
        try:
            return read()
        except BlockingIOError:
            raise
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self.storage_failure(doing, error) from error
        with self.io(doing), self.lock:
            self.check_open()
            return read()

    def _update_log_end_offset(self, offset: int) -> None:
        active = self.segments.active
        self.log_end_offset = offset
        self.log_end_offset_metadata = LogOffsetMetadata(offset, active.base_offset, active.size)
        if self.recovery_point > offset:
            self.recovery_point = offset

    # -- reading

    def read_up_to(
        self, start_offset: int, max_length: int, min_one_message: bool, end: LogOffsetMetadata
    ) -> tuple[FetchDataInfo, LogSegment | None]:
        """Read data from `start_offset` on, below `end`; return it and its segment. `KafkaError` OFFSET_OUT_OF_RANGE;
        `OSError`.
        """
        log_end = self.log_end_offset_metadata
        segment = self.segments.floor(start_offset)
        if start_offset > log_end.message_offset or segment is None:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {start_offset} for partition {self.topic_partition}, but we only have log "
                f"segments upto {log_end.message_offset}.",
            )
        if start_offset == end.message_offset:
            return FetchDataInfo(end), None
        if start_offset > end.message_offset:
            return FetchDataInfo(self.position_of(start_offset)), None
        while segment is not None:
            base_offset = segment.base_offset
            if base_offset < end.segment_base_offset:
                max_position: int | None = segment.size
            elif base_offset == end.segment_base_offset:
                max_position = end.relative_position_in_segment
            else:
                max_position = None
            info = segment.read(start_offset, max_length, max_position, min_one_message)
            if info is not None:
                return info, segment
            segment = self.segments.higher(base_offset)
        # Compaction has removed all records from this offset on.
        return FetchDataInfo(log_end), None

    def position_of(self, offset: int) -> LogOffsetMetadata:
        """Return the position of an offset. `KafkaError` OFFSET_OUT_OF_RANGE if it is after the end or before the first
        segment.
        """
        info, _ = self.read_up_to(offset, 1, False, self.log_end_offset_metadata)
        return info.fetch_offset_metadata

    def collect_aborted(
        self, start_offset: int, info: FetchDataInfo, segment: LogSegment | None
    ) -> list[tuple[int, int]]:
        """Return (producer id, first offset) of the aborted transactions that may overlap the data that was read, or
        that could have been read with a larger limit.
        """
        if segment is None:
            return []
        upper_bound = -1
        aborted: list[tuple[int, int]] = []
        for later in self.segments.from_offset(segment.base_offset):
            if not later.txn_index.count:
                continue
            if upper_bound < 0:
                upper_bound = self._upper_bound(info, segment)
            found, complete = later.collect_aborted_txns(start_offset, upper_bound)
            aborted += [(txn.producer_id, txn.first_offset) for txn in found]
            if complete:
                break
        return aborted

    def _upper_bound(self, info: FetchDataInfo, segment: LogSegment) -> int:
        """Return an offset above all offsets that were read."""
        upper_bound = segment.offset_above(info.fetch_offset_metadata.relative_position_in_segment + len(info.records))
        if upper_bound is not None:
            return upper_bound
        higher = self.segments.higher(segment.base_offset)
        return higher.base_offset if higher is not None else self.log_end_offset

    # -- appends and truncation

    def append(
        self,
        segment: LogSegment,
        records: bytes | bytearray | memoryview,
        batches: Iterable[Batch],
        last_offset: int,
    ) -> None:
        """Write whole batches at the end of the active segment. Errors are those of `LogSegment.append`, raised before
        the end offset moves.
        """
        segment.append(records, batches)
        end = last_offset + 1
        self.log_end_offset = end
        self.log_end_offset_metadata = LogOffsetMetadata(end, segment.base_offset, segment.size)

    def is_full_for(self, size: int) -> bool:
        """Return whether the active segment has no room for this many bytes. Creating a new segment's files takes
        milliseconds if the file system is busy.
        """
        used = self.segments.active.size
        return 0 < used > self.config.segment_bytes - size

    def roll(self, expected_next_offset: int) -> LogSegment:
        """Create a new active segment at max(`expected_next_offset`, log end). Raises `OSError`."""
        new_offset = max(expected_next_offset, self.log_end_offset)
        active = self.segments.active
        if new_offset == active.base_offset and active.size == 0:
            # An index without room for a single entry (segment.index.bytes too small) is full from the start
            # (KAFKA-6388).
            logger.warning(
                "[%s] Trying to roll a new log segment at %d while it is active with size 0", self.name, new_offset
            )
            self._replace_active(new_offset)
        elif new_offset <= active.base_offset:
            raise ValueError(
                f"Trying to roll a new log segment for {self.name} at {new_offset}, but active is {active}"
            )
        else:
            active.on_become_inactive()
            self.segments.add(LogSegment.create(self.directory, new_offset, self.config, self.time))
        self._update_log_end_offset(self.log_end_offset)
        logger.info(
            "[Log partition=%s, dir=%s] Rolled new log segment at offset %d", self.name, self.parent_dir, new_offset
        )
        return self.segments.active

    def _replace_active(self, new_offset: int) -> None:
        """Replace the active segment by a new empty one, and delete it."""
        old = self.segments.active
        old.change_file_suffixes("", DELETED_FILE_SUFFIX)
        new = LogSegment.create(self.directory, new_offset, self.config, self.time)
        self.segments.replace([new], [old])
        self._delete_segment_files([old])

    def truncate_fully_and_start_at(self, new_offset: int) -> None:
        self.remove_and_delete_segments(self.segments.values()[:-1])
        self._replace_active(new_offset)
        self._update_log_end_offset(new_offset)

    def truncate_to(self, offset: int) -> list[LogSegment]:
        deletable = [segment for segment in self.segments.values() if segment.base_offset > offset]
        self.remove_and_delete_segments(deletable)
        self.segments.active.truncate_to(offset)
        self._update_log_end_offset(offset)
        return deletable

    # -- deletion and replacement

    def remove_and_delete_segments(self, segments: list[LogSegment]) -> None:
        """Remove segments from the list; their files are deleted after file.delete.delay.ms. Raises `OSError`."""
        if segments:
            self.segments.replace([], segments)
            self._delete_segment_files(segments)

    def _delete_segment_files(self, segments: list[LogSegment]) -> None:
        for segment in segments:
            if segment.suffix != DELETED_FILE_SUFFIX:
                segment.change_file_suffixes(segment.suffix, DELETED_FILE_SUFFIX)
            segment.close_handlers()
        self.delete_files_later("delete-file", [path for segment in segments for path in segment.paths()])

    def delete_files_later(self, name: str, paths: list[str]) -> None:
        def delete() -> None:
            with self.io("deleting files"):
                for path in paths:
                    delete_if_exists(f"{self.directory}/{os.path.basename(path)}")

        if paths:
            self.scheduler.schedule_in_thread(name, delete, self.config.file_delete_delay_ms)

    def replace_segments(self, new_segments: list[LogSegment], old_segments: list[LogSegment]) -> list[LogSegment]:
        """Replace `old_segments` by `new_segments` (flushed .cleaned files); return old segments whose base offset no
        longer exists.

        The order is crash-safe: .cleaned -> .swap, starting with the last segment; old files -> .deleted; then remove
        the .swap suffix.
        """
        new = sorted(new_segments, key=lambda segment: segment.base_offset)
        old = [segment for segment in old_segments if self.segments.get(segment.base_offset) is segment]
        for segment in reversed(new):
            if segment.suffix == CLEANED_FILE_SUFFIX:
                segment.change_file_suffixes(CLEANED_FILE_SUFFIX, SWAP_FILE_SUFFIX)
        self.segments.replace(new, old)
        self._delete_segment_files(old)
        for segment in new:
            segment.change_file_suffixes(SWAP_FILE_SUFFIX, "")
        fsync_dir(self.directory)
        bases = {segment.base_offset for segment in new}
        return [segment for segment in old if segment.base_offset not in bases]

    # -- durability

    def flush(self, up_to: int) -> None:
        """Fsync everything from the recovery point up to `up_to`. Raises `OSError`."""
        start = self.recovery_point
        if start > up_to:
            return
        with self.lock:
            self.check_open()
            segments = self.segments.between(start, up_to)
            for segment in segments:
                segment.write_out_indexes()
        for segment in segments:
            segment.flush()
        if any(segment.base_offset >= start for segment in segments):
            fsync_dir(self.directory)  # the directory entries of new files must be durable, too

    def mark_flushed(self, offset: int) -> None:
        if offset > self.recovery_point:
            self.recovery_point = offset
            self.last_flush_ms = self.time.milliseconds()

    # -- the directory

    def rename(self, name: str, sync: bool) -> None:
        """Rename the directory. Raises `OSError`."""
        renamed = f"{self.parent_dir}/{name}"
        os.rename(self.directory, renamed)
        self.directory = renamed
        for segment in self.segments.values():
            segment.update_directory(renamed)
        if sync:
            fsync_dir(self.parent_dir)

    def close_handlers(self) -> None:
        """Close all files without disk access, because the dir is offline."""
        with self.lock:
            self.closed = True
            for segment in self.segments.values():
                segment.close_handlers()

    def close(self) -> None:
        """Trim the indexes and close the files. Raises `OSError`."""
        for segment in self.segments.values():
            segment.close()
        self.closed = True

    def delete(self) -> None:
        """Delete the directory recursively. Raises `OSError`."""
        delete_directory(self.directory)
        self.segments.clear()
