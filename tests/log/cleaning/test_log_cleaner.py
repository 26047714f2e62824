"""The cleaner at work: which logs it cleans and when, what it does about failures, how it is paused and stopped."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.cleaning.log_cleaner import CleanerConfig
from kafkapy.log.cleaning.log_cleaner_manager import LogCleaningAbortedError
from tests.log.cleaner_support import CleanerFixture, latest
from tests.log.log_support import NOW, PARTITION
from tests.waiting import HANG_SECONDS

DAY = 24 * 60 * 60 * 1000


# -- what is cleaned, and when


def test_dirty_ratio(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, min_cleanable_dirty_ratio=0.5)
    for i in range(10):
        compacted.append([(f"k{i}", "v" * 100)])
    assert compacted.clean()
    for i in range(10, 19):
        compacted.append([(f"k{i}", "v" * 100)])
    assert not compacted.clean()
    compacted.append([("k20", "v" * 500)])
    assert compacted.clean()


def test_min_compaction_lag(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, min_compaction_lag_ms=10_000)
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    compacted.append([("a", "3"), ("a", "4")], timestamp=NOW + 5000)
    assert not compacted.clean()
    compacted.time.advance(10_000)
    assert compacted.clean()
    assert compacted.key_values() == [(1, "a", "2"), (2, "a", "3"), (3, "a", "4")]
    compacted.time.advance(5000)
    assert compacted.clean()
    assert compacted.key_values() == [(3, "a", "4")]


def test_max_compaction_lag(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=10_000)
    compacted.append([("a", "1"), ("a", "2")])
    assert not compacted.clean()
    compacted.time.advance(10_001)
    assert compacted.clean()
    assert compacted.cleaner.manager.max_compaction_delay_ms == 1


def test_compact_and_delete(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, cleanup_policy=["compact", "delete"], retention_ms=10_000)
    compacted.append([("a", "1"), ("b", "1")])
    compacted.append([("a", "2")])
    compacted.clean()
    assert compacted.key_values() == [(1, "b", "1"), (2, "a", "2")]
    compacted.time.advance(10_001)
    assert not compacted.clean()
    assert compacted.key_values() == []
    assert compacted.log.log_start_offset == 3
    compacted.append([("c", "1")], timestamp=compacted.time.milliseconds())
    compacted.clean()
    assert compacted.key_values() == [(3, "c", "1")]
    assert compacted.checkpoint() == 4


def test_other_logs_are_left_alone(tmp_path: Path) -> None:
    deleting = CleanerFixture(tmp_path, cleanup_policy=["delete"])
    deleting.append([("a", "1"), ("a", "2")])
    assert not deleting.clean()
    paused = deleting.cleaner.pause_cleaning_for_non_compacted_partitions()
    assert paused == [(PARTITION, deleting.log)]
    assert deleting.cleaner.pause_cleaning_for_non_compacted_partitions() == []
    deleting.cleaner.resume_cleaning([PARTITION])
    assert deleting.cleaner.manager.cleaning_state(PARTITION) is None


def test_a_small_map_cleans_in_several_passes(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, CleanerConfig(dedupe_buffer_size=24 * 20))
    for i in range(60):
        compacted.append([(f"k{i % 30}", str(i))])
    passes = 0
    while compacted.clean():
        passes += 1
    assert passes > 2
    assert latest(compacted.key_values()) == {f"k{i % 30}": (i, str(i)) for i in range(30, 60)}
    assert [o for o, _, _ in compacted.key_values()] == list(range(30, 60))


def test_a_map_for_less_than_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="offset map is too small"):
        CleanerFixture(tmp_path, CleanerConfig(dedupe_buffer_size=24))


def test_batches_larger_than_the_buffer(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, CleanerConfig(dedupe_buffer_size=1 << 20, io_buffer_size=300))
    for i in range(20):
        compacted.append([(f"k{i % 3}", "v" * (50 if i % 2 else 2000))])
    compacted.clean()
    assert [o for o, _, _ in compacted.key_values()] == [17, 18, 19]


def test_checkpoint_that_cannot_be(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    compacted.cleaner.manager.update_checkpoints(compacted.root, to_update=(PARTITION, 99))
    compacted.clean()
    assert compacted.checkpoint() == 2
    assert compacted.key_values() == [(1, "a", "2")]
    compacted.cleaner.maybe_truncate_checkpoint(compacted.root, PARTITION, 5)
    assert compacted.checkpoint() == 2
    compacted.cleaner.maybe_truncate_checkpoint(compacted.root, PARTITION, 1)
    assert compacted.checkpoint() == 1
    compacted.cleaner.update_checkpoints(compacted.root, [PARTITION])
    assert compacted.checkpoint() is None


def test_checkpoint_moves_with_its_log(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    manager = compacted.cleaner.manager
    manager.__init__([compacted.root, str(other)], compacted.logs, lambda *failure: None)  # type: ignore[misc]  # made anew in its place
    manager.update_checkpoints(compacted.root, to_update=(PARTITION, 5))
    assert manager.mark_uncleanable(compacted.log)
    manager.alter_checkpoint_dir(PARTITION, compacted.root, str(other))
    assert "t 0 5" not in (tmp_path / "cleaner-offset-checkpoint").read_text()
    assert "t 0 5" in (other / "cleaner-offset-checkpoint").read_text()
    assert manager.uncleanable_partitions(str(other)) == {PARTITION}
    manager.handle_log_dir_failure(str(other))
    assert manager.all_cleaner_checkpoints() == {}


def test_a_log_that_another_thread_has_just_cleaned_is_let_be(
    compacted: CleanerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    manager = compacted.cleaner.manager
    before = manager.all_cleaner_checkpoints()
    assert compacted.clean()
    read = manager.all_cleaner_checkpoints
    stale = [before]
    monkeypatch.setattr(manager, "all_cleaner_checkpoints", lambda: stale.pop() if stale else read())
    assert manager.grab_filthiest_compacted_log(NOW) is None
    assert manager.cleaning_state(PARTITION) is None


def test_a_log_can_be_deleted_while_a_checkpoint_is_written(compacted: CleanerFixture) -> None:
    """Writing it takes as long as the disk does."""
    manager = compacted.cleaner.manager
    aborting = threading.Thread(target=manager.abort_cleaning, args=(PARTITION,), daemon=True)
    with manager._checkpoint_lock:
        aborting.start()
        aborting.join(HANG_SECONDS)
    assert not aborting.is_alive()


# -- failures


def test_a_damaged_log_is_marked_and_the_others_go_on(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    path = Path(compacted.log.log_segments[0].log_path)
    data = bytearray(path.read_bytes())
    data[61] = 0x7F
    path.write_bytes(data)
    assert not compacted.clean()
    assert compacted.cleaner.manager.uncleanable_partitions(compacted.root) == {PARTITION}
    assert compacted.cleaner.manager.cleaning_state(PARTITION) is None
    assert not [name for name in compacted.files() if name.endswith(".cleaned")]
    del compacted.logs[PARTITION]
    compacted.cleaner.manager.maintain_uncleanable_partitions()
    assert compacted.cleaner.manager.uncleanable_partitions(compacted.root) == set()


def test_a_log_that_failed_because_it_is_deleted_is_not_marked(
    compacted: CleanerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """A topic of the same name may be there again before the cleaner looks at the partitions that it has marked."""
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    calls = 0

    def delete_the_log(partition: TopicPartition) -> None:
        nonlocal calls
        calls += 1
        compacted.logs.pop(PARTITION, None)
        raise ValueError("a mistake")

    compacted.thread._cleaner._check_done = delete_the_log
    compacted.thread.try_clean_filthiest_log()
    assert calls
    assert compacted.cleaner.manager.uncleanable_partitions(compacted.root) == set()
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def test_an_error_of_the_disk_takes_the_dir_offline(compacted: CleanerFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()

    def fails(*arguments: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", fails)
    compacted.clean()
    assert compacted.offline == [compacted.root]
    assert compacted.cleaner.manager.cleaning_state(PARTITION) is None


def test_an_aborted_cleaning_leaves_the_log_as_it_was(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    compacted.append([("b", "1")])
    files = compacted.files()
    cleaner = compacted.thread._cleaner
    calls = 0

    def check(partition: TopicPartition) -> None:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise LogCleaningAbortedError

    cleaner._check_done = check
    compacted.thread.try_clean_filthiest_log()
    assert compacted.files() == files
    assert compacted.key_values() == [(0, "a", "1"), (1, "a", "2"), (2, "b", "1")]
    assert compacted.cleaner.manager.cleaning_state(PARTITION) is None


@pytest.mark.parametrize("step", range(14))
def test_a_crash_in_the_swap_is_mended_at_the_next_start(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies at one of the renames that put the cleaned segments in place."""
    compacted = CleanerFixture(tmp_path, segment_bytes=300)
    for i in range(12):
        compacted.append([(f"k{i % 4}", f"{i}" * 20)])
    compacted.log.roll()
    expected = latest(compacted.key_values())

    class Crash(BaseException):
        pass

    renames = 0
    rename = os.rename

    def dies(source: str, target: str) -> None:
        nonlocal renames
        if renames == step:
            raise Crash
        renames += 1
        rename(source, target)

    monkeypatch.setattr(os, "rename", dies)
    with pytest.raises(Crash):
        compacted.thread.try_clean_filthiest_log()
    monkeypatch.setattr(os, "rename", rename)
    compacted.reopen()
    assert latest(compacted.key_values()) == expected
    assert compacted.log.log_end_offset == 12
    compacted.cleaner.manager._states.clear()
    compacted.clean()
    assert [o for o, _, _ in compacted.key_values()] == [8, 9, 10, 11]


# -- pausing


def test_pauses_are_counted(compacted: CleanerFixture) -> None:
    cleaner = compacted.cleaner
    cleaner.abort_and_pause_cleaning(PARTITION)
    cleaner.abort_and_pause_cleaning(PARTITION)
    compacted.append([("a", "1"), ("a", "2")])
    assert not compacted.clean()
    cleaner.resume_cleaning([PARTITION])
    assert not compacted.clean()
    cleaner.resume_cleaning([PARTITION])
    assert compacted.clean()
    with pytest.raises(ValueError, match="not paused"):
        cleaner.resume_cleaning([PARTITION])
    cleaner.abort_cleaning(PARTITION)
    assert cleaner.manager.cleaning_state(PARTITION) is None


def test_whoever_aborts_waits_for_the_cleaner(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    manager = compacted.cleaner.manager
    grabbed = manager.grab_filthiest_compacted_log(NOW)
    assert grabbed is not None
    manager.check_cleaning_aborted(PARTITION)
    waiter = threading.Thread(target=manager.abort_and_pause_cleaning, args=(PARTITION,))
    waiter.start()
    while manager.cleaning_state(PARTITION) != "aborted":
        pass
    with pytest.raises(LogCleaningAbortedError):
        manager.check_cleaning_aborted(PARTITION)
    assert waiter.is_alive()
    manager.done_cleaning(grabbed.log, 2)
    waiter.join(HANG_SECONDS)
    assert manager.cleaning_state(PARTITION) == 1
    assert compacted.checkpoint() is None


def test_threads_clean_and_can_be_reconfigured(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    cleaner = compacted.cleaner
    cleaner.reconfigure(cleaner.config._replace(num_threads=2))
    try:
        for _ in range(1000):
            if compacted.checkpoint() == 2:
                break
            threading.Event().wait(0.01)
        assert compacted.key_values() == [(1, "a", "2")]
        assert cleaner.dead_thread_count == 0
    finally:
        cleaner.shutdown()
    assert not [t for t in threading.enumerate() if t.name.startswith("kafka-log-cleaner")]


def test_reconfiguration_in_small_steps(compacted: CleanerFixture) -> None:
    config = CleanerConfig(num_threads=4)
    cleaner = compacted.cleaner
    cleaner._config = config
    for threads in (2, 8):
        cleaner.validate_reconfiguration(config._replace(num_threads=threads))
    for threads in (0, 1, 9):
        with pytest.raises(ValueError, match="cleaner threads"):
            cleaner.validate_reconfiguration(config._replace(num_threads=threads))
