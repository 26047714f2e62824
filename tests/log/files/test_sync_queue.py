"""fsyncs that nobody waits for."""

from __future__ import annotations

from functools import partial

import pytest

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.log.files import sync_queue
from kafkapy.log.files.log_files import Fsync
from kafkapy.log.files.sync_queue import SYNC_DELAY_MS, SYNCED_ALONE, SyncQueue
from kafkapy.protocol.errors import Errors, KafkaError


def test_all_run_once_and_in_one_task() -> None:
    scheduler = MockScheduler(MockTime())
    queue = SyncQueue(scheduler, lambda *failure: None)
    runs: list[str] = []

    def first(fsync: Fsync) -> None:
        runs.append("first")

    def fails(fsync: Fsync) -> None:
        runs.append("fails")
        queue.add(late)
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, "the disk is gone")

    def breaks(fsync: Fsync) -> None:
        runs.append("breaks")
        raise ValueError("a mistake")

    def late(fsync: Fsync) -> None:
        runs.append("late")

    for sync in (breaks, first, fails, first):
        queue.add(sync)
    scheduler.advance(SYNC_DELAY_MS - 1)
    assert runs == []
    scheduler.advance(1)
    assert runs == ["breaks", "first", "fails", "late"]
    scheduler.advance(10 * SYNC_DELAY_MS)
    assert runs == ["breaks", "first", "fails", "late"]
    queue.add(first)
    scheduler.advance(SYNC_DELAY_MS)
    assert runs[4:] == ["first"]


def _sync(directory: str, fsync: Fsync) -> None:
    fsync(directory, ["a file"])


def test_those_of_many_logs_end_in_one_sync_of_the_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    failures: list[tuple[str, OSError]] = []
    broken = OSError("the disk is gone")

    def sync_file_system(directory: str) -> None:
        synced.append(directory)
        if directory == "/broken":
            raise broken

    monkeypatch.setattr(sync_queue, "sync_file_system", sync_file_system)
    scheduler = MockScheduler(MockTime())
    queue = SyncQueue(scheduler, lambda directory, doing, error: failures.append((directory, error)))
    for number in range(SYNCED_ALONE):
        queue.add(partial(_sync, f"/logs/topic-{number}"))
    scheduler.advance(SYNC_DELAY_MS)
    assert synced == []  # each was looked for, and is not there
    for number in range(SYNCED_ALONE):
        queue.add(partial(_sync, f"/logs/topic-{number}"))
    queue.add(partial(_sync, "/broken/topic-0"))
    scheduler.advance(SYNC_DELAY_MS)
    assert sorted(synced) == ["/broken", "/logs"]
    assert failures == [("/broken", broken)]
