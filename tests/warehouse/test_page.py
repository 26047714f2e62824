"""Metrics, the status and the page: what has been lost, what waits and what fails is on each of them."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")

from prometheus_client.parser import text_string_to_metric_families

from kafkapy.common.time import MockTime
from kafkapy.warehouse.audit import AuditedHour, AuditReport
from kafkapy.warehouse.config import ConfigError
from kafkapy.warehouse.lag import LagReport, WaitingRecords
from kafkapy.warehouse.metrics import CommittedBatch, RunProgress, prometheus, status_text
from kafkapy.warehouse.page import page, serve
from kafkapy.warehouse.snapshot import Batch, BatchPart, HourGeneration, Loss, Rollup, State, TableDefinition

HOUR, NEXT = "2026-11-24-00", "2026-11-24-01"
LOSS = Loss("topic", "topic", 0, 12, 15, "they were deleted", 0)


def state() -> State:
    table = TableDefinition("t", "topic", "events", {})
    first = Batch(0, {"topic": {0: (0, 9)}}, (BatchPart("t", "1", "p", {HOUR: 9}),), (table,))
    rolled = State().with_batch(first)
    rolled = rolled.with_rollup(Rollup(0, 1, NEXT, (HourGeneration("t", HOUR, "g", 8, 1, {}),)))
    return rolled.with_batch(
        Batch(1, {"topic": {0: (9, 12)}}, (BatchPart("t", "1", "q", {HOUR: 1, NEXT: 2}),), losses=(LOSS,))
    )


def report() -> AuditReport:
    missing = AuditedHour("topic", HOUR, sent=9, records=10, rows=7, missing=1, gaps=["partition 0"], quarantined=1)
    broken = AuditedHour("topic", NEXT, records=2, quarantined=2, reasons={"the <value> is null": 2})
    return AuditReport(0, [missing, broken], losses=[str(LOSS)])


@pytest.fixture
def progress() -> RunProgress:
    made = RunProgress(MockTime(20_000))
    made.add(CommittedBatch(0, {"t": 9}, 1000, 3500, 500, 1500, 2))
    made.add_lag(LagReport(10_000, (WaitingRecords("topic", 0, 3, 5_000), WaitingRecords("topic", 1, 0)), ("absent",)))
    made.tell("rolling up", RuntimeError("no space <left>\n\tat java"))
    made.tell("rolling up", RuntimeError("no space <left>\n\tat java"))
    return made


def test_the_status() -> None:
    lines = [line.split() for line in status_text(state()).splitlines()]
    assert ["t", HOUR, "8", "1", "1"] in lines
    assert ["t", NEXT, "-", "-", "2"] in lines
    assert "topic is read to 0: 12" in status_text(state())
    assert "LOST: topic partition 0, offsets 12 to 14: they were deleted" in status_text(state())


def test_metrics(progress: RunProgress) -> None:
    found = prometheus(state(), progress, report().to_json())
    values = {
        (sample.name.removeprefix("kafkapy_warehouse_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(found)
        for sample in family.samples
    }
    assert values["freshness_seconds",] == 15.0
    assert values["topic_freshness_seconds", "topic"] == 15.0
    assert values["lag_records", "topic", "0"] == 3
    assert values["lag_records", "topic", "1"] == 0
    assert values["absent_topic", "absent"] == 1
    assert values["batch_seconds",] == 2.5
    assert values["rows_total", "t"] == 9
    assert values["current_rows", "t"] == 3
    assert values["lost_offsets", "topic"] == 3
    assert values["failures_total",] == 2
    assert values["failing", "rolling up"] == 2
    assert values["completeness", "topic", HOUR] == 8 / 9
    assert values["audit_problems", "topic", HOUR] == 1
    assert values["audit_losses",] == 1


def test_a_failure_that_is_over_is_none(progress: RunProgress) -> None:
    progress.tell("rolling up", None)
    assert "failing{" not in prometheus(State(), progress, None)
    assert "no space" not in page(State(), progress, None)


def test_the_page(progress: RunProgress) -> None:
    text = page(state(), progress, report().to_json())
    assert "rolling up has failed 2 times in a row" in text
    assert "no space &lt;left&gt;" in text
    assert "at java" not in text
    assert "1 events of the log are in no table" in text
    assert "2 in the quarantine: the &lt;value&gt; is null" in text
    assert "topic partition 0, offsets 12 to 14: they were deleted" in text
    assert "there is no such topic" in text
    assert ">24</text>" not in text
    for label in (">00</text>", ">01</text>", ">2026-11-24</text>", "topic: 100 %"):
        assert label in text, "bars have the names of topic, day and hour"
    assert text.count('fill="#c77700"') == 2, "the quarantine's part of each bar"
    assert text.count("<svg") == 2


def test_a_page_without_anything() -> None:
    text = page(State(), RunProgress(), None)
    assert "No audit has been run yet" in text
    assert "has not looked at the topics yet" in text


def test_a_port_that_is_taken_is_named(progress: RunProgress) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        warehouse: Any = SimpleNamespace(config=SimpleNamespace(http_host="127.0.0.1", http_port=port))
        said = f"No page at 127.0.0.1:{port}: .*choose another port in http_port"
        with pytest.raises(ConfigError, match=said), serve(warehouse, progress):
            pass
