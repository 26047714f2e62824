from __future__ import annotations

import json

from prometheus_client.parser import text_string_to_metric_families

from kafkapy.bus.audit_counters import AuditRecord
from kafkapy.warehouse.audit import AuditedHour, AuditReport, sent_by_hour, table_of
from kafkapy.warehouse.metrics import RunProgress, prometheus, status_text
from kafkapy.warehouse.page import page
from kafkapy.warehouse.snapshot import Batch, BatchPart, HourGeneration, Rollup, State, TableDefinition
from kafkapy.warehouse.stream import CommittedBatch, due_cutoff, starting_offsets
from tests.exposition_grammar import check

HOUR = "2026-11-24-00"


def state() -> State:
    table = TableDefinition("t", "topic", "events", {})
    first = Batch(0, {"topic": {0: (0, 9)}}, (BatchPart("t", "1", "p", {HOUR: 9}),), (table,))
    rolled = (
        State()
        .with_batch(first)
        .with_rollup(Rollup(0, 1, "2026-11-24-01", (HourGeneration("t", HOUR, "g", 8, 1, {}),)))
    )
    return rolled.with_batch(
        Batch(1, {"topic": {0: (9, 12)}}, (BatchPart("t", "1", "q", {HOUR: 1, "2026-11-24-01": 2}),))
    )


def test_a_new_checkpoint_begins_where_the_ledger_ends() -> None:
    assert starting_offsets(State(), "latest", {}) == "latest"
    found = json.loads(starting_offsets(state(), "latest", {"topic": [0, 1], "new": [0]}))
    assert found == {"topic": {"0": 12, "1": -2}, "new": {"0": -2}}


def test_an_hour_is_due_after_the_delay() -> None:
    at = 1_795_482_000_000  # 2026-11-24T01:00Z
    assert due_cutoff(at + 299_999, 5) == HOUR
    assert due_cutoff(at + 300_000, 5) == "2026-11-24-01"


def test_the_status() -> None:
    lines = [line.split() for line in status_text(state()).splitlines()]
    assert ["t", HOUR, "8", "1", "1"] in lines
    assert ["t", "2026-11-24-01", "-", "-", "2"] in lines
    assert "topic is read to 0: 12" in status_text(state())


def report(**changes: int) -> AuditReport:
    hour = AuditedHour("topic", HOUR, sent=9, records=10, events=9, rows=8, row_events=8, quarantined=1, found=9)
    for name, value in changes.items():
        setattr(hour, name, value)
    return AuditReport(0, [hour])


def test_what_an_audit_finds() -> None:
    assert report().is_good
    for changes, problem in (
        ({"found": 8}, "1 events of the log are in no table"),
        ({"rows": 9}, "1 rows are there twice"),
        ({"found": 10}, "1 events of the tables are not in the log"),
        ({"sent": 11}, "1 events that producers have sent are not in the log"),
    ):
        found = report(**changes)
        assert not found.is_good
        assert problem in table_of(found)
    assert report(found=8).hours[0].completeness == 8 / 9
    assert report(found=10, trimmed=True).is_good


def test_of_a_counter_the_largest_counts() -> None:
    def counter(producer: str, sent: int) -> AuditRecord:
        return AuditRecord(producer, "a", "topic", "2026-11-24T00", sent, 0, sent, 0, False)

    counters = [counter("p", 5), counter("q", 7), counter("p", 3), counter("p", 9)]
    assert sent_by_hour(counters) == {("topic", HOUR): 16}


def test_metrics_and_the_page() -> None:
    progress = RunProgress()
    progress.add(CommittedBatch(0, {"t": 9}, 1000, 3500, 500, 1500, 2))
    found = prometheus(state(), progress, report(found=8).to_json())
    check(found)
    values = {
        (sample.name.removeprefix("kafkapy_warehouse_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(found)
        for sample in family.samples
    }
    assert values["freshness_seconds",] == 2.0
    assert values["batch_seconds",] == 2.5
    assert values["rows_total", "t"] == 9
    assert values["current_rows", "t"] == 3
    assert values["completeness", "topic", HOUR] == 8 / 9
    assert values["audit_problems", "topic", HOUR] == 1
    text = page(state(), progress, report(found=8).to_json())
    assert text.count("<svg") == 2
    assert "1 events of the log are in no table" in text
    assert "No audit has been run yet" in page(State(), RunProgress(), None)
