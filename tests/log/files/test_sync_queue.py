"""fsyncs that nobody waits for."""

from __future__ import annotations

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.log.files.sync_queue import SYNC_DELAY_MS, SyncQueue
from kafkapy.protocol.errors import Errors, KafkaError


def test_all_run_once_and_in_one_task() -> None:
    scheduler = MockScheduler(MockTime())
    queue = SyncQueue(scheduler)
    runs: list[str] = []

    def first() -> None:
        runs.append("first")

    def fails() -> None:
        runs.append("fails")
        queue.add(late)
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, "the disk is gone")

    def breaks() -> None:
        runs.append("breaks")
        raise ValueError("a mistake")

    def late() -> None:
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
