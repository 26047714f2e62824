"""The parts of a log, each without the others."""

from __future__ import annotations

import os

import pytest

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import LeaderEpochCheckpointFile
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.loaded_log import LoadedLog
from kafkapy.log.local_log import LocalLog
from kafkapy.log.log_bounds import LogBounds
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_flusher import LogFlusher
from kafkapy.log.log_types import FetchIsolation, LogOffsetMetadata
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.segments.log_segments import LogSegments
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.records_builder import MemoryRecordsBuilder

T0 = TopicPartition("t", 0)


class Parts:
    """An empty log at offset 10, as a loader may find it."""

    def __init__(self, directory: str) -> None:
        os.mkdir(directory)
        self.time = MockTime()
        self.scheduler = MockScheduler(self.time)
        self.failures: list[str] = []
        config = LogConfig({})
        segments = LogSegments()
        segments.add(LogSegment.create(directory, 10, config, self.time))
        self.epochs = LeaderEpochCache(T0, LeaderEpochCheckpointFile(directory))
        self.producers = ProducerStateManager(T0, directory, 86_400_000)
        self.loaded = LoadedLog(directory, T0, config, segments, 10, 10, 10, self.epochs, self.producers, None)
        self.local = LocalLog(
            self.loaded, self.scheduler, self.time, lambda log_dir, doing, error: self.failures.append(doing)
        )
        self.bounds = LogBounds(self.local, 10, self.producers)
        self.flusher = LogFlusher(self.local, self.epochs)

    def append(self, records: int) -> None:
        builder = MemoryRecordsBuilder(base_offset=self.local.log_end_offset, partition_leader_epoch=0)
        for _ in range(records):
            builder.append(1, None, b"x")
        data = builder.build()
        last_offset = self.local.log_end_offset + records - 1
        self.local.append(self.local.segments.active, data, list(batches(data)), last_offset)


@pytest.fixture
def parts(tmp_path: os.PathLike[str]) -> Parts:
    return Parts(f"{os.fspath(tmp_path)}/t-0")


def test_what_is_loaded_cannot_be_changed(parts: Parts) -> None:
    with pytest.raises(AttributeError):
        parts.loaded.log_end_offset = 11  # type: ignore[misc]


def test_an_append_moves_the_end_and_nothing_else(parts: Parts) -> None:
    parts.append(3)
    end = parts.local.log_end_offset_metadata
    assert (end.message_offset, end.segment_base_offset) == (13, 10)
    assert end.relative_position_in_segment == parts.local.segments.active.size
    assert (parts.bounds.high_watermark, parts.local.recovery_point) == (10, 10)


def test_the_high_watermark_lies_between_start_and_end(parts: Parts) -> None:
    parts.append(3)
    assert [parts.bounds.update_high_watermark(offset) for offset in (5, 12, 99)] == [10, 12, 13]
    with pytest.raises(ValueError, match="exceeds"):
        parts.bounds.maybe_increment_high_watermark(LogOffsetMetadata(14))
    assert parts.bounds.end_offset_metadata(FetchIsolation.HIGH_WATERMARK) is parts.local.log_end_offset_metadata


def test_bounds_follow_an_end_that_moves_back(parts: Parts) -> None:
    parts.append(1)
    parts.append(2)
    parts.bounds.update_high_watermark(13)
    parts.local.truncate_to(11)
    parts.bounds.after_truncation(10)
    assert (parts.bounds.log_start_offset, parts.bounds.high_watermark) == (10, 11)


def test_bounds_of_a_log_that_starts_again_are_at_its_end(parts: Parts) -> None:
    parts.append(3)
    parts.local.truncate_fully_and_start_at(40)
    parts.bounds.restart(35)
    assert (parts.bounds.log_start_offset, parts.bounds.high_watermark) == (35, 40)


def test_a_log_start_takes_high_watermark_and_recovery_point_with_it(parts: Parts) -> None:
    parts.append(3)
    parts.bounds.set_log_start_offset(12)
    assert (parts.bounds.high_watermark, parts.local.recovery_point) == (12, 12)


def test_a_flush_writes_epochs_before_the_recovery_point_moves(parts: Parts) -> None:
    parts.epochs.announce(4, 10)
    parts.append(3)
    parts.flusher.flush(13)
    assert not parts.epochs.is_unwritten
    assert (parts.local.recovery_point, parts.local.last_flush_ms) == (13, parts.time.milliseconds())


def test_a_disk_that_fails_stops_a_flush(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError("gone")

    parts.append(3)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KafkaError) as caught:
        parts.flusher.flush(13)
    assert caught.value.error is Errors.KAFKA_STORAGE_ERROR
    assert parts.local.recovery_point == 10
    assert len(parts.failures) == 1


def test_a_closed_log_is_not_flushed(parts: Parts) -> None:
    parts.append(3)
    parts.local.close_handlers()
    parts.flusher.flush(13)
    assert parts.local.recovery_point == 10
    with pytest.raises(KafkaError):
        parts.local.check_open()
