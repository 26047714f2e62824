"""High watermarks over a restart."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.server.replication.high_watermarks import HighWatermarkCheckpoints
from tests.waiting import HANG_SECONDS


class FakeLogManager:
    def __init__(self, *directories: Path) -> None:
        self.live_log_dirs = [str(directory) for directory in directories]
        self.failed: list[str] = []

    def handle_log_dir_failure(self, directory: str, message: str, error: OSError) -> None:
        self.live_log_dirs.remove(directory)
        self.failed.append(directory)


def checkpoints(*directories: Path) -> tuple[HighWatermarkCheckpoints, FakeLogManager]:
    for directory in directories:
        directory.mkdir(exist_ok=True)
    manager: Any = FakeLogManager(*directories)
    return HighWatermarkCheckpoints(manager), manager


def partition(directory: Path, topic: str, high_watermark: int, log_start_offset: int = 0) -> Any:
    log = SimpleNamespace(parent_dir=str(directory), high_watermark=high_watermark, log_start_offset=log_start_offset)
    return SimpleNamespace(topic_partition=TopicPartition(topic, 0), log=log, future_log=None)


def test_a_log_gets_back_what_it_had(tmp_path: Path) -> None:
    checkpoints(tmp_path)[0].write([partition(tmp_path, "t", 7), partition(tmp_path, "cut", 3)])
    after, _ = checkpoints(tmp_path)
    assert after.take(partition(tmp_path, "t", 0).log, TopicPartition("t", 0)) == 7
    assert after.take(partition(tmp_path, "cut", 0, log_start_offset=5).log, TopicPartition("cut", 0)) == 5
    assert after.take(partition(tmp_path, "new", 0).log, TopicPartition("new", 0)) == 0


def test_unclaimed_partitions_keep_theirs(tmp_path: Path) -> None:
    checkpoints(tmp_path)[0].write([partition(tmp_path, "a", 1), partition(tmp_path, "b", 2)])
    middle, _ = checkpoints(tmp_path)
    middle.forget(TopicPartition("a", 0))
    middle.write([partition(tmp_path, "c", 3)])
    text = (tmp_path / "replication-offset-checkpoint").read_text()
    assert sorted(text.splitlines()[2:]) == ["b 0 2", "c 0 3"]


def test_a_directory_that_cannot_be_written_has_failed_once(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    high_watermarks, manager = checkpoints(bad, good)
    shutil.rmtree(bad)
    for _ in range(2):
        high_watermarks.write([partition(good, "t", 7), partition(bad, "u", 8)])
    assert manager.failed == [str(bad)]
    assert "t 0 7" in (good / "replication-offset-checkpoint").read_text()


def test_the_last_write_of_a_stop_waits_for_one_that_is_under_way(tmp_path: Path) -> None:
    high_watermarks, _ = checkpoints(tmp_path)
    began, may_end = Event(), Event()

    def slowly() -> Iterator[Any]:
        began.set()
        may_end.wait(HANG_SECONDS)
        yield partition(tmp_path, "t", 1)

    by_the_clock = Thread(target=high_watermarks.write, args=(slowly(),))
    by_the_clock.start()
    assert began.wait(HANG_SECONDS)
    last = Thread(target=high_watermarks.write, args=([partition(tmp_path, "t", 2)],))
    last.start()
    last.join(0.05)
    assert last.is_alive()
    may_end.set()
    by_the_clock.join(HANG_SECONDS)
    last.join(HANG_SECONDS)
    assert "t 0 2" in (tmp_path / "replication-offset-checkpoint").read_text()
