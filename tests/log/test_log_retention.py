"""What retention deletes, and what it may not touch."""

from __future__ import annotations

from pathlib import Path

from kafkapy.log.log import Log
from tests.log.log_support import NOW, LogDirFixture, batch, offsets

SIZE = len(batch())


def _log(fixture: LogDirFixture, timestamps: list[int], high_watermark: int | None = None) -> Log:
    """One segment for each batch of three records."""
    log = fixture.open()
    for timestamp in timestamps:
        log.append_as_leader(batch(timestamp=timestamp), 0)
    log.update_high_watermark(log.log_end_offset if high_watermark is None else high_watermark)
    return log


def test_by_time_from_the_oldest_on(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_ms=1000)
    log = _log(fixture, [NOW - 1001, NOW - 1001, NOW - 1000, NOW - 5000])
    assert log.delete_old_segments() == 2
    assert (log.log_start_offset, offsets(log, 6)) == (6, [6, 7, 8, 9, 10, 11]), "a younger one stops it"
    fixture.time.advance(1)
    assert log.delete_old_segments() == 2
    assert [(s.base_offset, s.size) for s in log.log_segments] == [(12, 0)], "a new active segment was rolled"
    assert (log.log_start_offset, log.log_end_offset) == (12, 12)
    assert log.delete_old_segments() == 0


def test_by_time_of_the_file_where_records_have_none(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_ms=1000)
    log = _log(fixture, [-1, -1])
    for segment in log.log_segments:
        segment.set_last_modified(NOW)
    log.log_segments[0].set_last_modified(NOW - 1001)
    assert log.delete_old_segments() == 1


def test_by_size(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_bytes=2 * SIZE + 1, retention_ms=-1)
    log = _log(fixture, [NOW] * 5)
    assert log.delete_old_segments() == 2
    assert (log.size, log.log_start_offset) == (3 * SIZE, 6)


def test_not_above_the_high_watermark(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_ms=0, retention_bytes=0)
    log = _log(fixture, [NOW - 10] * 4, high_watermark=7)
    assert log.delete_old_segments() == 2
    assert log.log_start_offset == 6
    log.update_high_watermark(12)
    assert log.delete_old_segments() == 2


def test_below_the_log_start_whatever_the_policy(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, cleanup_policy=["compact"], retention_ms=0)
    log = _log(fixture, [NOW - 10] * 4)
    assert log.delete_old_segments() == 0
    log.maybe_increment_log_start_offset(7)
    assert log.delete_old_segments() == 2
    assert [segment.base_offset for segment in log.log_segments] == [6, 9]
    assert log.log_start_offset == 7


def test_compact_and_delete_does_both(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, cleanup_policy=["compact", "delete"], retention_ms=0)
    log = _log(fixture, [NOW - 10] * 4)
    assert log.delete_old_segments() == 4


def test_unlimited_retention_deletes_nothing(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_ms=-1)
    log = _log(fixture, [0] * 4)
    assert log.delete_old_segments() == 0


def test_files_go_after_the_delay_with_their_snapshots(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_ms=0, file_delete_delay_ms=500)
    log = _log(fixture, [NOW - 10] * 3)
    log.delete_old_segments()
    deleted = [name for name in fixture.files() if name.endswith(".deleted")]
    assert {name.split(".", 1)[1] for name in deleted} == {
        "log.deleted", "index.deleted", "timeindex.deleted", "snapshot.deleted",
    }  # fmt: skip
    fixture.scheduler.advance(499)
    assert [name for name in fixture.files() if name.endswith(".deleted")] == deleted
    fixture.scheduler.advance(1)
    assert fixture.files() == [
        "00000000000000000009.index", "00000000000000000009.log", "00000000000000000009.snapshot",
        "00000000000000000009.timeindex", "leader-epoch-checkpoint",
    ]  # fmt: skip


def test_epochs_below_the_log_start_are_cut(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=SIZE, retention_bytes=SIZE, retention_ms=-1)
    log = fixture.open()
    for epoch in range(4):
        log.append_as_leader(batch(), epoch)
    log.update_high_watermark(12)
    log.delete_old_segments()
    assert log.epochs.entries == [(3, 9)]
