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
    SCANNED_AT_ONCE,
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
"""Batches of each of the two generations whose places are remembered: consumers and followers that keep up fetch from there."""
_NAMED_POSITIONS: Final = 10
"""Of damage, in one line of the log."""

LastStableOffset = Callable[[CompletedTxn], int]


class LogSegment(SegmentFiles):
    """Batches with offsets from `base_offset` on, up to the base offset of the next segment.

    Invariants: bytes `[0, size)` of the .log file are whole batches in rising order of offsets; a failed write is cut off
    again. The offset index and the time index point into those bytes (sparsely), the transaction index lists the markers of
    aborted transactions among them. What a crash leaves: a torn last batch, indexes behind the data; `recover` mends both.

    The indexes of a segment that is not recovered are taken as they are, and looked at where they are used: an entry of the
    offset index must lead to a batch that has its offset, one of the time index to a batch that has its timestamp. Where one does
    not, both indexes are made anew (`rebuild_indexes`).

    Only the active segment grows. Methods that change a segment are called under its log's lock; `rebuild_indexes` takes it.
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
        """Its log's, once it is a segment of one."""
        self._writable = False
        self._roll_jitter_ms = config.random_segment_jitter()
        self._created_ms = time.milliseconds()
        self._rolling_based_timestamp: int | None = None
        self._max_timestamp: int | None = None
        self._offset_of_max_timestamp = base_offset
        self._knows_max_timestamp = False
        self._bytes_since_last_index_entry = 0
        # Base offset of the batches appended last -> position << 32 | size: readers at the end of the log need no index.
        self._recent_batches: dict[int, int] = {}
        self._older_batches: dict[int, int] = {}

    @classmethod
    def create(cls, directory: str, base_offset: int, config: LogConfig, time: Time, suffix: str = "") -> LogSegment:
        """A new, empty segment; files that are in the way are deleted. Raises `OSError`."""
        segment = cls(directory, base_offset, config, time, 0, False, suffix)
        for path in segment._create_files():
            logger.warning("Newly rolled segment file %s already exists; deleting it first", path)
        segment._become_empty()
        return segment

    @classmethod
    def open(
        cls, directory: str, base_offset: int, config: LogConfig, time: Time, txn_index_exists: bool, suffix: str = ""
    ) -> LogSegment:
        """The segment whose files are there. Raises `OSError`."""
        size = os.stat(segment_file(directory, base_offset, LOG_FILE_SUFFIX, suffix)).st_size
        return cls(directory, base_offset, config, time, size, txn_index_exists, suffix)

    def _become_empty(self) -> None:
        self._set_max_timestamp(NO_TIMESTAMP, self.base_offset)
        self._rolling_based_timestamp = None
        self._writable = True
        self._forget_recent_batches()

    def become_writable(self) -> None:
        """Get the indexes ready for appends, whose entries have to come behind those that are there."""
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
            or not 0 <= max_offset - self.base_offset <= MAX_INT
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
        start_offset, start, behind_offset, behind = self.offset_index.around(offset)
        if behind - start >= SCANNED_AT_ONCE and offset != start_offset and start >= 0:
            # Batches are large here, so each has its entry, and that at `start` ends before the offset.
            header = batch_with(self.file, behind, self.size, offset)
            if header is not None and header.last_offset == behind_offset:
                return header.position, header.size
        walk = iter(self._headers_towards(start_offset, start, behind_offset, behind))
        found = first_up_to(walk, offset)
        if found is not None and found.base_offset > offset:
            found = self._behind_damage(found, walk, offset)
        return (found.position, found.size) if found is not None else None

    def _behind_damage(self, header: BatchHeader, walk: Iterator[BatchHeader], offset: int) -> BatchHeader | None:
        """Find a batch with the offset behind `header`, which may have too high offsets; `header` if compaction has removed it.

        `KafkaError` CORRUPT_MESSAGE if it must be `header` that once had the offset.
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
        """The headers of the batches from one on that begins at or before the one which holds `offset`, to the end."""
        start_offset, start, behind_offset, behind = self.offset_index.around(offset)
        return self._headers_towards(start_offset, start, behind_offset, behind)

    def _headers_towards(self, offset: int, start: int, behind_offset: int, behind: int) -> Iterable[BatchHeader]:
        """From `start` on, where the index has it that `offset` is; from the beginning if the index is wrong."""
        if start == 0:
            return headers(self.file, 0, self.size)
        walk = headers(self.file, max(start, 0), self.size)
        try:
            first = next(walk, None)
        except KafkaError:  # a size that no batch has
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
        """Is an entry right that names an offset which is not the last of its batch? Brokers before 3.9.1 wrote that of another
        batch of the same append. Then a walk from the entry before it comes by this batch, and the offset is in it or behind."""
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
        """An offset above all in the batches before `position`, but not by much; None if the offset index has none."""
        entry = self.offset_index.first_behind(position)
        if entry is None or entry[1] <= position:
            return None
        header = batch_with(self.file, entry[1], self.size, entry[0])
        return entry[0] if header is not None and header.last_offset == entry[0] else None

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
        available = max(0, max_position - position)
        return FetchDataInfo(metadata, FileRecords(self.file, position, min(available, limit)), limit < size)

    def collect_aborted_txns(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """See `TransactionIndex`."""
        return self.txn_index.collect_aborted_txns(fetch_offset, upper_bound_offset)

    def headers_from(self, position: int) -> Iterable[BatchHeader]:
        """The headers of the batches from a position on, to the end."""
        return headers(self.file, position, self.size)

    def batches(self) -> Iterable[Batch]:
        """All batches, with their bytes."""
        return self.batches_between(0, self.size)

    def batches_between(self, position: int, end_position: int) -> Iterable[Batch]:
        """The whole batches between two positions, the first of which is the beginning of one."""
        return whole_batches(self.file, position, end_position)

    def check_first_batch(self, next_base_offset: int) -> None:
        """Look whether the segment begins with a batch of its own, below the base offset of the next segment.

        `KafkaError` CORRUPT_MESSAGE.
        """
        first = next(iter(self.headers_from(0)), None)
        if first is not None and not self.base_offset <= first.base_offset < next_base_offset:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"{self.log_path} begins with a batch of offset {first.base_offset}: it is of another log, or has another's name",
            )

    def check_last_batches(self) -> None:
        """Look whether the segment ends with a whole batch in its place. `KafkaError` CORRUPT_MESSAGE."""
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
        """One more than the last offset in the segment; the base offset if it is empty."""
        next_offset, last_entry = self.base_offset, self.offset_index.last_offset
        for header in self.headers_towards(last_entry):
            next_offset = header.last_offset + 1
        if self.offset_index.entries and last_entry >= next_offset:
            self.rebuild_indexes(f"it has an entry of offset {last_entry}, and the log ends at {next_offset}")
        return next_offset

    # -- times

    @property
    def max_timestamp_so_far(self) -> int:
        """The largest timestamp in the segment as the time index has it, ms; -1 if there is none."""
        timestamp = self._max_timestamp
        if timestamp is None:
            timestamp, self._offset_of_max_timestamp = self._last_time_entry()
            self._max_timestamp = timestamp
        return timestamp

    def _last_time_entry(self) -> tuple[int, int]:
        """The last entry of the time index, which is made anew if no batch has its timestamp."""
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
        """Is this the largest timestamp of the batch that holds `offset`?"""
        for header in self.headers_towards(offset):
            if header.last_offset >= offset:
                return header.max_timestamp == timestamp
        return False

    def headers_towards_time(self, timestamp: int, starting_offset: int) -> Iterable[BatchHeader]:
        """The headers of the batches from one on that begins at or before the first that has a timestamp >= `timestamp` and an
        offset >= `starting_offset`."""
        indexed, offset = self.time_index.lookup(timestamp)
        is_entry = indexed != NO_TIMESTAMP or offset != self.base_offset
        if is_entry and not self._has_timestamp(offset, indexed):
            self.rebuild_indexes(f"no batch at offset {offset} has the largest timestamp {indexed}")
            _, offset = self.time_index.lookup(timestamp)
        return self.headers_towards(max(offset, starting_offset))

    @property
    def largest_timestamp(self) -> int:
        """The largest timestamp of a record, or else when the file was last modified, ms."""
        timestamp, _ = self.max_timestamp_and_offset
        return timestamp if timestamp >= 0 else self.last_modified

    @property
    def max_timestamp_and_offset(self) -> tuple[int, int]:
        """The largest timestamp and the last offset of the batch that has it; (-1, base offset) if there is none.

        Of a segment that was there at the start the batches are looked at which the time index does not cover.
        """
        if not self._knows_max_timestamp:
            self._read_largest_timestamp()
        return self.max_timestamp_so_far, self._offset_of_max_timestamp

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
        self.read_next_offset()  # the last entry of the offset index has to be right: what is appended comes behind it
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

    def rebuild_indexes(self, why: str) -> None:
        """Make both indexes anew from the headers of the batches, which takes a second for some 100 MB, or longer.

        Without the lock but for the end. `BlockingIOError` if this thread may not wait (`page_cache.patience`); `OSError`.
        """
        if not page_cache.patience.waits:
            raise BlockingIOError(errno.EAGAIN, "An index is to be made anew")
        wrong = self._offset_index
        rebuild = self._follow(self._new_rebuild())
        with self.lock:
            if self._offset_index is not wrong:
                return  # another thread has done it
            if rebuild.position > self.size:  # the log was truncated meanwhile
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
                self.log_path, ", ".join(map(str, damaged[:_NAMED_POSITIONS])),
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
        """Put what was made anew in the place of what was wrong."""
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
        """Check every batch, rebuild the indexes, cut at the first bad byte; how many bytes went. Raises `OSError`.

        `end_offset`: where the next segment begins, if there is one. `may_cut`: a crash may have left it so; else raise
        `KafkaError` CORRUPT_MESSAGE or INVALID_RECORD. `on_batch` notes a batch's epoch and producer; a transaction that it
        reports as completed gets into the transaction index with the offset that `last_stable_offset` has for it.
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
        """Trim and close the files. Raises `OSError`."""
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
    """Bytes of their .log files."""
    return sum(segment.size for segment in segments)
