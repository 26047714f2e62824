"""Writes the records of one partition into files, and uploads them."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.connectors.objects.cut_log import CutLog, SmallFiles
from kafkapy.connect.connectors.objects.file_group import Column, FileGroup
from kafkapy.connect.connectors.objects.partitioners import Partitioner
from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.connectors.objects.timestamps import Extractor
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.records import SinkRecord


class Uploads(SmallFiles, Protocol):
    """The part of a store that a sink uses."""

    def upload(self, local_path: str, name: str) -> None: ...


@dataclass(frozen=True)
class WriterSettings:
    """What all writers of a task share.

    Attributes:
        columns: Files of a record with a value.
        tombstone_columns: Files of a record without a value. Empty: there are none.
        tombstone_folder: Their folder.
        ignores_tombstones: Whether records without a value are skipped.
        partitioner: Returns a record's folder.
        extractor: Returns a record's time.
        is_wallclock: Whether that is the time of day.
        topics_dir: The topmost folder.
        delimiter: Between folders.
        file_delimiter: In names of files.
        offset_width: Digits of the offset in names of files.
        flush_size: How many records a partition may have in its files.
        rotate_ms: Longest time between the first and the last record of a file, by their times; 0: no limit.
        schedule_ms: Files end at multiples of this, by the clock; 0: they don't.
        idle_ms: Files end if there was no record for this long; 0: they don't.
        zone: For `schedule_ms`.
        max_open: How many folders a partition may write to at once.
        schema_rule: `schema.compatibility`.
        spool_folder: For temporary files.
    """

    columns: Sequence[Column]
    tombstone_columns: Sequence[Column]
    tombstone_folder: str
    ignores_tombstones: bool
    partitioner: Partitioner
    extractor: Extractor
    is_wallclock: bool
    topics_dir: str
    delimiter: str
    file_delimiter: str
    offset_width: int
    flush_size: int
    rotate_ms: int
    schedule_ms: int
    idle_ms: int
    zone: dt.tzinfo
    max_open: int
    schema_rule: str
    spool_folder: str | None

    @property
    def uses_clock(self) -> bool:
        """Whether files may end by the clock."""
        return bool(self.schedule_ms or self.idle_ms or (self.rotate_ms and self.is_wallclock))


class PartitionWriter:
    """Divides the records of a partition into files whose names and contents only depend on where it began to read.

    All open files of the partition end together: after that the writer is as new. So a second attempt, which begins at an
    offset where files have ended, makes the same objects again. Where the clock ends files, their end is in the cut log.

    Invariant: the offsets before `_done` are uploaded. `_finished` has the files that wait for their upload, and `_open` the
    files of the records since then; `_next` is the offset after the last record.

    Args:
        partition: Where the records are read.
        settings: Of the sink.
        store: Where files go.
        clock: Returns the time in ms since 1970.
    """

    def __init__(
        self, partition: TopicPartition, settings: WriterSettings, store: Uploads, clock: Callable[[], float]
    ) -> None:
        self._partition, self._settings, self._store, self._clock = partition, settings, store, clock
        self._open: dict[tuple[str, str], FileGroup] = {}
        self._finished: deque[tuple[str, Spool]] = deque()
        self._cuts: CutLog | None = None
        self._next: int | None = None
        self._done: int | None = None
        self._done_after_uploads: int | None = None
        self._first = self._count = 0
        self._appended_ms = self._opened_ms = 0.0

    def write(self, record: SinkRecord, is_given_again: bool = False) -> None:
        """Append a record.

        Args:
            record: The next one of the partition.
            is_given_again: Whether it may have been appended already, before an upload failed.

        Raises:
            RetriableException: An upload has failed; give the record again.
            DataException: The record cannot be written, and is skipped.
        """
        offset = record.original_kafka_offset
        if self._next is not None and offset < self._next:
            if is_given_again:
                return
            self.discard()  # the consumer went back: the records of the open files come again
        self.upload_finished()
        self._end_at_cut(offset)
        try:
            self._append(record)
        except DataException:
            self._next = offset + 1
            raise
        self._next = offset + 1
        if self._count >= self._settings.flush_size:
            self._end_files()
            self.upload_finished()

    def tick(self) -> None:
        """Upload what waits for it, and end files by the clock. Raises RetriableException."""
        self.upload_finished()
        if self._open and self._is_due():
            assert self._next is not None
            self._cut_log().add(self._next)
            self._end_files()
            self.upload_finished()

    def next_tick_ms(self) -> float | None:
        """Return in how many ms the clock may end files; None: it does not."""
        times = self._due_times() if self._open else []
        return max(0.0, min(times) - self._clock()) if times else None

    def committable(self, read: int) -> int | None:
        """Return the offset that may be committed; None: none yet.

        Args:
            read: The offset up to which the worker has read.
        """
        return self._done if self._open or self._finished else read

    def discard(self) -> None:
        """Remove all local files."""
        for group in self._open.values():
            group.discard()
        for _, spool in self._finished:
            spool.discard()
        self._open.clear()
        self._finished.clear()
        self._count = 0

    def upload_finished(self) -> None:
        """Upload the files that wait for it. Raises RetriableException; another call continues."""
        while self._finished:
            name, spool = self._finished[0]
            self._store.upload(spool.complete(), name)
            self._finished.popleft()
            spool.discard()
            if not self._finished:
                self._done = self._done_after_uploads

    def _append(self, record: SinkRecord) -> None:
        settings = self._settings
        if record.value is None and settings.ignores_tombstones:
            return
        if record.value is None and not settings.tombstone_columns:
            raise DataException(
                f"The record at offset {record.kafka_offset} of {self._partition} has a null value: "
                "set behavior.on.null.values to ignore or write."
            )
        folder = settings.tombstone_folder if record.value is None else settings.partitioner(record)
        time_ms = settings.extractor(record) if settings.rotate_ms else 0
        key = (record.topic or "", folder)
        if self._ends_before(record, self._open.get(key), time_ms):
            self._end_files()
            self.upload_finished()
        group = self._open.get(key)
        if group is None:
            columns = settings.tombstone_columns if record.value is None else settings.columns
            base = self._base(record, folder)
            group = FileGroup(columns, base, record, time_ms, settings.schema_rule, settings.spool_folder)
        try:
            group.append(record)
        except ConnectException:
            if key not in self._open:
                group.discard()
            raise
        self._appended_ms = self._clock()
        if not self._open:
            self._first, self._opened_ms = record.original_kafka_offset, self._appended_ms
        self._open[key] = group
        self._count += 1

    def _ends_before(self, record: SinkRecord, group: FileGroup | None, time_ms: int) -> bool:
        settings = self._settings
        if group is None:
            return len(self._open) >= settings.max_open
        if settings.rotate_ms and not settings.is_wallclock and time_ms - group.time_ms >= settings.rotate_ms:
            return True
        return group.ends_before(record)

    def _base(self, record: SinkRecord, folder: str) -> str:
        settings, partition = self._settings, self._partition
        offset = str(record.original_kafka_offset).zfill(settings.offset_width)
        name = settings.file_delimiter.join((partition.topic, str(partition.partition), offset))
        return settings.delimiter.join(filter(None, (settings.topics_dir, record.topic, folder, name)))

    def _end_at_cut(self, offset: int) -> None:
        if self._open and self._settings.uses_clock and self._cut_log().between(self._first, offset) is not None:
            self._end_files()
            self.upload_finished()

    def _cut_log(self) -> CutLog:
        if self._cuts is None:
            settings, partition = self._settings, self._partition
            name = f"{partition.topic}{settings.file_delimiter}{partition.partition}.json"
            path = settings.delimiter.join(filter(None, (settings.topics_dir, "_cuts", name)))
            self._cuts = CutLog(self._store, path)
        return self._cuts

    def _is_due(self) -> bool:
        now = self._clock()
        return any(now >= time for time in self._due_times())

    def _due_times(self) -> list[float]:
        settings = self._settings
        times = []
        if settings.idle_ms:
            times.append(self._appended_ms + settings.idle_ms)
        if settings.schedule_ms:
            opened = dt.datetime.fromtimestamp(self._opened_ms / 1000, settings.zone)
            shift = (opened.utcoffset() or dt.timedelta()).total_seconds() * 1000
            times.append(((self._opened_ms + shift) // settings.schedule_ms + 1) * settings.schedule_ms - shift)
        if settings.rotate_ms and settings.is_wallclock:
            times.append(self._opened_ms + settings.rotate_ms)
        return times

    def _end_files(self) -> None:
        for group in self._open.values():
            self._finished.extend(group.finish())
        self._open.clear()
        self._count = 0
        self._done_after_uploads = self._next
