"""Opening a log after a crash: torn batches, missing and stale files, interrupted swaps."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import pytest

from kafkapy.log.log import AppendOrigin, FetchIsolation, Log
from kafkapy.log.producers.producer_snapshot import encode_snapshot
from kafkapy.log.producers.producer_state import ProducerStateEntry, RetainedBatch
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.protocol.errors import KafkaError
from kafkapy.record.record_batch import RecordBatch
from tests.log.log_support import NOW, LogDirFixture, batch, marker, offsets, records

SIZE = len(batch())


@pytest.fixture
def small(tmp_path: Path) -> LogDirFixture:
    """Three batches a segment, an index entry for each batch."""
    return LogDirFixture(tmp_path, segment_bytes=3 * SIZE, index_interval_bytes=1, segment_index_bytes=1000)


def _fill(log: Log, count: int) -> None:
    for _ in range(count):
        log.append_as_leader(batch(timestamp=NOW + log.log_end_offset), 0)


def _crash_and_open(fixture: LogDirFixture, **arguments: Any) -> Log:
    """What is on disk is all that is left."""
    log = fixture.open(had_clean_shutdown=False, **arguments)
    assert fixture.failures == []
    return log


def _check_indexes(log: Log) -> None:
    """Every entry of every index leads to the right place."""
    for segment in log.log_segments:
        positions = {header.position: header for header in segment.headers_from(0)}
        index, times = segment.offset_index, segment.time_index
        for slot in range(index.entries):
            offset, position = index.entry(slot)
            assert positions[position].last_offset == offset
        for slot in range(times.entries):
            timestamp, offset = times.entry(slot)
            assert max(h.max_timestamp for h in positions.values() if h.last_offset <= offset) == timestamp
        assert segment.max_timestamp_so_far == max((h.max_timestamp for h in positions.values()), default=-1)


def test_everything_that_reached_the_page_cache_survives_a_kill(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 8)
    before = records(log)
    again = _crash_and_open(small)
    assert records(again) == before
    assert (again.log_end_offset, again.recovery_point, again.latest_epoch) == (24, 0, 0)
    _check_indexes(again)
    _fill(again, 3)
    assert offsets(again) == list(range(33))


def test_a_cut_at_any_byte_loses_the_torn_batch_only(small: LogDirFixture, tmp_path: Path) -> None:
    log = small.open()
    _fill(log, 5)
    log_file = Path(small.directory) / "00000000000000000009.log"
    saved = tmp_path / "saved"
    shutil.copytree(small.directory, saved)
    for length in range(2 * SIZE + 1):
        shutil.rmtree(small.directory)
        shutil.copytree(saved, small.directory)
        os.truncate(log_file, length)
        again = _crash_and_open(small)
        whole = length // SIZE
        assert again.log_end_offset == 9 + 3 * whole
        assert len(log_file.read_bytes()) == whole * SIZE
        assert offsets(again) == list(range(9 + 3 * whole))
        _check_indexes(again)


def test_a_damaged_byte_anywhere_ends_the_log_there(small: LogDirFixture, tmp_path: Path) -> None:
    log = small.open()
    _fill(log, 5)
    saved = tmp_path / "saved"
    shutil.copytree(small.directory, saved)
    # Base offset and leader epoch are not under the CRC (bytes 0-7, 12-15): a flip there shows as other offsets or epochs.
    for position in [*range(8, 12), *range(16, SIZE)]:
        shutil.rmtree(small.directory)
        shutil.copytree(saved, small.directory)
        with (Path(small.directory) / "00000000000000000000.log").open("r+b") as file:
            file.seek(SIZE + position)
            byte = file.read(1)[0]
            file.seek(SIZE + position)
            file.write(bytes([byte ^ 0x55]))
        again = _crash_and_open(small)
        assert offsets(again) == [0, 1, 2], position
        assert [segment.base_offset for segment in again.log_segments] == [0], "later segments are dropped"
        again.append_as_leader(batch(), 1)
        assert offsets(again) == [0, 1, 2, 3, 4, 5]


def test_garbage_behind_the_end_is_cut_off(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 1)
    generator = random.Random(7)
    for garbage in [bytes(100), b"\xff" * 100, generator.randbytes(500), b"\0" * 8 + b"\0\0\0\x0e" + bytes(30)]:
        with (Path(small.directory) / "00000000000000000000.log").open("ab") as file:
            file.write(garbage)
        assert offsets(_crash_and_open(small)) == [0, 1, 2]


def test_only_segments_past_the_recovery_point_are_looked_at(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 8)
    log.flush()
    with (Path(small.directory) / "00000000000000000000.log").open("r+b") as file:
        file.seek(SIZE - 1)
        file.write(b"!")
    left: list[int] = []
    again = _crash_and_open(small, recovery_point=20, on_segments_left=left.append)
    assert (again.log_end_offset, again.recovery_point, left) == (24, 20, [1, 0])


def test_indexes_are_rebuilt_when_missing_or_wrong(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 8)
    log.close()
    expected = {name: small.read(name) for name in small.files()}
    os.unlink(Path(small.directory) / "00000000000000000000.index")
    again = small.open(recovery_point=24)
    assert records(again) == records(small.open(recovery_point=24))
    assert small.read("00000000000000000000.index") == expected["00000000000000000000.index"]
    assert small.read("00000000000000000000.timeindex") == expected["00000000000000000000.timeindex"]
    (Path(small.directory) / "00000000000000000009.index").write_bytes(b"nonsense" * 3)
    (Path(small.directory) / "00000000000000000009.timeindex").write_bytes(b"x")
    again = _crash_and_open(small)
    _check_indexes(again)
    again.close()
    assert {name: small.read(name) for name in small.files() if "index" in name} == {
        name: content for name, content in expected.items() if "index" in name
    }


def test_a_missing_time_index_is_made_anew_empty_after_a_clean_stop(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 4)
    log.close()
    os.unlink(Path(small.directory) / "00000000000000000000.timeindex")
    again = small.open(recovery_point=12)
    assert offsets(again) == list(range(12))
    assert again.fetch_offset_by_timestamp(NOW) is not None


def test_an_orphaned_index_goes(small: LogDirFixture) -> None:
    _fill(small.open(), 1)
    (Path(small.directory) / "00000000000000000077.index").write_bytes(b"")
    (Path(small.directory) / "00000000000000000077.txnindex").write_bytes(b"")
    _crash_and_open(small)
    assert not any("77" in name for name in small.files())


def test_deleted_and_cleaned_files_go(small: LogDirFixture) -> None:
    _fill(small.open(), 1)
    for name in ("00000000000000000050.log.deleted", "00000000000000000003.log.cleaned", "9.snapshot.deleted"):
        (Path(small.directory) / name).write_bytes(b"left over")
    assert offsets(small.open()) == [0, 1, 2]
    assert not any(name.endswith((".deleted", ".cleaned")) for name in small.files())


def _cleaned(fixture: LogDirFixture, *batches: bytearray) -> LogSegment:
    """A cleaner's finished output: first batch's base offset is the segment's."""
    base = int.from_bytes(batches[0][:8], "big")
    segment = LogSegment.create(fixture.directory, base, fixture.config, fixture.time, ".cleaned")
    for one in batches:
        segment.append(one, [RecordBatch(one)])
    segment.on_become_inactive()
    segment.flush()
    return segment


def test_replacing_segments(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 10)
    old = log.log_segments[:2]
    reader = log.read(0, 1 << 20, FetchIsolation.LOG_END, True).records
    log.replace_segments([_cleaned(small, batch(0, [b"kept"]), batch(16, [b"kept too"]))], old)
    assert records(log)[:4] == [(0, b"kept"), (16, b"kept too"), (18, b"v0"), (19, b"v1")]
    assert not isinstance(reader, bytes) and len(reader.read()) == 3 * SIZE
    assert [segment.base_offset for segment in log.log_segments] == [0, 18, 27]
    again = _crash_and_open(small)
    assert records(again) == records(log)
    assert "00000000000000000009.snapshot" not in small.files()
    small.scheduler.advance(60_000)
    assert not any(name.endswith((".deleted", ".swap", ".cleaned")) for name in small.files())


class _PowerCut(BaseException):
    pass


@pytest.mark.parametrize("step", range(14))
def test_a_crash_at_any_step_of_a_replacement(small: LogDirFixture, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = small.open()
    _fill(log, 10)
    before = records(log)
    new = [_cleaned(small, batch(0, [b"a"])), _cleaned(small, batch(16, [b"b"]))]
    after = [(0, b"a"), (16, b"b"), *(record for record in before if record[0] >= 18)]
    calls = 0
    rename = os.rename

    def failing_rename(source: str, target: str) -> None:
        nonlocal calls
        if calls == step:
            raise _PowerCut
        calls += 1
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing_rename)
        with pytest.raises(_PowerCut):
            log.replace_segments(new, log.log_segments[:2])
    again = _crash_and_open(small)
    assert records(again) in (before, after)
    assert not any(name.endswith((".swap", ".cleaned", ".deleted")) for name in small.files())


def test_no_segments_begin_at_the_log_start(log_dir: LogDirFixture) -> None:
    os.makedirs(log_dir.directory)
    log = _crash_and_open(log_dir, log_start_offset=42, recovery_point=50)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (42, 42, 42)
    assert log_dir.files()[0] == "00000000000000000042.index"


def test_segments_that_end_below_the_log_start_are_dropped(small: LogDirFixture) -> None:
    _fill(small.open(), 5)
    log = _crash_and_open(small, log_start_offset=100)
    assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (100, 100, None)
    assert [segment.base_offset for segment in log.log_segments] == [100]


def test_the_log_start_checkpoint_holds_unless_the_segments_begin_later(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 5)
    assert _crash_and_open(small, log_start_offset=4).log_start_offset == 4
    log.update_high_watermark(15)
    log.maybe_increment_log_start_offset(9)
    log.delete_old_segments()
    assert _crash_and_open(small, log_start_offset=4).log_start_offset == 9


def test_epochs_are_learned_again_from_the_batches(small: LogDirFixture) -> None:
    log = small.open()
    for epoch in (1, 1, 4, 7):
        log.append_as_leader(batch(), epoch)
    os.unlink(Path(small.directory) / "leader-epoch-checkpoint")
    assert _crash_and_open(small).epochs.entries == [(1, 0), (4, 6), (7, 9)]


def test_epochs_beyond_the_end_are_cut(small: LogDirFixture) -> None:
    log = small.open()
    for epoch in range(3):
        log.append_as_leader(batch(), epoch)
    os.truncate(Path(small.directory) / "00000000000000000000.log", 2 * SIZE)
    assert _crash_and_open(small).epochs.entries == [(0, 0), (1, 3)]


def _transactions(log: Log) -> None:
    def append(producer: int, sequence: int, transactional: bool) -> None:
        log.producers.verifications.clear()  # as where transactions are not verified
        log.append_as_leader(batch(0, [b"x"], producer=(producer, 0, sequence), transactional=transactional), 0)

    append(1, 0, True)
    append(2, 0, False)
    append(3, 0, True)
    log.append_as_leader(marker(0, 1, commit=False), 0, AppendOrigin.COORDINATOR)
    append(1, 1, True)
    log.append_as_leader(marker(0, 1, commit=True), 0, AppendOrigin.COORDINATOR)
    append(2, 1, False)
    append(1, 2, True)


@pytest.mark.parametrize("segment_batches", [1, 2, 3, 100])
@pytest.mark.parametrize("keep_snapshots", [True, False])
def test_producers_and_transactions_come_back(tmp_path: Path, segment_batches: int, keep_snapshots: bool) -> None:
    fixture = LogDirFixture(tmp_path, segment_bytes=segment_batches * 80, index_interval_bytes=1)
    log = fixture.open()
    _transactions(log)
    log.update_high_watermark(8)
    expected = {e.producer_id: (e.last_seq, e.current_txn_first_offset) for e in log.active_producers()}
    txn_indexes = {name: fixture.read(name) for name in fixture.files() if name.endswith(".txnindex")}
    assert txn_indexes
    if not keep_snapshots:
        for name in fixture.files():
            if name.endswith(".snapshot"):
                os.unlink(Path(fixture.directory) / name)
    again = _crash_and_open(fixture)
    again.update_high_watermark(8)
    assert {e.producer_id: (e.last_seq, e.current_txn_first_offset) for e in again.active_producers()} == expected
    assert again.last_stable_offset == log.last_stable_offset == 2
    rebuilt = {
        name: fixture.read(name) for name in fixture.files() if name.endswith(".txnindex") and fixture.read(name)
    }
    assert rebuilt == txn_indexes
    again.append_as_leader(marker(0, 3, commit=True), 0, AppendOrigin.COORDINATOR)
    again.update_high_watermark(9)
    assert again.last_stable_offset == 7
    assert again.append_as_leader(batch(0, [b"x"], producer=(2, 0, 1)), 0).duplicate
    aborted = again.read(0, 1 << 20, FetchIsolation.TXN_COMMITTED, True).aborted_transactions
    assert aborted == [(1, 0)]


def test_the_snapshot_at_the_end_is_what_a_clean_start_loads(small: LogDirFixture) -> None:
    log = small.open()
    log.append_as_leader(batch(producer=(5, 0, 0)), 0)
    log.close()
    assert "00000000000000000003.snapshot" in small.files()
    # If the batches were read again the producer would be known at its second batch.
    (Path(small.directory) / "00000000000000000003.snapshot").unlink()
    again = small.open(recovery_point=3)
    assert again.active_producers() == [], "a cleanly stopped log without snapshots is not scanned"


def test_a_recovered_log_gets_its_last_snapshot_when_it_is_closed(small: LogDirFixture) -> None:
    """Of thousands of logs that were killed none has a file written for nothing."""
    log = small.open()
    for number in range(5):
        log.append_as_leader(batch(producer=(5, 0, 3 * number)), 0)
    snapshots = [name for name in small.files() if name.endswith(".snapshot")]
    assert snapshots == ["00000000000000000009.snapshot"]
    again = _crash_and_open(small)
    assert [(e.producer_id, e.last_seq) for e in again.active_producers()] == [(5, 14)]
    assert [name for name in small.files() if name.endswith(".snapshot")] == snapshots
    again.close()
    assert "00000000000000000015.snapshot" in small.files()
    closed = small.open(recovery_point=15)
    assert [(e.producer_id, e.last_seq) for e in closed.active_producers()] == [(5, 14)]


@pytest.mark.parametrize("at", [4, 6, 9])
def test_snapshots_of_records_that_a_crash_has_undone_do_not_count(tmp_path: Path, at: int) -> None:
    fixture = LogDirFixture(tmp_path)
    log = fixture.open()
    log.append_as_leader(batch(producer=(5, 0, 0)), 0)
    log.append_as_leader(batch(producer=(5, 0, 3)), 0)
    stale = Path(fixture.directory) / f"{at:020d}.snapshot"
    stale.write_bytes(encode_snapshot([ProducerStateEntry(7, 0, batch=RetainedBatch(0, at - 1, 0, NOW))]))
    again = _crash_and_open(fixture)
    assert [e.producer_id for e in again.active_producers()] == [5]
    assert stale.exists() == (at == again.log_end_offset)
    again.close()
    closed = fixture.open(recovery_point=6)
    assert [(e.producer_id, e.last_seq) for e in closed.active_producers()] == [(5, 5)]


def test_a_producer_that_was_idle_too_long_is_not_known_after_a_crash(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path)
    fixture.open().append_as_leader(batch(producer=(5, 0, 0)), 0)
    fixture.time.advance(1000)
    assert _crash_and_open(fixture, producer_id_expiration_ms=1001).active_producers() != []
    assert _crash_and_open(fixture, producer_id_expiration_ms=1000).active_producers() == []


def test_nothing_is_looked_for_in_the_directory_of_a_new_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic may have thousands of partitions."""
    fixture = LogDirFixture(tmp_path)
    scandir, opened = Mock(wraps=os.scandir), Mock(wraps=os.open)
    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "open", opened)
    fixture.open(topic_id=b"x" * 16)
    assert len(scandir.mock_calls) == 1
    read = [asked.args[0] for asked in opened.mock_calls if asked.args[1] & os.O_ACCMODE == os.O_RDONLY]
    assert read == []
    assert fixture.open().topic_id == b"x" * 16


def test_a_log_of_one_segment_recovers_with_one_look_at_its_directory_and_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker that was killed has thousands of them."""
    fixture = LogDirFixture(tmp_path)
    _fill(fixture.open(), 2)
    listdir, scandir = Mock(wraps=os.listdir), Mock(wraps=os.scandir)
    monkeypatch.setattr(os, "listdir", listdir)
    monkeypatch.setattr(os, "scandir", scandir)
    with caplog.at_level("INFO", "kafkapy.log"):
        log = _crash_and_open(fixture)
    assert log.log_end_offset == 6
    assert [*listdir.mock_calls, *scandir.mock_calls] == [call(fixture.directory)]
    assert caplog.messages == []


def test_a_log_that_waits_for_removal_opens_without_recovery(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path)
    log = fixture.open()
    _fill(log, 1)
    log.rename_dir("t-0.0123456789abcdef0123456789abcdef-delete")
    fixture.directory = log.directory
    again = fixture.open(had_clean_shutdown=False)
    again.delete()
    assert not Path(log.directory).exists()


def test_a_wrong_topic_id_stops_the_load(small: LogDirFixture) -> None:
    small.open(topic_id=b"a" * 16)
    with pytest.raises(KafkaError):
        small.open(topic_id=b"b" * 16)


def _with_base_offset(fixture: LogDirFixture, segment: int, number: int, base_offset: int) -> None:
    """The batch of this number in a segment gets other offsets: no checksum covers them."""
    with (Path(fixture.directory) / f"{segment:020d}.log").open("r+b") as file:
        file.seek(number * SIZE)
        file.write(base_offset.to_bytes(8, "big"))


@pytest.mark.parametrize(
    ("number", "wrong"), [(1, 1), (1, 0), (1, 1 << 20), (1, 1 << 40), (1, 1 << 63 - 8), (2, 1 << 40), (2, 4)]
)
def test_after_a_crash_a_batch_with_wrong_offsets_ends_the_log(log_dir: LogDirFixture, number: int, wrong: int) -> None:
    _fill(log_dir.open(), 3)
    _with_base_offset(log_dir, 0, number, wrong)
    assert offsets(_crash_and_open(log_dir)) == list(range(3 * number))


@pytest.mark.parametrize(("number", "wrong"), [(1, 1), (1, 1 << 20), (1, 1 << 40), (2, 1 << 40), (2, 4)])
def test_after_a_clean_stop_a_batch_with_wrong_offsets_stops_the_start_once(
    log_dir: LogDirFixture, number: int, wrong: int
) -> None:
    log = log_dir.open()
    _fill(log, 3)
    log.close()
    _with_base_offset(log_dir, 0, number, wrong)
    with pytest.raises(KafkaError, match=r"0\.log, though the broker was stopped in order: .* next start checks all"):
        log_dir.open(recovery_point=9)
    assert offsets(_crash_and_open(log_dir, recovery_point=9)) == list(range(3 * number))


@pytest.mark.parametrize("garbage", [bytes(65536), bytes(5), b"\xff" * 100, bytes(batch())[:50], bytes(batch())])
def test_after_a_clean_stop_garbage_behind_the_end_stops_the_start_once(log_dir: LogDirFixture, garbage: bytes) -> None:
    log = log_dir.open()
    _fill(log, 3)
    log.close()
    with (Path(log_dir.directory) / "00000000000000000000.log").open("ab") as file:
        file.write(garbage)
    with pytest.raises(KafkaError, match=r"0\.log"):
        log_dir.open(recovery_point=9)
    assert offsets(_crash_and_open(log_dir, recovery_point=9)) == list(range(9))


def test_a_segment_of_another_log_stops_the_start(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 8)
    log.close()
    first, second = (Path(small.directory) / f"{base:020d}.log" for base in (0, 9))
    contents = first.read_bytes(), second.read_bytes()
    second.write_bytes(contents[0])
    with pytest.raises(KafkaError, match=r"9\.log begins with a batch of offset 0: it is of another log"):
        small.open(recovery_point=24)
    first.write_bytes(contents[1])
    with pytest.raises(KafkaError, match=r"0\.log begins with a batch of offset 9"):
        small.open(recovery_point=24)


def test_a_segment_that_is_damaged_and_has_no_index_is_not_cut_after_a_clean_stop(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 5)
    log.close()
    path = Path(small.directory) / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[SIZE + 70] ^= 1
    path.write_bytes(content)
    os.unlink(path.with_suffix(".index"))
    for _ in range(2):
        with pytest.raises(KafkaError, match=f"{path} is damaged at position {SIZE}"):
            small.open(recovery_point=15)
    assert path.read_bytes() == content
    assert offsets(_crash_and_open(small)) == [0, 1, 2]


def test_a_log_start_beyond_the_end_drops_nothing_after_a_clean_stop(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 5)
    log.close()
    with pytest.raises(ValueError, match=r"ends at offset 15, and log-start-offset-checkpoint .* begins at 100"):
        small.open(recovery_point=15, log_start_offset=100)
    assert offsets(small.open(recovery_point=15)) == list(range(15))


def test_a_log_that_is_shorter_than_at_the_clean_stop_is_told_of(
    small: LogDirFixture, caplog: pytest.LogCaptureFixture
) -> None:
    log = small.open()
    _fill(log, 5)
    log.close()
    os.truncate(Path(small.directory) / "00000000000000000009.log", SIZE)
    assert offsets(small.open(recovery_point=15)) == list(range(12))
    assert f"The log of t-0 in {small.directory} ends at offset 12, and ended at 15" in caplog.text


def test_a_directory_in_place_of_a_file_stops_the_load(small: LogDirFixture) -> None:
    log = small.open()
    _fill(log, 1)
    log.close()
    for name in (
        "00000000000000000000.log",
        "00000000000000000000.index",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ):
        path = Path(small.directory) / name
        content = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        path.mkdir()
        with pytest.raises(IsADirectoryError, match=name):
            small.open(recovery_point=3)
        path.rmdir()
        if content is not None:
            path.write_bytes(content)
    assert offsets(small.open(recovery_point=3)) == [0, 1, 2]
