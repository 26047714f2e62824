"""One segment of a log: a .log file and its indexes (Kafka's `LogSegment`)."""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from kafkapy.common import page_cache
from kafkapy.common.limits import MAX_INT, MAX_LONG
from kafkapy.common.time import Time
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.files.file_batches import (
    HEADER_SCAN_CHUNK,
    Batch,
    BatchHeader,
    batch_with,
    first_up_to,
    headers,
    whole_batches,
)
from kafkapy.log.files.log_files import LOG_FILE_SUFFIX, segment_file
from kafkapy.log.index.transaction_index import AbortedTxn
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_types import CompletedTxn, FetchDataInfo, LogOffsetMetadata
from kafkapy.log.segments.batch_order import in_order
from kafkapy.log.segments.index_rebuild import IndexRebuild
from kafkapy.log.segments.segment_files import SegmentFiles
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.file_records import FileRecords

logger = logging.getLogger("kafkapy.log.LogSegment")

_RECENT_BATCHES: Final = 64
"""Size of each of the two generations of recent batches whose positions are cached: consumers and followers without lag
fetch from there.
"""
_MAX_LOGGED_POSITIONS: Final = 10
"""Limit of damaged positions in a log line."""

LastStableOffset = Callable[[CompletedTxn], int]


class LogSegment(SegmentFiles):
    """Batches with offsets from `base_offset` on, up to the base offset of the next segment.

    Invariants: bytes `[0, size)` of the .log file are whole batches with ascending offsets; a failed write is cut off
    again. The offset index and the time index point into those bytes (sparsely), the transaction index lists the
    markers of aborted transactions among them. A crash may leave a torn last batch, and indexes that lag behind the
    data; `recover` repairs both.

    The indexes of a segment that is not recovered are verified when they are used: an entry of the offset index must
    lead to a batch that contains its offset, one of the time index to a batch that has its timestamp. If an entry is
    wrong, both indexes are rebuilt (`rebuild_indexes`).

    Only the active segment grows. Methods that change a segment are called under its log's lock; `rebuild_indexes`
    takes it.
    """

    __slots__ = (
        "_bytes_since_last_index_entry",
        "_created_ms",
        "_knows_max_timestamp",
        "_max_timestamp",
        "_offset_of_max_timestamp",
        "_older_batches",
        "_recent_batches",
        "_roll_jitter_ms",
        "_rolling_based_timestamp",
        "_writable",
        "lock",
        "size",
        "time",
    )

    def __init__(
        self,
        directory: str,
        base_offset: int,
        config: LogConfig,
        time: Time,
        size: int,
        txn_index_exists: bool,
        suffix: str,
    ) -> None:
        """Use `create` or `open`."""
        super().__init__(directory, base_offset, config, txn_index_exists, suffix)
        self.time = time
        self.size = size
        self.lock = threading.RLock()
        """The lock of the log, once the segment belongs to one."""
        self._writable = False
        self._roll_jitter_ms = config.random_segment_jitter()
        self._created_ms = time.milliseconds()
        self._rolling_based_timestamp: int | None = None
        self._max_timestamp: int | None = None
        self._offset_of_max_timestamp = base_offset
        self._knows_max_timestamp = False
        self._bytes_since_last_index_entry = 0
        # Base offset of recently appended batches -> position << 32 | size: reads at the end of the log need no index.
        self._recent_batches: dict[int, int] = {}
        self._older_batches: dict[int, int] = {}

    @classmethod
    def create(cls, directory: str, base_offset: int, config: LogConfig, time: Time, suffix: str = "") -> LogSegment:
        """Create an empty segment; existing files are replaced. Raises `OSError`."""
        segment = cls(directory, base_offset, config, time, 0, False, suffix)
        for path in segment._create_files():
            logger.warning("Newly rolled segment file %s already exists; deleting it first", path)
        segment._become_empty()
        return segment

    @classmethod
    def open(
        cls, directory: str, base_offset: int, config: LogConfig, time: Time, txn_index_exists: bool, suffix: str = ""
    ) -> LogSegment:
        """Open existing files. Raises `OSError`."""
        size = os.stat(segment_file(directory, base_offset, LOG_FILE_SUFFIX, suffix)).st_size
        return cls(directory, base_offset, config, time, size, txn_index_exists, suffix)

    def _become_empty(self) -> None:
        self._set_max_timestamp(NO_TIMESTAMP, self.base_offset)
        self._rolling_based_timestamp = None
        self._writable = True
        self._forget_recent_batches()

    def become_writable(self) -> None:
        """Prepare the indexes for appends, whose entries follow the existing ones."""
        if not self._writable:
            if self._max_timestamp is None:
                self._max_timestamp, self._offset_of_max_timestamp = self._last_time_entry()
            self.offset_index.heat()
            self.time_index.heat()
            self._writable = True

    # -- the append path

    def should_roll(
        self, incoming_size: int, max_timestamp: int, max_offset: int, now_ms: int, config: LogConfig
    ) -> bool:
        """Return whether a new segment is needed before `incoming_size` bytes up to `max_offset` are appended."""
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
            or not 0 <= max_offset - self.base_offset <= MAX_INT
        )

    def append(self, records: bytes | bytearray | memoryview, batches: Iterable[Batch]) -> None:
        """Append whole batches; `batches` are views of the batches in `records`, in order.

        Raises:
            OSError: writing failed; the file is as before.
            KafkaError: an offset does not fit the segment.
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
        """Continue a partial write until all is written or an error is raised."""
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
        """Add an aborted transaction. Raises `OSError`."""
        if completed.is_aborted:
            self.txn_index.append(
                AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset)
            )

    # -- the read path

    def translate_offset(self, offset: int) -> tuple[int, int] | None:
        """Return (position, size) of the first batch whose last offset is >= `offset`; None if there is none."""
        recent = self._recent_batches.get(offset) or self._older_batches.get(offset)
        if recent is not None:
            return recent >> 32, recent & 0xFFFFFFFF
        start_offset, start, behind_offset, behind = self.offset_index.around(offset)
        if behind - start >= HEADER_SCAN_CHUNK and offset != start_offset and start >= 0:
            # Large batches have an index entry each, and the one at `start` ends before the offset.
            header = batch_with(self.file, behind, self.size, offset)
            if header is not None and header.last_offset == behind_offset:
                return header.position, header.size
        walk = iter(self._headers_towards(start_offset, start, behind_offset, behind))
        found = first_up_to(walk, offset)
        if found is not None and found.base_offset > offset:
            found = self._find_after_damage(found, walk, offset)
        return (found.position, found.size) if found is not None else None

    def _find_after_damage(self, header: BatchHeader, walk: Iterator[BatchHeader], offset: int) -> BatchHeader | None:
        """Find a batch with the offset after `header`, whose offsets may be too high; `header` if compaction has
        removed it.

        `KafkaError` CORRUPT_MESSAGE if `header` must have had the offset originally.
        """
        following = next(walk, None)
        if following is None or following.base_offset > header.last_offset:
            return header
        if following.base_offset > offset:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"{self.log_path} is damaged: the batch at position {header.position} has the offsets {header.base_offset} to "
                f"{header.last_offset}, and the next one begins at {following.base_offset}",
            )
        return first_up_to(chain((following,), walk), offset)

    def headers_towards(self, offset: int) -> Iterable[BatchHeader]:
        """Return the headers of the batches, starting with one at or before the batch that contains `offset`, to the
        end.
        """
        start_offset, start, behind_offset, behind = self.offset_index.around(offset)
        return self._headers_towards(start_offset, start, behind_offset, behind)

    def _headers_towards(self, offset: int, start: int, behind_offset: int, behind: int) -> Iterable[BatchHeader]:
        """Start at `start`, the index's position for `offset`; at the beginning if the index is wrong."""
        if start == 0:
            return headers(self.file, 0, self.size)
        walk = headers(self.file, max(start, 0), self.size)
        try:
            first = next(walk, None)
        except KafkaError:  # an impossible size
            first = None
        is_ordered = start > 0 and (behind == 0 or (behind > start and behind_offset > offset))
        if (
            first is not None
            and is_ordered
            and (first.last_offset == offset or self._is_entry_of_append(offset, first))
        ):
            return chain((first,), walk)
        self.rebuild_indexes(f"the entry of offset {offset} leads to position {start}, where no batch has it")
        return headers(self.file, 0, self.size)

    def _is_entry_of_append(self, offset: int, header: BatchHeader) -> bool:
        """Return whether an entry is valid whose offset is not the last of its batch.

        Brokers before 3.9.1 wrote that of another batch of the same append. Then a scan from the previous entry reaches
        this batch, and the offset is in it or after it.
        """
        if header.base_offset > offset:
            return False
        try:
            for each in headers(self.file, self.offset_index.position_before(offset), self.size):
                if each.position >= header.position:
                    return each == header
        except KafkaError:
            pass
        return False

    def offset_above(self, position: int) -> int | None:
        """Return a close upper bound of the offsets in the batches before `position`; None if the offset index has
        none.
        """
        entry = self.offset_index.first_behind(position)
        if entry is None or entry[1] <= position:
            return None
        header = batch_with(self.file, entry[1], self.size, entry[0])
        return entry[0] if header is not None and header.last_offset == entry[0] else None

    def read(
        self, start_offset: int, max_size: int, max_position: int | None, min_one_message: bool = False
    ) -> FetchDataInfo | None:
        """Read at most `max_size` bytes from the batch that contains `start_offset`, nothing at or after
        `max_position`.

        With `min_one_message` the first batch is complete, whatever its size. Return None if the segment ends before
        the offset; no bytes if `max_position` is None (unknown).
        """
        found = self.translate_offset(start_offset)
        if found is None:
            return None
        position, size = found
        metadata = LogOffsetMetadata(start_offset, self.base_offset, position)
        limit = max(max_size, size) if min_one_message else max_size
        if limit == 0 or max_position is None:
            return FetchDataInfo(metadata)
        available = max(0, max_position - position)
        return FetchDataInfo(metadata, FileRecords(self.file, position, min(available, limit)), limit < size)

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """See `TransactionIndex`."""
        return self.txn_index.collect_aborted_txns(fetch_offset, upper_bound_offset)

    def headers_from(self, position: int) -> Iterable[BatchHeader]:
        """Return the headers of the batches from a position on, to the end."""
        return headers(self.file, position, self.size)

    def batches(self) -> Iterable[Batch]:
        """Return all batches, with their bytes."""
        return self.batches_between(0, self.size)

    def batches_between(self, position: int, end_position: int) -> Iterable[Batch]:
        """Return the whole batches between two positions, the first of which is the start of a batch."""
        return whole_batches(self.file, position, end_position)

    def check_first_batch(self, next_base_offset: int) -> None:
        """Check that the segment starts with a batch of its own, below the base offset of the next segment.

        `KafkaError` CORRUPT_MESSAGE.
        """
        first = next(iter(self.headers_from(0)), None)
        if first is not None and not self.base_offset <= first.base_offset < next_base_offset:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"{self.log_path} begins with a batch of offset {first.base_offset}: it is of another log, or has another's name",
            )

    def check_last_batches(self) -> None:
        """Check that the segment ends with a whole batch in its place. `KafkaError` CORRUPT_MESSAGE."""
        next_offset, position = self.base_offset, 0
        for header in self.headers_towards(self.offset_index.last_offset):
            base, last = header.base_offset, header.last_offset
            if base < next_offset or last - self.base_offset > MAX_INT:
                raise KafkaError(
                    Errors.CORRUPT_MESSAGE,
                    f"Found a batch with the offsets {base} to {last}, where one of {next_offset} or a little more is expected, "
                    f"at position {header.position} of {self.log_path}",
                )
            next_offset, position = last + 1, header.position + header.size
        if position < self.size:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"The {self.size - position} bytes from position {position} of {self.log_path} on are no whole batch",
            )

    def read_next_offset(self) -> int:
        """Return one more than the last offset in the segment; the base offset if it is empty."""
        next_offset, last_entry = self.base_offset, self.offset_index.last_offset
        for header in self.headers_towards(last_entry):
            next_offset = header.last_offset + 1
        if self.offset_index.entries and last_entry >= next_offset:
            self.rebuild_indexes(f"it has an entry of offset {last_entry}, and the log ends at {next_offset}")
        return next_offset

    # -- timestamps

    @property
    def max_timestamp_so_far(self) -> int:
        """The largest timestamp in the segment by the time index, ms; -1 if there is none."""
        timestamp = self._max_timestamp
        if timestamp is None:
            timestamp, self._offset_of_max_timestamp = self._last_time_entry()
            self._max_timestamp = timestamp
        return timestamp

    def _last_time_entry(self) -> tuple[int, int]:
        """Return the last entry of the time index; rebuild the index if no batch has its timestamp."""
        index = self.time_index
        timestamp, offset = index.last_entry
        if index.entries:
            is_right = self._has_timestamp(offset, timestamp)
        else:
            is_right = self._load_first_batch_timestamp() < 0
        if not is_right:
            self.rebuild_indexes(f"no batch at offset {offset} has the largest timestamp {timestamp}")
        return self.time_index.last_entry

    def _has_timestamp(self, offset: int, timestamp: int) -> bool:
        """Return whether this is the largest timestamp of the batch that contains `offset`."""
        for header in self.headers_towards(offset):
            if header.last_offset >= offset:
                return header.max_timestamp == timestamp
        return False

    def headers_towards_time(self, timestamp: int, starting_offset: int) -> Iterable[BatchHeader]:
        """Return the headers of the batches, starting at or before the first one that has a timestamp >= `timestamp`
        and an offset >= `starting_offset`.
        """
        indexed, offset = self.time_index.lookup(timestamp)
        is_entry = indexed != NO_TIMESTAMP or offset != self.base_offset
        if is_entry and not self._has_timestamp(offset, indexed):
            self.rebuild_indexes(f"no batch at offset {offset} has the largest timestamp {indexed}")
            _, offset = self.time_index.lookup(timestamp)
        return self.headers_towards(max(offset, starting_offset))

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of a record, or else the file's modification time, ms."""
        timestamp, _ = self.max_timestamp_and_offset
        return timestamp if timestamp >= 0 else self.last_modified

    @property
    def max_timestamp_and_offset(self) -> tuple[int, int]:
        """Return the largest timestamp and the last offset of the batch that has it; (-1, base offset) if there is
        none.

        For a segment from an earlier run, the batches that the time index does not cover are read.
        """
        if not self._knows_max_timestamp:
            self._read_largest_timestamp()
        return self.max_timestamp_so_far, self._offset_of_max_timestamp

    def time_waited_for_roll(self, now_ms: int, message_timestamp: int) -> int:
        """Return the age of the segment, ms: from its first batch's timestamp to the incoming one, or else by the
        clock.
        """
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

    # -- structure

    def truncate_to(self, offset: int) -> int:
        """Remove every batch that contains an offset >= `offset`; return the removed bytes. Raises `OSError`."""
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
        self.read_next_offset()  # checks the last entry of the offset index, which later appends must exceed
        self._read_largest_timestamp()
        return removed

    def _forget_recent_batches(self) -> None:
        self._recent_batches = {}
        self._older_batches = {}

    def _read_largest_timestamp(self) -> None:
        timestamp, offset = self._last_time_entry()
        try:
            for header in self.headers_towards(offset):
                if header.max_timestamp > timestamp:
                    timestamp, offset = header.max_timestamp, header.last_offset
        except KafkaError as error:
            logger.error("%s: what is behind it counts as no younger than what is before it", error)
        self._set_max_timestamp(timestamp, offset)

    def _set_max_timestamp(self, timestamp: int, offset: int) -> None:
        self._max_timestamp, self._offset_of_max_timestamp = timestamp, offset
        self._knows_max_timestamp = True

    def on_become_inactive(self) -> None:
        """Complete the time index and trim the files, because another segment becomes active."""
        self.time_index.maybe_append(self.max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True)
        self._trim()
        self._forget_recent_batches()

    def _trim(self) -> None:
        self.offset_index.trim_to_valid_size()
        self.time_index.trim_to_valid_size()
        self._writable = False
        if self.config.preallocate:
            os.ftruncate(self.file.fileno(), self.size)

    def rebuild_indexes(self, why: str) -> None:
        """Rebuild both indexes from the headers of the batches, which takes a second per 100 MB, or longer.

        Only the end takes the lock. `BlockingIOError` if this thread may not wait for disks
        (`page_cache.blocking_reads`); `OSError`.
        """
        if not page_cache.blocking_reads.allowed:
            raise BlockingIOError(errno.EAGAIN, "An index is to be made anew")
        wrong = self._offset_index
        rebuild = self._follow(self._new_rebuild())
        with self.lock:
            if self._offset_index is not wrong:
                return  # another thread has rebuilt it
            if rebuild.position > self.size:  # the log was truncated concurrently
                rebuild = self._new_rebuild()
            self._follow(rebuild).finish()
            self._take_over(rebuild)
        logger.error(
            "An index of log segment %s was wrong (%s): both were made anew from the batches. Something other than the broker "
            "has changed a file of the segment, or the disk is failing.",
            self.log_path, why,
        )  # fmt: skip
        damaged = rebuild.misplaced + ([rebuild.position] if rebuild.position < self.size else [])
        if damaged:
            logger.error(
                "Log segment %s is damaged: there are no batches with the right offsets at the positions %s. Move the directory "
                "of the partition away while the broker is down: the log is then copied from its leader. If there is no other "
                "replica, restore the file from a backup.",
                self.log_path, ", ".join(map(str, damaged[:_MAX_LOGGED_POSITIONS])),
            )  # fmt: skip

    def _new_rebuild(self) -> IndexRebuild:
        config = self.config
        return IndexRebuild(self.file, self.base_offset, config.segment_index_bytes, config.index_interval_bytes)

    def _follow(self, rebuild: IndexRebuild) -> IndexRebuild:
        try:
            rebuild.follow(self.size)
        except KafkaError as error:
            logger.error("%s", error)
        return rebuild

    def _take_over(self, rebuild: IndexRebuild) -> None:
        """Replace the wrong indexes by the rebuilt ones."""
        rebuild.offset_index.path, rebuild.time_index.path = self.paths()[1:3]
        self._offset_index, self._time_index = rebuild.offset_index, rebuild.time_index
        self._set_max_timestamp(rebuild.max_timestamp, rebuild.offset_of_max_timestamp)
        if self._writable:
            self._bytes_since_last_index_entry = rebuild.bytes_since_last_entry
            self.write_out_indexes()
        else:
            self.time_index.maybe_append(rebuild.max_timestamp, rebuild.offset_of_max_timestamp, skip_full_check=True)
            self._trim()

    def recover(
        self,
        on_batch: Callable[[Batch], CompletedTxn | None],
        last_stable_offset: LastStableOffset,
        end_offset: int,
        may_cut: bool,
    ) -> int:
        """Check every batch, rebuild the indexes, cut at the first bad byte; return the number of bytes removed.

        Args:
            on_batch: Records a batch's epoch and producer; returns a transaction that the batch completes, or None.
            last_stable_offset: Gives the offset with which a completed transaction is added to the transaction index.
            end_offset: The base offset of the next segment, if there is one.
            may_cut: Whether damage may be due to a crash and is cut off; otherwise it is raised.

        Raises:
            OSError: reading or writing failed.
            KafkaError: CORRUPT_MESSAGE or INVALID_RECORD.
        """
        self._create_indexes(recovering=True)
        self.txn_index.reset()
        self._become_empty()
        valid_bytes = last_index_entry = 0
        try:
            end_offset = min(end_offset, self.base_offset + MAX_INT + 1)
            for batch in in_order(self.batches(), self.base_offset, end_offset):
                batch.ensure_valid()
                last_offset = batch.last_offset
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
            if not may_cut:
                raise KafkaError(
                    error.error, f"{self.log_path} is damaged at position {valid_bytes}: {error}"
                ) from error
            logger.warning(
                "Found invalid messages in log segment %s at byte offset %d: %s", self.log_path, valid_bytes, error
            )
        truncated = self.size - valid_bytes
        if truncated and not may_cut:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE, f"{self.log_path} is damaged: no whole batch is at position {valid_bytes}"
            )
        if truncated:
            os.ftruncate(self.file.fileno(), valid_bytes)
        self.size = valid_bytes
        self.time_index.maybe_append(self.max_timestamp_so_far, self._offset_of_max_timestamp, skip_full_check=True)
        self._trim()
        return truncated

    def close(self) -> None:
        """Trim the indexes and close the files. Raises `OSError`."""
        if self._max_timestamp is not None:
            self.time_index.maybe_append(self._max_timestamp, self._offset_of_max_timestamp, skip_full_check=True)
        if self._offset_index is not None or self._time_index is not None:
            self._trim()
        self.close_handlers()

    def __repr__(self) -> str:
        return (
            f"LogSegment(baseOffset={self.base_offset}, size={self.size}, largestRecordTimestamp={self._max_timestamp})"
        )


def total_size(segments: Iterable[LogSegment]) -> int:
    """Return the bytes of the .log files."""
    return sum(segment.size for segment in segments)
