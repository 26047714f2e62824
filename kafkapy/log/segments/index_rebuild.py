"""Rebuilds the offset index and the time index of a segment from the headers of its batches."""

from __future__ import annotations

from typing import Final

from kafkapy.common.limits import MAX_INT
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.files.file_batches import BatchHeader, headers
from kafkapy.log.files.log_file import LogFile
from kafkapy.log.index.offset_index import OffsetIndex
from kafkapy.log.index.time_index import TimeIndex

_IN_MEMORY: Final = ""
"""The indexes have no files until they replace the old ones."""


class IndexRebuild:
    """A scan of a segment's batches, and the indexes of the scanned ones.

    Invariant: every batch before `position` is indexed, is one of the `misplaced`, whose offsets are not between those
    of its neighbours, or is `_latest`, whose place only the next one confirms. The scan ends where there is no header
    of a batch.
    """

    def __init__(self, file: LogFile, base_offset: int, max_index_size: int, index_interval_bytes: int) -> None:
        """`index_interval_bytes`: bytes of records between two entries (index.interval.bytes)."""
        self.position = 0
        self.max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = base_offset
        self.misplaced: list[int] = []
        """Positions of misplaced batches."""
        self.offset_index = OffsetIndex(_IN_MEMORY, base_offset, max_index_size)
        self.time_index = TimeIndex(_IN_MEMORY, base_offset, max_index_size)
        self.offset_index.create(recovering=True)
        self.time_index.create(recovering=True)
        self._file = file
        self._base_offset = base_offset
        self._interval = index_interval_bytes
        self._next_offset = base_offset
        self._latest: BatchHeader | None = None
        self._indexed = 0

    @property
    def bytes_since_last_entry(self) -> int:
        return self.position - self._indexed

    def follow(self, end: int) -> None:
        """Scan up to the position `end`. `KafkaError` CORRUPT_MESSAGE where a batch has an impossible size; `OSError`."""
        for header in headers(self._file, self.position, end):
            latest = self._latest
            if latest is None or header.base_offset > latest.last_offset:
                self.finish()
                self._add(header)
            elif latest.base_offset > self._next_offset <= header.base_offset:  # after a gap: its offsets are too high
                self.misplaced.append(latest.position)
                self._add(header)
            else:
                self.misplaced.append(header.position)
            self.position = header.position + header.size

    def _add(self, header: BatchHeader) -> None:
        is_in_place = header.base_offset >= self._next_offset and 0 <= header.last_offset - self._base_offset <= MAX_INT
        self._latest = header if is_in_place else None
        if not is_in_place:
            self.misplaced.append(header.position)

    def finish(self) -> None:
        """Index the latest batch, because no other follows."""
        header = self._latest
        if header is None:
            return
        if header.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.offset_of_max_timestamp = header.max_timestamp, header.last_offset
        is_full = self.offset_index.is_full or self.time_index.is_full  # they may be shorter than the replaced ones
        if header.position - self._indexed > self._interval and not is_full:
            self.offset_index.append(header.last_offset, header.position)
            self.time_index.maybe_append(self.max_timestamp, self.offset_of_max_timestamp)
            self._indexed = header.position
        self._next_offset = header.last_offset + 1
        self._latest = None
