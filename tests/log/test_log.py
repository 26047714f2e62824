"""Appends, reads, high watermark, rolling, truncation and look-ups of a log."""

from __future__ import annotations

import errno
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkapy import compiled
from kafkapy.common import page_cache
from kafkapy.log.files.checkpoints import LeaderEpochCheckpointFile
from kafkapy.log.files.sync_queue import SYNC_DELAY_MS
from kafkapy.log.index.offset_index import OffsetIndex
from kafkapy.log.index.time_index import TimeIndex
from kafkapy.log.log import FetchIsolation, Log, LogOffsetMetadata, TimestampAndOffset
from kafkapy.log.validation_result import RecordValidationError
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.log.log_support import NOW, LogDirFixture, batch, offsets, records
from tests.waiting import HANG_SECONDS

END, COMMITTED = FetchIsolation.LOG_END, FetchIsolation.HIGH_WATERMARK
SIZE = len(batch())


def _fill(log: Log, count: int, **arguments: Any) -> None:
    for _ in range(count):
        log.append_as_leader(batch(**arguments), 0)


def _refused(error: Errors, call: Callable[..., object], *arguments: object) -> KafkaError:
    with pytest.raises(KafkaError) as info:
        call(*arguments)
    assert info.value.error is error
    return info.value


# -- appending


def test_a_leader_gives_offsets_and_its_epoch(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    first = log.append_as_leader(batch(), 5)
    second = log.append_as_leader(batch(), 6)
    assert (first.first_offset, first.last_offset, first.record_count, first.valid_bytes) == (0, 2, 3, SIZE)
    assert (second.first_offset, second.last_offset, second.last_leader_epoch) == (3, 5, 6)
    assert (second.max_timestamp, second.log_append_time, second.log_start_offset) == (NOW, -1, 0)
    assert log.log_end_offset == 6
    assert log.epochs.entries == [(5, 0), (6, 3)]
    stored = list(batches(log_dir.read("00000000000000000000.log")))
    assert [(b.base_offset, b.partition_leader_epoch) for b in stored] == [(0, 5), (3, 6)]
    for one in stored:
        one.ensure_valid()


def test_log_append_time(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, message_timestamp_type="LogAppendTime")
    log = fixture.open()
    fixture.time.advance(500)
    info = log.append_as_leader(batch(timestamp=17), 0)
    assert info.log_append_time == info.max_timestamp == NOW + 500
    (stored,) = batches(fixture.read("00000000000000000000.log"))
    stored.ensure_valid()
    assert stored.max_timestamp == NOW + 500


def test_what_the_validator_refuses_leaves_no_trace(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, cleanup_policy=["compact"], max_message_bytes=SIZE)
    log = fixture.open()
    damaged = batch()
    damaged[-1] ^= 1
    _refused(Errors.CORRUPT_MESSAGE, log.append_as_leader, damaged, 0)
    _refused(Errors.MESSAGE_TOO_LARGE, log.append_as_leader, batch(values=[b"x"] * 4), 0)
    _refused(Errors.INVALID_RECORD, log.append_as_leader, batch() + batch(), 0)
    keyless = MemoryRecordsBuilder()
    keyless.append(NOW, None, b"x")
    with pytest.raises(RecordValidationError):
        log.append_as_leader(bytearray(keyless.build()), 0)
    assert log.log_end_offset == 0
    assert fixture.read("00000000000000000000.log") == b""


def test_more_than_a_segment_is_refused(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, segment_bytes=SIZE - 1).open()
    _refused(Errors.RECORD_LIST_TOO_LARGE, log.append_as_leader, batch(), 0)


def test_a_follower_takes_batches_as_they_are(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    chunk = batch(10, epoch=3) + batch(20, epoch=4)
    info = log.append_as_follower(chunk + batch(30)[:50])
    assert (info.first_offset, info.last_offset, info.valid_bytes) == (10, 22, len(chunk))
    assert log_dir.read("00000000000000000000.log") == chunk
    assert log.log_end_offset == 23
    assert log.epochs.entries == [(3, 10), (4, 20)]
    _refused(Errors.UNKNOWN_SERVER_ERROR, log.append_as_follower, batch(22))
    _refused(Errors.UNKNOWN_SERVER_ERROR, log.append_as_follower, batch(40) + batch(30))
    damaged = batch(50)
    damaged[-1] ^= 1
    _refused(Errors.CORRUPT_MESSAGE, log.append_as_follower, damaged)
    assert log.append_as_follower(b"").last_offset == -1
    assert log.log_end_offset == 23


def test_a_full_disk_leaves_the_file_as_it_was(log_dir: LogDirFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_dir.open()
    _fill(log, 1)
    real = os.pwrite

    def disk_with_room_for_ten_bytes(fd: int, data: bytes, position: int) -> int:
        if position != SIZE:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, bytes(data)[:10], position)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", disk_with_room_for_ten_bytes)
        error = _refused(Errors.KAFKA_STORAGE_ERROR, log.append_as_leader, batch(), 0)
    assert "No space left" in str(error)
    assert len(log_dir.failures) == 1
    assert len(log_dir.read("00000000000000000000.log")) == SIZE
    assert log.log_end_offset == 3
    assert log_dir.open(had_clean_shutdown=False).log_end_offset == 3


def test_a_short_write_is_continued(log_dir: LogDirFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_dir.open()
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: real(fd, bytes(data)[:7], position))
    log.append_as_leader(batch(), 0)
    assert len(log_dir.read("00000000000000000000.log")) == SIZE
    assert offsets(log) == [0, 1, 2]


def test_an_append_says_when_flush_messages_wants_a_flush(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, flush_messages=6).open()
    assert not log.append_as_leader(batch(), 0).flush_due
    assert log.append_as_leader(batch(), 0).flush_due
    assert log.append_as_leader(batch(), 0).flush_due
    log.flush()
    assert log.recovery_point == 9
    assert not log.append_as_leader(batch(), 0).flush_due


# -- reading


def test_a_read_begins_at_the_batch_that_holds_the_offset(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 5)
    info = log.read(4, 1 << 20, END, True)
    assert info.fetch_offset_metadata == LogOffsetMetadata(4, 0, SIZE)
    assert len(info.records) == 4 * SIZE
    assert not info.first_entry_incomplete


def test_limits_of_a_read(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 3)
    assert len(log.read(0, 2 * SIZE, END, True).records) == 2 * SIZE
    assert len(log.read(0, SIZE + 5, END, True).records) == SIZE + 5, "cut in the second batch"
    assert len(log.read(0, 1, END, True).records) == SIZE, "the first batch comes whole"
    cut = log.read(0, 1, END, False)
    assert len(cut.records) == 1 and cut.first_entry_incomplete
    assert log.read(0, 0, END, False).records == b""


def test_consumers_see_up_to_the_high_watermark_only(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 3)
    assert log.read(0, 1 << 20, COMMITTED, True).records == b""
    log.update_high_watermark(6)
    assert offsets(log, 0, COMMITTED) == list(range(6))
    at_watermark = log.read(6, 1 << 20, COMMITTED, True)
    assert at_watermark.records == b"" and at_watermark.fetch_offset_metadata == LogOffsetMetadata(6, 0, 2 * SIZE)
    between = log.read(8, 1 << 20, COMMITTED, True)
    assert between.records == b"" and between.fetch_offset_metadata.message_offset == 8


def test_offsets_out_of_range(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 3)
    log.update_high_watermark(9)
    assert log.read(9, 100, END, True).records == b""
    _refused(Errors.OFFSET_OUT_OF_RANGE, log.read, 10, 100, COMMITTED, True)
    log.maybe_increment_log_start_offset(4)
    _refused(Errors.OFFSET_OUT_OF_RANGE, log.read, 3, 100, END, True)
    assert len(log.read(4, 1 << 20, END, True).records) == 2 * SIZE


def test_reads_go_on_in_the_next_segment(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, segment_bytes=2 * SIZE).open()
    _fill(log, 7)
    assert [segment.base_offset for segment in log.log_segments] == [0, 6, 12, 18]
    assert offsets(log) == list(range(21))
    assert len(log.read(3, 1 << 20, END, True).records) == SIZE, "one segment a read"


def test_offsets_that_compaction_removed_are_skipped(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    log.append_as_follower(batch(0) + batch(10) + batch(20))
    assert offsets(log, 4) == [10, 11, 12, 20, 21, 22]
    info = log.read(4, 1 << 20, END, True)
    assert info.fetch_offset_metadata == LogOffsetMetadata(4, 0, SIZE)


def test_a_slice_stays_readable_after_its_segment_is_gone(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_bytes=0, file_delete_delay_ms=0)
    log = fixture.open()
    _fill(log, 2)
    log.update_high_watermark(6)
    data = log.read(0, 1 << 20, END, True).records
    assert not isinstance(data, bytes)
    assert log.delete_old_segments() == 2
    fixture.scheduler.advance(1)
    assert "00000000000000000000.log" not in fixture.files()
    assert len(data.read()) == SIZE
    os.fstat(data.fileno())


def _when_first_called(monkeypatch: pytest.MonkeyPatch, owner: type, name: str, action: Callable[[], object]) -> None:
    """Let `action` come in between, as another thread may, just before the first call of a method."""
    original = getattr(owner, name)
    actions = [action]

    def called(self: object, *arguments: object) -> object:
        if actions:
            actions.pop()()
        return original(self, *arguments)

    monkeypatch.setattr(owner, name, called)


def _log_to_delete(path: Path) -> tuple[LogDirFixture, Log]:
    """27 records of which retention keeps the last 9, each batch 1 ms younger."""
    config = {"segment_bytes": 2 * SIZE, "retention_bytes": 2 * SIZE, "index_interval_bytes": 1}
    fixture = LogDirFixture(path, file_delete_delay_ms=0, **config)
    log = fixture.open()
    for n in range(9):
        _fill(log, 1, timestamp=NOW + n)
    log.close()
    log = fixture.open(recovery_point=27)
    log.update_high_watermark(27)
    return fixture, log


def _delete(fixture: LogDirFixture, log: Log) -> None:
    log.delete_old_segments()
    fixture.scheduler.advance(1)


patches_methods = pytest.mark.skipif(compiled.is_used(), reason="compiled classes call their methods directly")


@patches_methods
@pytest.mark.parametrize("method", ["_open_file", "around"])
def test_a_read_that_meets_a_deletion_is_no_disk_error(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture, log = _log_to_delete(tmp_path)
    _when_first_called(monkeypatch, OffsetIndex, method, lambda: _delete(fixture, log))
    _refused(Errors.OFFSET_OUT_OF_RANGE, log.read, 1, 1 << 20, END, True)
    assert fixture.failures == []
    assert log.log_start_offset == 18


@patches_methods
def test_a_lookup_that_meets_a_deletion_finds_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixture, log = _log_to_delete(tmp_path)
    _when_first_called(monkeypatch, TimeIndex, "_open_file", lambda: _delete(fixture, log))
    assert log.fetch_offset_by_timestamp(NOW) == TimestampAndOffset(NOW + 6, 18, 0)
    assert fixture.failures == []


# -- high watermark


def test_the_high_watermark_only_rises_for_a_leader(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 2)
    assert log.maybe_increment_high_watermark(LogOffsetMetadata(3)) == LogOffsetMetadata(0)
    assert log.maybe_increment_high_watermark(LogOffsetMetadata(3)) is None
    assert log.maybe_increment_high_watermark(LogOffsetMetadata(2)) is None
    with pytest.raises(ValueError, match="exceeds"):
        log.maybe_increment_high_watermark(LogOffsetMetadata(7))
    assert log.end_offset_metadata(FetchIsolation.HIGH_WATERMARK) == LogOffsetMetadata(3, 0, SIZE)
    assert log.maybe_increment_high_watermark(log.log_end_offset_metadata) is not None
    assert log.high_watermark == 6


def test_a_follower_takes_the_leaders_high_watermark_up_to_its_own_end(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 2)
    assert log.maybe_update_high_watermark(100) == 6
    assert log.maybe_update_high_watermark(6) is None
    assert log.maybe_update_high_watermark(4) == 4
    log.maybe_increment_log_start_offset(3)
    assert log.update_high_watermark(0) == 3


def test_a_roll_gives_the_high_watermark_its_new_position(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 1)
    log.update_high_watermark(3)
    log.roll()
    assert log.end_offset_metadata(COMMITTED) == LogOffsetMetadata(3, 3, 0)


def test_bytes_between_offsets() -> None:
    first, second = LogOffsetMetadata(1, 0, 10), LogOffsetMetadata(5, 0, 90)
    assert second.position_diff(first) == 80
    later = LogOffsetMetadata(9, 6, 0)
    assert first.on_older_segment(later) and not later.on_older_segment(first)
    unknown = LogOffsetMetadata(9)
    assert unknown.message_offset_only and not unknown.on_same_segment(first)
    for other in (later, unknown):
        with pytest.raises(ValueError, match="cannot compare"):
            other.position_diff(first)


# -- rolling


def test_a_segment_rolls_by_the_time_of_its_records(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_ms=1000)
    log = fixture.open()
    _fill(log, 1, timestamp=NOW)
    _fill(log, 1, timestamp=NOW + 1000)
    assert len(log.segments) == 1
    _fill(log, 1, timestamp=NOW + 1001)
    assert [segment.base_offset for segment in log.log_segments] == [0, 6]
    fixture.time.advance(10_000)
    _fill(log, 1, timestamp=NOW + 1001)
    assert len(log.segments) == 2, "the clock does not matter where records have timestamps"


def test_a_segment_without_timestamps_rolls_by_the_clock(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_ms=1000)
    log = fixture.open()
    fixture.time.advance(5000)
    _fill(log, 1, timestamp=-1)
    assert len(log.segments) == 1, "an empty segment does not roll"
    _fill(log, 1, timestamp=-1)
    assert len(log.segments) == 2


def test_a_reopened_segment_still_knows_its_first_timestamp(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_ms=1000)
    log = fixture.open()
    _fill(log, 1, timestamp=NOW)
    log.close()
    log = fixture.open()
    _fill(log, 1, timestamp=NOW + 1001)
    assert len(log.segments) == 2


def test_a_full_index_rolls(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, segment_index_bytes=36, index_interval_bytes=0).open()
    for n in range(12):
        _fill(log, 1, timestamp=NOW + n)
    # 3 slots of the time index, the last one kept for the roll; the first batch has no entry.
    assert [segment.base_offset for segment in log.log_segments] == [0, 9, 18, 27]
    assert offsets(log) == list(range(36))


def test_offsets_that_do_not_fit_an_index_entry_roll(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    log.append_as_follower(batch(0))
    far = (1 << 31) + 5
    log.append_as_follower(batch(far))
    assert [segment.base_offset for segment in log.log_segments] == [0, far]
    assert offsets(log) == [0, 1, 2, far, far + 1, far + 2]


def test_a_roll_trims_the_old_indexes_and_takes_a_snapshot(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=2 * SIZE, index_interval_bytes=1)
    log = fixture.open()
    _fill(log, 3)
    assert len(fixture.read("00000000000000000000.index")) == 8
    assert len(fixture.read("00000000000000000000.timeindex")) == 12
    assert len(fixture.read("00000000000000000006.index")) == 10485760
    assert len(fixture.read("00000000000000000006.snapshot")) == 10
    fixture.scheduler.advance(0)
    assert log.recovery_point == 6, "the old segment is flushed in the background"


def test_preallocated_segments_are_trimmed(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, preallocate=True, segment_bytes=2 * SIZE)
    log = fixture.open()
    _fill(log, 3)
    assert len(fixture.read("00000000000000000000.log")) == 2 * SIZE
    assert len(fixture.read("00000000000000000006.log")) == 2 * SIZE
    assert offsets(log) == list(range(9))
    recovered = fixture.open(had_clean_shutdown=False)
    assert offsets(recovered) == list(range(9))
    recovered.close()
    assert len(fixture.read("00000000000000000006.log")) == SIZE


# -- look-ups


def test_lookups_by_timestamp(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, segment_bytes=3 * SIZE, index_interval_bytes=1).open()
    for n in range(10):
        _fill(log, 1, timestamp=NOW + 10 * n)
    log.update_high_watermark(30)
    assert log.fetch_offset_by_timestamp(0) == TimestampAndOffset(NOW, 0, 0)
    assert log.fetch_offset_by_timestamp(NOW + 41) == TimestampAndOffset(NOW + 50, 15, 0)
    assert log.fetch_offset_by_timestamp(NOW + 90) == TimestampAndOffset(NOW + 90, 27, 0)
    assert log.fetch_offset_by_timestamp(NOW + 91) is None
    log.maybe_increment_log_start_offset(4)
    assert log.fetch_offset_by_timestamp(0) == TimestampAndOffset(NOW + 10, 4, 0), "not below the log start"


def test_lookup_within_a_batch_and_out_of_order(log_dir: LogDirFixture) -> None:
    builder = MemoryRecordsBuilder(partition_leader_epoch=2)
    for timestamp in (NOW, NOW + 30, NOW + 10, NOW + 30):
        builder.append(timestamp, b"k", b"v")
    log = log_dir.open()
    log.append_as_follower(builder.build())
    assert log.fetch_offset_by_timestamp(NOW + 5) == TimestampAndOffset(NOW + 30, 1, 2)
    assert log.fetch_offset_by_timestamp(-3) == TimestampAndOffset(NOW + 30, 1, 2)


def test_special_timestamps(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    assert log.fetch_offset_by_timestamp(-1) == TimestampAndOffset(-1, 0, None)
    assert log.fetch_offset_by_timestamp(-2) == TimestampAndOffset(-1, 0, None)
    assert log.fetch_offset_by_timestamp(-3) is None
    _fill(log, 2)
    log.append_as_leader(batch(timestamp=NOW - 5), 3)
    log.update_high_watermark(9)
    log.maybe_increment_log_start_offset(1)
    assert log.fetch_offset_by_timestamp(-1) == TimestampAndOffset(-1, 9, 3)
    assert log.fetch_offset_by_timestamp(-2) == TimestampAndOffset(-1, 1, 0)
    assert log.fetch_offset_by_timestamp(-4) == TimestampAndOffset(-1, 1, 0)
    assert log.fetch_offset_by_timestamp(-5) == TimestampAndOffset(-1, -1, -1)
    assert log.fetch_offset_by_timestamp(-3) == TimestampAndOffset(NOW, 0, 0)


def test_legacy_lookup_by_file_times(tmp_path: Path) -> None:
    log = LogDirFixture(tmp_path, segment_bytes=SIZE).open()
    _fill(log, 3)
    for number, segment in enumerate(log.log_segments):
        segment.set_last_modified(NOW - 1000 + 100 * number)
    assert log.legacy_fetch_offsets_before(-1, 10) == [9, 6, 3, 0]
    assert log.legacy_fetch_offsets_before(-1, 2) == [9, 6]
    assert log.legacy_fetch_offsets_before(-2, 10) == [0]
    assert log.legacy_fetch_offsets_before(NOW - 900, 10) == [3, 0]
    assert log.legacy_fetch_offsets_before(NOW - 2000, 10) == []
    assert log.legacy_fetch_offsets_before(NOW, 1) == [9]


def test_end_of_an_epoch(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    assert log.end_offset_for_epoch(0) is None
    log.append_as_leader(batch(), 1)
    log.append_as_leader(batch(), 4)
    assert log.end_offset_for_epoch(1) == log.end_offset_for_epoch(3) == (1, 3)
    assert log.end_offset_for_epoch(4) == (4, 6)
    assert log.end_offset_for_epoch(5) is None
    log.maybe_assign_epoch_start_offset(6, 6)
    assert (log.latest_epoch, log.end_offset_for_epoch(4)) == (6, (4, 6))
    assert b"6 6" not in log_dir.read("leader-epoch-checkpoint")
    log_dir.scheduler.advance(1000)
    assert b"6 6" in log_dir.read("leader-epoch-checkpoint")
    log.maybe_assign_epoch_start_offset(7, 6)
    log.append_as_leader(batch(), 7)
    assert b"7 6" in log_dir.read("leader-epoch-checkpoint"), "before any batch of the epoch"


# -- truncation


def test_truncation_cuts_records_indexes_epochs_and_high_watermark(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=2 * SIZE, index_interval_bytes=1)
    log = fixture.open()
    for epoch in range(5):
        log.append_as_leader(batch(timestamp=NOW + epoch), epoch)
    log.update_high_watermark(15)
    log.flush()
    assert log.truncate_to(8)
    assert offsets(log) == list(range(6)), "a batch goes as a whole"
    assert (log.log_end_offset, log.high_watermark, log.recovery_point) == (8, 8, 8)
    assert log.epochs.entries == [(0, 0), (1, 3), (2, 6)]
    assert log.active_segment.max_timestamp_so_far == -1
    assert not log.truncate_to(8) and not log.truncate_to(100)
    log.append_as_leader(batch(), 7)
    assert offsets(log) == [0, 1, 2, 3, 4, 5, 8, 9, 10]
    fixture.scheduler.advance(60_000)
    assert not any(name.endswith(".deleted") for name in fixture.files())
    with pytest.raises(ValueError, match="negative"):
        log.truncate_to(-1)


def test_an_epoch_without_records_goes_with_a_truncation_that_cuts_nothing(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 1)
    log.maybe_assign_epoch_start_offset(9, 3)
    assert not log.truncate_to(3)
    assert log.latest_epoch == 0


def test_truncation_below_the_first_segment_and_full_truncation(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE)
    log = fixture.open()
    _fill(log, 4)
    log.update_high_watermark(12)
    log.maybe_increment_log_start_offset(6)
    log.delete_old_segments()
    assert log.truncate_to(2)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (2, 2, 2)
    _fill(log, 1)
    log.truncate_fully_and_start_at(50, 40)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (40, 50, 50)
    assert log.latest_epoch is None
    _fill(log, 1)
    assert records(log, 50) == [(50, b"v0"), (51, b"v1"), (52, b"v2")]
    fixture.scheduler.advance(60_000)
    log.close()
    assert offsets(fixture.open(), 50) == [50, 51, 52]


def test_truncation_forgets_producers_behind_it(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    for sequence in range(4):
        log.append_as_leader(batch(0, [b"x"], producer=(1, 0, sequence)), 0)
    log.append_as_leader(batch(0, [b"x"], producer=(2, 0, 0), transactional=True), 0)
    log.update_high_watermark(5)
    assert log.last_stable_offset == 4
    log.truncate_to(2)
    assert log.last_stable_offset == 2
    assert {entry.producer_id: entry.last_seq for entry in log.active_producers()} == {1: 1}
    log.append_as_leader(batch(0, [b"x"], producer=(1, 0, 2)), 0)


# -- ids and life


def test_a_log_belongs_to_one_topic_id(log_dir: LogDirFixture) -> None:
    log = log_dir.open(topic_id=b"0123456789abcdef")
    assert log.topic_id == b"0123456789abcdef"
    log.assign_topic_id(b"0123456789abcdef")
    _refused(Errors.INCONSISTENT_TOPIC_ID, log.assign_topic_id, b"x" * 16)
    log.close()
    assert log_dir.open().topic_id == b"0123456789abcdef"
    with pytest.raises(KafkaError):
        log_dir.open(topic_id=b"x" * 16)


def test_a_closed_log_refuses_work(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 1)
    log.close()
    _refused(Errors.KAFKA_STORAGE_ERROR, log.append_as_leader, batch(), 0)
    _refused(Errors.KAFKA_STORAGE_ERROR, log.append_as_follower, batch(3))
    _refused(Errors.KAFKA_STORAGE_ERROR, log.truncate_to, 0)
    log.flush()
    assert log_dir.failures == []


def test_renaming_and_deleting_the_directory(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 2)
    log.roll()
    name = "t-0.0123456789abcdef0123456789abcdef-delete"
    log.rename_dir(name)
    assert log.directory.endswith(name) and not Path(log_dir.directory).exists()
    assert offsets(log) == list(range(6))
    log.flush()
    log.delete()
    assert not Path(log.directory).exists()
    log_dir.scheduler.advance(100_000)
    assert log_dir.failures == []


def test_a_directory_is_not_renamed_while_a_file_is_written_in_it(
    log_dir: LogDirFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic is deleted a second after it was made, just when its epoch is written in the background."""
    log = log_dir.open()
    log.maybe_assign_epoch_start_offset(0, 0)
    renaming = threading.Thread(target=log.rename_dir, args=("t-0.0123456789abcdef0123456789abcdef-delete",))
    replace = os.replace

    def replace_while_renaming(source: str, destination: str) -> None:
        renaming.start()
        renaming.join(0.1)
        replace(source, destination)

    monkeypatch.setattr(os, "replace", replace_while_renaming)
    log_dir.scheduler.advance(SYNC_DELAY_MS)
    renaming.join(HANG_SECONDS)
    assert log_dir.failures == []
    assert log.directory.endswith("-delete")
    assert LeaderEpochCheckpointFile(log.directory).read() == [(0, 0)]


def test_a_flush_goes_on_in_the_renamed_directory(log_dir: LogDirFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_dir.open()
    _fill(log, 1)
    synced: list[str] = []
    fsync = os.fsync

    def rename_and_fsync(fd: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        if not synced:
            synced.append(path)
            log.rename_dir("t-1")
        synced.append(path)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", rename_and_fsync)
    log.flush()
    assert log.recovery_point == 3
    renamed = f"{log_dir.directory[:-1]}1"
    assert synced[0].startswith(log_dir.directory)
    assert {f"{renamed}/00000000000000000000.log", f"{renamed}/leader-epoch-checkpoint", renamed} <= set(synced)
    assert log_dir.failures == []


def test_files_that_go_while_the_directory_is_deleted(log_dir: LogDirFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old segments of a deleted log are removed by a task of their own, at about the same time."""
    log = log_dir.open()
    _fill(log, 1)
    unlink = os.unlink
    gone: list[str] = []

    def unlink_twice(path: str, **arguments: int) -> None:
        unlink(path, **arguments)
        if not gone:
            gone.append(path)
            unlink(path, **arguments)

    monkeypatch.setattr(os, "unlink", unlink_twice)
    log.delete()
    assert gone
    assert not Path(log_dir.directory).exists()
    assert log_dir.failures == []


def test_an_offline_dir_is_reported_once_for_reads(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    _fill(log, 1)
    log.close()
    log = log_dir.open()
    os.rename(log_dir.directory, log_dir.directory + "x")
    _refused(Errors.KAFKA_STORAGE_ERROR, log.read, 0, 100, END, True)
    assert log_dir.failures == ["Error while reading for t-0 in dir " + str(Path(log_dir.directory).parent)]


def test_clean_restart_keeps_everything(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=3 * SIZE, index_interval_bytes=1)
    log = fixture.open()
    for sequence in range(0, 30, 3):
        log.append_as_leader(batch(producer=(5, 0, sequence)), 0)
    before = records(log)
    log.flush(True)
    log.close()
    assert len(fixture.read("00000000000000000027.index")) == 0
    again = fixture.open(recovery_point=30)
    assert records(again) == before
    assert (again.log_end_offset, again.recovery_point) == (30, 30)
    assert again.append_as_leader(batch(producer=(5, 0, 27)), 0).duplicate
    again.append_as_leader(batch(producer=(5, 0, 30)), 0)
    assert offsets(again) == list(range(33))


@pytest.mark.parametrize("hot", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_every_offset_is_found_whatever_the_sizes_of_batches(tmp_path: Path, hot: bool, seed: int) -> None:
    sizes = random.Random(seed)
    fixture = LogDirFixture(tmp_path)
    log = fixture.open()
    expected: list[tuple[int, int]] = []
    for size in sizes.choices([10, 1000, 9000, 20_000], k=60):
        data = batch(values=[b"x" * (size // 3)] * 3)
        expected += [(log.active_segment.size, len(data))] * 3
        log.append_as_leader(data, 0)
    log.close()
    segment = fixture.open().active_segment
    if not hot:
        segment.offset_index.trim_to_valid_size()
    assert [segment.translate_offset(offset) for offset in range(len(expected))] == expected
    assert segment.translate_offset(len(expected)) is None


def test_one_read_finds_a_large_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixture = LogDirFixture(tmp_path)
    log = fixture.open()
    for _ in range(20):
        size = log.append_as_leader(batch(values=[b"x" * 8000] * 2), 0).valid_bytes
    log.close()
    segment = fixture.open().active_segment
    segment.offset_index.heat()
    read, positions = page_cache.read, []

    def count(fd: int, size: int, position: int) -> bytes | bytearray:
        positions.append(position)
        return read(fd, size, position)

    monkeypatch.setattr(page_cache, "read", count)
    assert [segment.translate_offset(offset) for offset in (14, 15)] == [(7 * size, size)] * 2
    assert positions == [7 * size] * 2
