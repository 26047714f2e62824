"""The four files of a segment: names, opening, renaming, flushing, deleting (the file part of Kafka's `LogSegment`)."""

from __future__ import annotations

import os

from kafkapy.common.capabilities import reserve
from kafkapy.log.files.log_file import LogFile
from kafkapy.log.files.log_files import (
    INDEX_FILE_SUFFIX,
    LOG_FILE_SUFFIX,
    TIME_INDEX_FILE_SUFFIX,
    TXN_INDEX_FILE_SUFFIX,
    delete_if_exists,
    fsync_file,
    segment_file,
)
from kafkapy.log.index.offset_index import OffsetIndex
from kafkapy.log.index.time_index import TimeIndex
from kafkapy.log.index.transaction_index import TransactionIndex
from kafkapy.log.log_config import LogConfig


class SegmentFiles:
    """`<directory>/<base offset>.{log,index,timeindex,txnindex}<suffix>`.

    Invariant: files and indexes are opened on first use, so thousands of idle logs cost no descriptors. An open .log
    file lives as long as there is a reference to it, so a slice given to a reader stays readable after the file was
    renamed or deleted. `suffix` is part of every name: .cleaned, .swap, .deleted or empty.

    Readers without the log's lock may run concurrently with a rename: opening a file then raises `FileNotFoundError`,
    and they retry under the lock. Two threads may open an index concurrently, and one may have appended to it: the
    first instance is kept.
    """

    __slots__ = ("_file", "_offset_index", "_time_index", "base_offset", "config", "directory", "suffix", "txn_index")

    def __init__(
        self, directory: str, base_offset: int, config: LogConfig, txn_index_exists: bool, suffix: str
    ) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.config = config
        self.suffix = suffix
        self.txn_index = TransactionIndex(self._path(TXN_INDEX_FILE_SUFFIX), base_offset, txn_index_exists)
        self._file: LogFile | None = None
        self._offset_index: OffsetIndex | None = None
        self._time_index: TimeIndex | None = None

    def _path(self, file_suffix: str) -> str:
        return segment_file(self.directory, self.base_offset, file_suffix, self.suffix)

    @property
    def log_path(self) -> str:
        return self._path(LOG_FILE_SUFFIX)

    def paths(self) -> list[str]:
        """Return the four files of the segment, whether they exist or not."""
        suffixes = (LOG_FILE_SUFFIX, INDEX_FILE_SUFFIX, TIME_INDEX_FILE_SUFFIX, TXN_INDEX_FILE_SUFFIX)
        return [self._path(file_suffix) for file_suffix in suffixes]

    @property
    def file(self) -> LogFile:
        """Raise `OSError`; `FileNotFoundError` if it is being renamed: its name may belong to another segment now."""
        file = self._file
        if file is None:
            path = self.log_path
            file = LogFile(path, "r+")
            if path != self.log_path:
                raise FileNotFoundError(f"{path} was renamed")
            self._file = file
        return file

    @property
    def offset_index(self) -> OffsetIndex:
        index = self._offset_index
        if index is None:
            index = OffsetIndex(self._path(INDEX_FILE_SUFFIX), self.base_offset, self.config.segment_index_bytes)
            index.open()
            if self._offset_index is None:
                self._offset_index = index
            return self._offset_index
        return index

    @property
    def time_index(self) -> TimeIndex:
        index = self._time_index
        if index is None:
            index = TimeIndex(self._path(TIME_INDEX_FILE_SUFFIX), self.base_offset, self.config.segment_index_bytes)
            index.open()
            if self._time_index is None:
                self._time_index = index
            return self._time_index
        return index

    def _create_files(self) -> list[str]:
        """Create empty files; return the existing ones that were replaced. Raises `OSError`."""
        in_the_way = [path for path in self.paths() if delete_if_exists(path)]
        self._file = LogFile(self.log_path, "w+")
        if self.config.preallocate:
            reserve(self._file.fileno(), self.config.init_file_size)
        self._create_indexes()
        return in_the_way

    def _create_indexes(self, recovering: bool = False) -> None:
        """Create empty indexes, replacing existing ones; `recovering` as in `AbstractIndex.create`."""
        max_size = self.config.segment_index_bytes
        offset_index = OffsetIndex(self._path(INDEX_FILE_SUFFIX), self.base_offset, max_size)
        time_index = TimeIndex(self._path(TIME_INDEX_FILE_SUFFIX), self.base_offset, max_size)
        offset_index.create(recovering)
        time_index.create(recovering)
        self._offset_index, self._time_index = offset_index, time_index

    @property
    def last_modified(self) -> int:
        return os.stat(self.log_path).st_mtime_ns // 1_000_000

    def set_last_modified(self, ms: int) -> None:
        """Set the files' modification time: the cleaner's output is as old as its input."""
        for path in self.paths()[:3]:
            os.utime(path, ns=(ms * 1_000_000, ms * 1_000_000))

    def write_out_indexes(self) -> None:
        """Write index entries to the files, in the page cache; called before `flush`, under the log's lock."""
        for index in (self._offset_index, self._time_index):
            if index is not None:
                index.write_out()

    def flush(self) -> None:
        """Make the files durable: blocks on the disk. Ignores deleted files. Raises `OSError`."""
        for path in self.paths():
            fsync_file(path)

    def close_handlers(self) -> None:
        """Close the files without disk access."""
        self._file = None

    def update_directory(self, directory: str) -> None:
        """Adjust to the new name of the log's directory."""
        self.directory = directory
        self._update_paths()

    def change_file_suffixes(self, old: str, new: str) -> None:
        """Rename the segment's files, e.g. from `.swap` to none; ignores missing indexes. Raises `OSError`."""
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
        """Delete the files; slices that are being read stay readable. Raises `OSError`."""
        self._file = None
        for path in self.paths():
            delete_if_exists(path)
