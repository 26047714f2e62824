"""How far the tables are behind, and since when: records, not batches, say it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.lag import LagReport, LagWatch, WaitingRecords
from kafkapy.warehouse.metrics import RunProgress, status_text
from kafkapy.warehouse.plan import Bounds, LogLook
from kafkapy.warehouse.snapshot import Batch, State, TopicLog

FOUND: Any = {
    "root": "r",
    "kafka": {"bootstrap.servers": "h:1"},
    "registry": {"url": "http://r"},
    "tables": [{"topic": "t"}, {"topic": "u"}],
}


class Logs:
    """In place of a cluster: ends and times of one topic's partitions."""

    def __init__(self, ends: dict[int, int]) -> None:
        self.ends = ends
        self.fails = False

    def look(self) -> dict[str, LogLook]:
        if self.fails:
            raise KafkaError(Errors.NETWORK_EXCEPTION, "no broker")
        return {"t": LogLook("a", {partition: Bounds(0, end, end) for partition, end in self.ends.items()})}


class Watch(LagWatch):
    """`times`: of records, by partition and offset."""

    def __init__(self, logs: Any, time: MockTime, times: dict[tuple[int, int], int]) -> None:
        super().__init__(WarehouseConfig.of(FOUND), logs, time)
        self.times = times
        self.asked = 0

    def _time_of_first(self, partition: Any, position: int, end: int) -> int | None:
        self.asked += 1
        return self.times.get((partition.partition, position))


def read(**ends: int) -> State:
    offsets = {"t": {int(name[1:]): (0, end) for name, end in ends.items()}}
    return State().with_batch(Batch(0, offsets, (), logs=(TopicLog("t", "t", "a"),)))


def test_freshness_is_the_age_of_the_oldest_record_that_waits() -> None:
    time = MockTime(1_000_000)
    watch = Watch(Logs({0: 10, 1: 7}), time, {(0, 8): 100_000, (1, 5): 400_000})
    lag = watch.look(read(p0=8, p1=5))
    assert lag.records == 4
    assert lag.freshness_seconds(1_000_000) == 900.0
    assert lag.freshness_seconds(1_060_000) == 960.0, "it ages between two looks"
    assert lag.by_topic(1_000_000) == {"t": (4, 900.0)}
    assert lag.absent == ("u",)
    assert watch.look(read(p0=10, p1=5)).freshness_seconds(1_000_000) == 600.0
    assert watch.look(read(p0=10, p1=7)).freshness_seconds(1_000_000) == 0.0


def test_a_late_event_has_not_waited_since_its_own_time() -> None:
    time = MockTime(50_000_000)
    logs = Logs({0: 10})
    watch = Watch(logs, time, {(0, 10): 1_000})
    watch.look(read(p0=10))
    time.advance(5_000)
    logs.ends[0] = 11
    assert watch.look(read(p0=10)).freshness_seconds(time.milliseconds()) == 5.0


def test_the_time_of_a_record_is_asked_for_once() -> None:
    time = MockTime(1_000_000)
    watch = Watch(Logs({0: 10}), time, {(0, 8): 100_000, (0, 9): 200_000})
    for state in (read(p0=8), read(p0=8), read(p0=9)):
        watch.look(state)
    assert watch.asked == 2


def test_markers_of_transactions_do_not_age() -> None:
    watch = Watch(Logs({0: 10}), MockTime(1_000_000), {})
    lag = watch.look(read(p0=9))
    assert (lag.records, lag.freshness_seconds(2_000_000)) == (1, 0.0)


def test_a_topic_that_was_made_again_waits_whole() -> None:
    state = State().with_batch(Batch(0, {"t": {0: (0, 100)}}, (), logs=(TopicLog("t", "t", "old"),)))
    assert Watch(Logs({0: 10}), MockTime(), {}).look(state).records == 10


def test_a_cluster_that_cannot_be_asked_is_a_failure_and_what_waited_ages() -> None:
    time = MockTime(1_000_000)
    logs = Logs({0: 10})
    watch, progress = Watch(logs, time, {(0, 8): 900_000}), RunProgress(time)
    progress.watch(watch, lambda: read(p0=8))
    logs.fails = True
    time.advance(60_000)
    progress.watch(watch, lambda: read(p0=8))
    assert progress.failures()["looking at the topics"].text.endswith("no broker")
    assert progress.lag is not None
    assert progress.lag.freshness_seconds(time.milliseconds()) == 160.0
    logs.fails = False
    progress.watch(watch, lambda: read(p0=10))
    assert progress.failures() == {}
    assert [(each.freshness_seconds, each.records) for each in progress.samples()] == [(100.0, 2), (0.0, 0)]


def test_the_status_says_what_waits() -> None:
    lag = LagReport(0, (WaitingRecords("t", 0, 3, 500), WaitingRecords("t", 1, 0)), ("u",))
    text = status_text(State(), lag, 10_500)
    assert "t partition 0: 3 records wait, the first since 10.0 s" in text
    assert "There is no topic u" in text
    assert "lag: 3 records; freshness: 10.0 s" in text
