"""A compacted log and a cleaner without threads, for the tests of compaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.cleaning.log_cleaner import CleanerConfig, CleanerThread, LogCleaner
from kafkapy.log.log import AppendOrigin, Log
from kafkapy.record.batches import batches
from kafkapy.record.record_batch import DefaultRecord, RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.log.log_support import NOW, PARTITION, LogDirFixture, marker

KeyValue = tuple[str, str | None]


class CleanerFixture(LogDirFixture):
    """One compacted log, whose records can be cleaned at a word."""

    def __init__(self, path: Path, cleaner: CleanerConfig | None = None, **config: Any) -> None:
        super().__init__(path, **{"cleanup_policy": ["compact"], "min_cleanable_dirty_ratio": 0.0, **config})
        self.root = str(path)
        self.log = self.open()
        self.logs: dict[TopicPartition, Log] = {PARTITION: self.log}
        self.offline: list[str] = []
        self.cleaner = LogCleaner(
            cleaner or CleanerConfig(dedupe_buffer_size=1 << 20),
            [self.root],
            self.logs,
            self.time,
            lambda directory, message, error: self.offline.append(directory),
        )
        self.thread: CleanerThread = self.cleaner.new_thread(0)

    def reopen(self) -> None:
        """As after a crash: nothing is closed."""
        self.log = self.logs[PARTITION] = self.open(had_clean_shutdown=False)
        self.log.update_high_watermark(self.log.log_end_offset)

    def append(
        self,
        records: Iterable[KeyValue],
        *,
        producer: tuple[int, int, int] = (-1, -1, -1),
        transactional: bool = False,
        timestamp: int = NOW,
        **builder: Any,
    ) -> None:
        """One batch, which is committed at once."""
        made = MemoryRecordsBuilder(
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=producer[2],
            is_transactional=transactional,
            **builder,
        )
        for key, value in records:
            made.append(timestamp, key.encode(), None if value is None else value.encode())
        self.log.producers.verifications.clear()  # as where transactions are not verified
        self.log.append_as_leader(bytearray(made.build()), 0)
        self.log.update_high_watermark(self.log.log_end_offset)

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        self.log.append_as_leader(marker(0, producer_id, commit), 0, AppendOrigin.COORDINATOR)
        self.log.update_high_watermark(self.log.log_end_offset)

    def clean(self) -> bool:
        """Begin a new segment, so that all there is can be cleaned, and clean the log once."""
        if self.log.active_segment.size:
            self.log.roll()
        return self.thread.try_clean_filthiest_log()

    def batches(self) -> list[RecordBatch]:
        found = []
        for segment in self.log.log_segments:
            found += [batch for batch in batches(Path(segment.log_path).read_bytes()) if isinstance(batch, RecordBatch)]
        return found

    def records(self) -> list[DefaultRecord]:
        """All data records, in the order of the log."""
        return [record for batch in self.batches() if not batch.is_control for record in batch.records()]

    def key_values(self) -> list[tuple[int, str, str | None]]:
        return [
            (r.offset, (r.key or b"").decode(), None if r.value is None else r.value.decode()) for r in self.records()
        ]

    def markers(self) -> list[int]:
        """Offsets of the control batches that hold a record."""
        return [batch.base_offset for batch in self.batches() if batch.is_control and batch.record_count]

    def checkpoint(self) -> int | None:
        return self.cleaner.manager.all_cleaner_checkpoints().get(PARTITION)


def latest(records: Sequence[tuple[int, str, str | None]]) -> dict[str, tuple[int, str]]:
    """What a reader from the beginning knows in the end: (offset, value) of each key."""
    state: dict[str, tuple[int, str]] = {}
    for offset, key, value in records:
        if value is None:
            state.pop(key, None)
        else:
            state[key] = (offset, value)
    return state
