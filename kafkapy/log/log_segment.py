"""One segment of a log: a .log file and its indexes (Kafka's `LogSegment`)."""

from __future__ import annotations

import errno
import io
import logging
import os
from collections.abc import Callable, Iterable, Sequence

from kafkapy.common.time import Time
from kafkapy.log.file_batches import Batch, BatchHeader, find_offset, headers, read_batch, whole_batches
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_files import (
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    delete_if_exists,
    fsync_file,
    segment_file,
)
from kafkapy.log.log_types import FetchDataInfo, LogOffsetMetadata, TimestampAndOffset
from kafkapy.log.offset_index import OffsetIndex
from kafkapy.log.producer_state import CompletedTxn
from kafkapy.log.time_index import NO_TIMESTAMP, TimeIndex
from kafkapy.log.transaction_index import AbortedTxn, TransactionIndex
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.file_records import FileRecords
from kafkapy.record.record_batch import TimestampType

logger = logging.getLogger("kafkapy.log.LogSegment")

MAX_LONG = (1 << 63) - 1
_RECENT_BATCHES = 64

LastStableOffset = Callable[[CompletedTxn], int]


class LogFile(io.FileIO):
    """The open .log file; closes itself when the last slice of it is gone."""

    def __del__(self) -> None:
        self.close()


class LogSegment:
    """Batches with offsets from `base_offset` on, up to the base offset of the next segment.

    Invariants: bytes `[0, size)` of the .log file are whole batches in rising order of offsets; a failed write is cut off
    again. The offset index and the time index point into those bytes (sparsely), the transaction index lists the markers of
    aborted transactions among them. Files open when they are first needed, and a slice given to a reader stays readable after
    the segment is deleted. What a crash leaves: a torn last batch, indexes behind the data; `recover` mends both.

    Only the active segment grows. Methods that change a segment are called under its log's lock.
    """

    __slots__ = (
        "_bytes_since_last_index_entry",
        "_created_ms",
        "_file",
        "_max_timestamp",
        "_offset_index",
        "_offset_of_max_timestamp",
        "_older_batches",
        "_recent_batches",
        "_roll_jitter_ms",
        "_rolling_based_timestamp",
        "_time_index",
        "_writable",
        "base_offset",
        "config",
        "directory",
        "size",
        "suffix",
        "time",
        "txn_index",
    )

    def __init__(
        self, directory: str, base_offset: int, config: LogConfig, time: Time, size: int, txn_index_exists: bool, suffix: str
    ) -> None:
        """Use `create` or `open`."""
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = suffix
        self.config = config
        self.time = time
        self.size = size
        self.txn_index = TransactionIndex(self._path(TXN_INDEX_FILE_SUFFIX), base_offset, txn_index_exists)
        self._file: LogFile | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None
        self._writable = False
        self._roll_jitter_ms = config.random_segment_jitter()
        self._created_ms = time.milliseconds()
        self._rolling_based_timestamp: int | None = None
        self._max_timestamp: int | None = None
        self._offset_of_max_timestamp = base_offset
        self._bytes_since_last_index_entry = 0
        # Base offset of the batches appended last -> position << 32 | size: readers at the end of the log need no index.
        self._recent_batches: dict[int, int] = {}
        self._older_batches: dict[int, int] = {}

    @classmethod
    def create(cls, directory: str, base_offset: int, config: LogConfig, time: Time, suffix: str = "") -> LogSegment:
        """A new, empty segment; files that are in the way are deleted. Raises `OSError`."""
        segment = cls(directory, base_offset, config, time, 0, False, suffix)
        for path in segment.paths():
            if delete_if_exists(path):
                logger.warning("Newly rolled segment file %s already exists; deleting it first", path)
        segment._file = LogFile(segment._path(LOG_FILE_SUFFIX), "w+")
        if config.preallocate:
            os.posix_fallocate(segment._file.fileno(), 0, config.init_file_size)
        segment._create_indexes()
        return segment

    @classmethod
    def open(
        cls, directory: str, base_offset: int, config: LogConfig, time: Time, txn_index_exists: bool, suffix: str = ""
    ) -> LogSegment:
        """The segment whose files are there. Raises `OSError`."""
        size = os.stat(segment_file(directory, base_offset, LOG_FILE_SUFFIX, suffix)).st_size
        return cls(directory, base_offset, config, time, size, txn_index_exists, suffix)

    # -- files

    def _path(self, file_suffix: str) -> str:
        return segment_file(self.directory, self.base_offset, file_suffix, self.suffix)

    @property
    def log_path(self) -> str:
        return self._path(LOG_FILE_SUFFIX)

    def paths(self) -> list[str]:
        """The four files of the segment, whether they exist or not."""
        suffixes = (LOG_FILE_SUFFIX, INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)
        return [self._path(file_suffix) for file_suffix in suffixes]

    @property
    def file(self) -> LogFile:
        file = self._file
        if file is None:
            file = self._file = LogFile(self._path(LOG_FILE_SUFFIX), "r+")
        return file

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._offset_index
        if index is None:
            index = OffsetIndex(self._path(INDEX_FILE_SUFFIX), self.base_offset, self.config.segment_index_bytes)
            index.open()
            self._offset_index = index
        return index

    @property
    def time_index(self) -> TimeIndex:
        index = self._time_index
        if index is None:
            index = TimeIndex(self._path(TIME_INDEX_FILE_SUFFIX), self.base_offset, self.config.segment_index_bytes)
            index.open()
            self._time_index = index
        return index

    def _create_indexes(self) -> None:
        """New, empty indexes, whatever was there."""
        max_size = self.config.segment_index_bytes
        offset_index = OffsetIndex(self._path(INDEX_FILE_SUFFIX), self.base_offset, max_size)
        time_index = TimeIndex(self._path(TIME_INDEX_FILE_SUFFIX), self.base_offset, max_size)
        offset_index.create()
        time_index.create()
        self._offset_index, self._time_index = offset_index, time_index
        self._max_timestamp, self._offset_of_max_timestamp = NO_TIMESTAMP, self.base_offset
        self._writable = True

    def become_writable(self) -> None:
        """Get the indexes ready for appends."""
        if not self._writable:
            self.offset_index.heat()
            self.time_index.heat()
            self._writable = True

    # -- the append path

    def should_roll(self, incoming_size: int, max_timestamp: int, max_offset: int, now_ms: int, config: LogConfig) -> bool:
        """Must a new segment begin before `incoming_size` bytes up to `max_offset` are appended?"""
        size = self.size
        if size > config.segment_bytes - incoming_size:
            return True
        if not self._writable:
            self.become_writable()
        if size and self.time_waited_for_roll(now_ms, max_timestamp) > config.max_segment_ms - self._roll_jitter_ms:
            return True
        offset_index, time_index = self._offset_index, self._time_index
        assert offset_index is not None and time_index is not None
        return (
            offset_index.entries >= offset_index.max_entries
            or time_index.entries >= time_index.max_entries - 1
            or not 0 <= max_offset - self.base_offset <= 0x7FFFFFFF
        )

    def append(self, records: bytes | bytearray | memoryview, batches: Iterable[Batch]) -> None:
        """Append whole batches; `batches` are views of the batches in `records`, in order.

        Raises `OSError` (the file is as before) or, if an offset does not fit the segment, `KafkaError`.
        """
        if not self._writable:
            self.become_writable()
        position = self.size
        fd = self.file.fileno()
        try:
            written = os.pwrite(fd, records, position)
        except OSError:
            self._undo_write(fd)
            raise
        if written != len(records):
            self._write_rest(fd, records, written)
        self.size = position + len(records)
        max_timestamp = self.max_timestamp_so_far
        for batch in batches:
            batch_timestamp = batch.max_timestamp
            last_offset = batch.last_offset
            size = batch.size_in_bytes
            if position == 0:
                self._rolling_based_timestamp = batch_timestamp
            if batch_timestamp > max_timestamp:
                self._max_timestamp = max_timestamp = batch_timestamp
                self._offset_of_max_timestamp = last_offset
            if self._bytes_since_last_index_entry > self.config.index_interval_bytes:
                self._add_index_entry(last_offset, position)
                self._bytes_since_last_index_entry = 0
            self._bytes_since_last_index_entry += size
            if batch.magic >= 2:
                self._recent_batches[batch.base_offset] = position << 32 | size
            position += size
        if len(self._recent_batches) > _RECENT_BATCHES:
            self._older_batches = self._recent_batches
            self._recent_batches = {}

    def _add_index_entry(self, offset: int, position: int) -> None:
        """Entries may be missing: an append of many batches can fill an index before the next one rolls the segment."""
        offset_index, time_index = self.offset_index, self.time_index
        if offset_index.entries < offset_index.max_entries and not time_index.is_full:
            offset_index.append(offset, position)
            time_index.maybe_append(self.max_timestamp_so_far, self._offset_of_max_timestamp)

    def _write_rest(self, fd: int, records: bytes | bytearray | memoryview, written: int) -> None:
        """The disk took only a part: go on until it has all or says why not."""
        try:
            while written < len(records):
                more = os.pwrite(fd, memoryview(records)[written:], self.size + written)
                if not more:
                    raise OSError(errno.ENOSPC, "The disk takes no more bytes", self.log_path)
                written += more
        except OSError:
            self._undo_write(fd)
            raise

    def _undo_write(self, fd: int) -> None:
        if not self.config.preallocate:
            os.ftruncate(fd, self.size)

    def update_txn_index(self, completed: CompletedTxn, last_stable_offset: int) -> None:
        """Note an aborted transaction. Raises `OSError`."""
        if completed.is_aborted:
            self.txn_index.append(
                AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset)
            )

    # -- the read path

    def translate_offset(self, offset: int) -> tuple[int, int] | None:
        """(position, size) of the first batch whose last offset is >= `offset`; None if there is none."""
        recent = self._recent_batches.get(offset) or self._older_batches.get(offset)
        if recent is not None:
            return recent >> 32, recent & 0xFFFFFFFF
        header = find_offset(self.file.fileno(), self.offset_index.lookup(offset)[1], self.size, offset)
        return (header.position, header.size) if header is not None else None

    def read(
        self, start_offset: int, max_size: int, max_position: int | None, min_one_message: bool = False
    ) -> FetchDataInfo | None:
        """At most `max_size` bytes from the batch that holds `start_offset`, nothing at or behind `max_position`.

        With `min_one_message` the first batch comes whole, however big. None if the segment ends before the offset; no bytes
        if `max_position` is None (not known).
        """
        found = self.translate_offset(start_offset)
        if found is None:
            return None
        position, size = found
        metadata = LogOffsetMetadata(start_offset, self.base_offset, position)
        limit = max(max_size, size) if min_one_message else max_size
        if limit == 0 or max_position is None:
            return FetchDataInfo(metadata)
        available = max_position - position
        return FetchDataInfo(metadata, FileRecords(self.file, position, min(available, limit)), limit < size)

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """See `TransactionIndex`."""
        return self.txn_index.collect_aborted_txns(fetch_offset, upper_bound_offset)

    def headers_from(self, position: int) -> Iterable[BatchHeader]:
        """The headers of the batches from a position on, to the end."""
        return headers(self.file.fileno(), position, self.size)

    def batches(self) -> Iterable[Batch]:
        """All batches, with their bytes."""
        return self.batches_between(0, self.size)

    def batches_between(self, position: int, end_position: int) -> Iterable[Batch]:
        """The whole batches between two positions, the first of which is the beginning of one."""
        return whole_batches(self.file.fileno(), position, end_position)

    def read_next_offset(self) -> int:
        """One more than the last offset in the segment; the base offset if it is empty."""
        last = None
        for last in headers(self.file.fileno(), self.offset_index.lookup(self.offset_index.last_offset)[1], self.size):
            pass
        return self.base_offset if last is None else last.last_offset + 1

    # -- times

    @property
    def max_timestamp_so_far(self) -> int:
        """The largest timestamp in the segment, ms; -1 if there is none."""
        timestamp = self._max_timestamp
        if timestamp is None:
            timestamp, self._offset_of_max_timestamp = self.time_index.last_entry
            self._max_timestamp = timestamp
        return timestamp

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of a record, or else when the file was last modified, ms."""
        timestamp = self.max_timestamp_so_far
        return timestamp if timestamp >= 0 else self.last_modified

    @property
    def last_modified(self) -> int:
        return os.stat(self.log_path).st_mtime_ns // 1_000_000

    def set_last_modified(self, ms: int) -> None:
        """Give the files another time: the cleaner's output is as old as what it replaces."""
        for path in self.paths()[:3]:
            os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))

    def time_waited_for_roll(self, now_ms: int, message_timestamp: int) -> int:
        """How old the segment is: by its first batch's timestamp against the incoming one, or else by the clock."""
        first = self._rolling_based_timestamp
        if first is None:
            first = self._load_first_batch_timestamp()
        return message_timestamp - first if first >= 0 else now_ms - self._created_ms

    @property
    def first_batch_timestamp(self) -> int:
        """The max timestamp of the first batch; the largest possible if there is none."""
        first = self._load_first_batch_timestamp()
        return first if first >= 0 else MAX_LONG

    def _load_first_batch_timestamp(self) -> int:
        if self._rolling_based_timestamp is None:
            header = next(iter(self.headers_from(0)), None)
            if header is None:
                return NO_TIMESTAMP
            self._rolling_based_timestamp = header.max_timestamp
        return self._rolling_based_timestamp

    def find_offset_by_timestamp(self, timestamp: int, starting_offset: int) -> TimestampAndOffset | None:
        """The first record at or behind `starting_offset` whose timestamp is >= `timestamp`."""
        _, offset = self.time_index.lookup(timestamp)
        _, position = self.offset_index.lookup(max(offset, starting_offset))
        fd = self.file.fileno()
        for header in headers(fd, position, self.size):
            if header.max_timestamp >= timestamp:
                batch = read_batch(fd, header)
                for record in batch.records():
                    if record.timestamp >= timestamp and record.offset >= starting_offset:
                        return TimestampAndOffset(record.timestamp, record.offset, _leader_epoch(batch))
        return None

    def find_max_timestamp(self) -> TimestampAndOffset | None:
        """The first record that has the largest timestamp of the segment."""
        max_timestamp = self.max_timestamp_so_far
        _, position = self.offset_index.lookup(self._offset_of_max_timestamp)
        fd = self.file.fileno()
        for header in headers(fd, position, self.size):
            if header.max_timestamp == max_timestamp and max_timestamp != NO_TIMESTAMP:
                batch = read_batch(fd, header)
                if batch.timestamp_type == TimestampType.LOG_APPEND_TIME:
                    return TimestampAndOffset(max_timestamp, batch.base_offset, _leader_epoch(batch))
                for record in batch.records():
                    if record.timestamp == max_timestamp:
                        return TimestampAndOffset(max_timestamp, record.offset, _leader_epoch(batch))
                return None
        return None

    # -- structure

    def truncate_to(self, offset: int) -> int:
        """Drop every batch that holds an offset >= `offset`; bytes that went. Raises `OSError`."""
        found = self.translate_offset(offset)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.txn_index.truncate_to(offset)
        self._writable = True
        removed = 0
        if found is not None:
            removed = self.size - found[0]
            os.ftruncate(self.file.fileno(), found[0])
            self.size = found[0]
        if self.size == 0:
            self._created_ms = self.time.milliseconds()
            self._rolling_based_timestamp = None
        self._bytes_since_last_index_entry = 0
        self._forget_recent_batches()
        if self.max_timestamp_so_far >= 0:
            self._read_largest_timestamp()
        return removed

    def _forget_recent_batches(self) -> None:
        self._recent_batches = {}
        self._older_batches = {}

    def _read_largest_timestamp(self) -> None:
        timestamp, offset = self.time_index.last_entry
        for header in self.headers_from(self.offset_index.lookup(offset)[1]):
            if header.max_timestamp > timestamp:
                timestamp, offset = header.max_timestamp, header.last_offset
        self._max_timestamp, self._offset_of_max_timestamp = timestamp, offset

    def on_become_inactive(self) -> None:
        """The log goes on in another segment: complete the time index and trim the files."""
        self.time_index.maybe_append(self.max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True)
        self._trim()
        self._forget_recent_batches()

    def _trim(self) -> None:
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self._writable = False
        if self.config.preallocate:
            os.ftruncate(self.file.fileno(), self.size)

    def recover(self, on_batch: Callable[[Batch], CompletedTxn | None], last_stable_offset: LastStableOffset) -> int:
        """Check every batch, rebuild the indexes, cut at the first bad byte; how many bytes went. Raises `OSError`.

        `on_batch` notes a batch's epoch and producer; a transaction that it reports as completed gets into the transaction
        index with the offset that `last_stable_offset` has for it.
        """
        self._create_indexes()
        self.txn_index.reset()
        self._rolling_based_timestamp = None
        self._forget_recent_batches()
        valid_bytes = last_index_entry = 0
        try:
            for batch in self.batches():
                batch.ensure_valid()
                last_offset = batch.last_offset
                self._ensure_offset_in_range(last_offset)
                if batch.max_timestamp > self.max_timestamp_so_far:
                    self._max_timestamp, self._offset_of_max_timestamp = batch.max_timestamp, last_offset
                if valid_bytes - last_index_entry > self.config.index_interval_bytes:
                    self._add_index_entry(last_offset, valid_bytes)
                    last_index_entry = valid_bytes
                valid_bytes += batch.size_in_bytes
                completed = on_batch(batch)
                if completed is not None:
                    self.update_txn_index(completed, last_stable_offset(completed))
        except KafkaError as error:
            if error.error not in (Errors.CORRUPT_MESSAGE, Errors.INVALID_RECORD):
                raise
            logger.warning(
                "Found invalid messages in log segment %s at byte offset %d: %s", self.log_path, valid_bytes, error
            )
        truncated = self.size - valid_bytes
        os.ftruncate(self.file.fileno(), valid_bytes)
        self.size = valid_bytes
        self.time_index.maybe_append(self.max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True)
        self._trim()
        return truncated

    def _ensure_offset_in_range(self, offset: int) -> None:
        if not 0 <= offset - self.base_offset <= 0x7FFFFFFF:
            raise KafkaError(
                Errors.UNKNOWN_SERVER_ERROR,
                f"Detected offset overflow at offset {offset} in segment {self}: it does not fit an index entry",
            )

    def write_out_indexes(self) -> None:
        """Bring the index files up to date, in the page cache; before `flush`, under the log's lock."""
        for index in (self._offset_index, self._time_index):
            if index is not None:
                index.write_out()

    def flush(self) -> None:
        """Make the files durable: blocks on the disk. Files that are gone meanwhile do not matter. Raises `OSError`."""
        for path in self.paths():
            fsync_file(path)

    def close(self) -> None:
        """Trim and close the files. Raises `OSError`."""
        if self._max_timestamp is not None:
            self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp, skip_full_check=True)
        if self._offset_index is not None or self._time_index is not None:
            self._trim()
        self.close_handlers()

    def close_handlers(self) -> None:
        """Let go of the files without touching the disk."""
        self._file = None

    def update_directory(self, directory: str) -> None:
        """The log's directory has another name now."""
        self.directory = directory
        self._update_paths()

    def change_file_suffixes(self, old: str, new: str) -> None:
        """Rename the segment's files, e.g. from `.swap` to none; a missing index does not matter. Raises `OSError`."""
        assert self.suffix == old
        before = self.paths()
        self.suffix = new
        for path, renamed in zip(before, self.paths(), strict=True):
            try:
                os.rename(path, renamed)
            except FileNotFoundError:
                if path == before[0]:
                    raise
        self._update_paths()

    def _update_paths(self) -> None:
        self.txn_index.path = self._path(TXN_INDEX_FILE_SUFFIX)
        if self._offset_index is not None:
            self._offset_index.path = self._path(INDEX_FILE_SUFFIX)
        if self._time_index is not None:
            self._time_index.path = self._path(TIME_INDEX_FILE_SUFFIX)

    def delete_if_exists(self) -> None:
        """Remove the files; slices that are being read stay readable. Raises `OSError`."""
        self._file = None
        for path in self.paths():
            delete_if_exists(path)

    def sanity_check(self) -> None:
        """`FileNotFoundError` if the offset index is missing, `MalformedFileError` if the transaction index is corrupt."""
        os.stat(self._path(INDEX_FILE_SUFFIX))
        self.txn_index.sanity_check()

    def __repr__(self) -> str:
        return (
            f"LogSegment(baseOffset={self.base_offset}, size={self.size}, "
            f"largestRecordTimestamp={self._max_timestamp})"
        )


def _leader_epoch(batch: Batch) -> int | None:
    epoch = batch.partition_leader_epoch
    return epoch if epoch >= 0 else None


def total_size(segments: Sequence[LogSegment]) -> int:
    return sum(segment.size for segment in segments)
