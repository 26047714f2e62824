"""What an audit makes of its counts: complete when all is there, and each gap by its name when it is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

pytest.importorskip("pyspark")

from kafkapy.bus.audit_counters import AuditRecord
from kafkapy.warehouse.audit import (
    AuditedHour,
    AuditReport,
    ledger_gaps,
    pending_losses,
    received_rows,
    sent_by_hour,
    table_of,
    waiting_records,
)
from kafkapy.warehouse.audit_counts import AuditedRange, audited_ranges
from kafkapy.warehouse.plan import Bounds, LogLook
from kafkapy.warehouse.snapshot import (
    Batch,
    BatchPart,
    HourGeneration,
    Loss,
    Rollup,
    State,
    TableDefinition,
    TopicLog,
)

HOUR, NEXT = "2026-11-24-00", "2026-11-24-01"
TABLE = TableDefinition("t", "topic", "events", {})
LOSS = Loss("topic", "topic", 0, 5, 9, "they were deleted", 0)


def hour(**changes: Any) -> AuditedHour:
    """Ten records: an event that came twice, eight rows, one in the quarantine."""
    whole = AuditedHour("topic", HOUR, sent=10, records=10, again=1, rows=8, quarantined=1, received=10)
    return dataclasses.replace(whole, **changes)


def test_complete() -> None:
    found = hour()
    assert found.problems == []
    assert (found.events, found.completeness) == (9, 1.0)
    assert found.readable == 8 / 9
    report = AuditReport(0, [found])
    assert report.is_good
    assert "complete" in table_of(report)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rows": 9, "doubles": 1}, "1 rows are there twice"),
        (
            {"rows": 6, "missing": 2, "gaps": ["partition 0: 2 of offsets 3 to 9"]},
            "2 events of the log are in no table (partition 0: 2 of offsets 3 to 9)",
        ),
        ({"strangers": 3}, "3 rows of the tables are of no record that the log has"),
        ({"elsewhere": 1}, "1 rows are in another hour than their records"),
        ({"gone": 4}, "4 rows of the ledger are in no file"),
        ({"sent": 12}, "2 events that producers have sent are not in the log"),
    ],
)
def test_each_gap_is_named(changes: dict[str, Any], problem: str) -> None:
    report = AuditReport(0, [hour(**changes)])
    assert not report.is_good
    assert report.hours[0].problems == [problem]
    assert problem in table_of(report)
    assert report.to_json()["hours"][0]["problems"] == [problem]


def test_what_was_sent_may_be_on_its_way_or_trimmed() -> None:
    assert hour(sent=12, waiting=2).problems == []
    assert hour(sent=13, waiting=2).problems == ["1 events that producers have sent are not in the log"]
    assert hour(records=0, again=0).problems == [], "the log has lost it, but it came with the batches"
    assert hour(sent=12, records=0, again=0).problems == ["2 events that producers have sent are not in the log"]


def test_completeness() -> None:
    assert hour(missing=1, rows=7).completeness == 8 / 9
    assert hour(gone=1, rows=7).completeness == 8 / 9
    assert AuditedHour("topic", HOUR, records=5, quarantined=5).completeness == 1.0
    assert AuditedHour("topic", HOUR, records=5, quarantined=5).readable == 0.0
    assert AuditedHour("topic", HOUR).completeness == 1.0


def test_losses_and_gaps_are_never_good() -> None:
    for report in (AuditReport(0, [hour()], losses=[str(LOSS)]), AuditReport(0, [hour()], gaps=["a gap"])):
        assert not report.is_good
        assert not report.to_json()["good"]
    assert "LOST: topic partition 0, offsets 5 to 8: they were deleted" in table_of(AuditReport(0, losses=[str(LOSS)]))
    assert "NOT READ: a gap" in table_of(AuditReport(0, gaps=["a gap"]))


def test_reasons_are_told() -> None:
    text = table_of(AuditReport(0, [hour(reasons={"the record has no value": 1})]))
    assert "1 in the quarantine: the record has no value" in text


def rows(**hours: int) -> BatchPart:
    return BatchPart("t", "1", "p", {HOUR if name == "first" else NEXT: count for name, count in hours.items()})


def test_rows_that_came_by_the_ledger() -> None:
    state = State().with_batch(Batch(0, {}, (rows(first=9),), (TABLE,)))
    state = state.with_rollup(Rollup(0, 1, NEXT, (HourGeneration("t", HOUR, "g", 8, 1, {}),)))
    state = state.with_batch(Batch(1, {}, (rows(first=2, second=4),)))
    assert received_rows(state) == {("topic", HOUR): 11, ("topic", NEXT): 4}


def batches(*offsets: dict[str, dict[int, tuple[int, int]]]) -> list[Batch]:
    return [Batch(number, each, ()) for number, each in enumerate(offsets)]


def test_offsets_that_no_batch_has() -> None:
    whole = batches({"t": {0: (5, 10), 1: (0, 3)}}, {"t": {1: (3, 4)}}, {"t": {0: (10, 12)}, "t@2": {0: (0, 9)}})
    assert ledger_gaps(whole, ()) == []
    holed = batches({"t": {0: (5, 10)}}, {"t": {0: (12, 15)}}, {"t": {0: (20, 21)}})
    assert ledger_gaps(holed, ()) == [
        "t partition 0, offsets 10 to 11: no batch has read them",
        "t partition 0, offsets 15 to 19: no batch has read them",
    ]
    assert len(ledger_gaps(holed, (Loss("t", "t", 0, 10, 12, "", 0),))) == 1, "what is told as lost is no gap"


def read_to(*ends: int) -> State:
    offsets = {"topic": {partition: (2, end) for partition, end in enumerate(ends)}}
    return State().with_batch(Batch(0, offsets, (), logs=(TopicLog("topic", "topic", "a"),)))


def test_which_offsets_are_audited() -> None:
    look = LogLook("a", {0: Bounds(0, 10, 12), 1: Bounds(6, 9, 9), 2: Bounds(9, 9, 9), 3: Bounds(0, 5, 5)})
    assert audited_ranges(read_to(8, 4, 9), "topic", look) == [
        AuditedRange(0, 2, 8, 10),
        AuditedRange(1, 6, 6, 9),
        AuditedRange(3, 0, 0, 5),
    ], "from where the ledger and the log begin"
    again = audited_ranges(read_to(8, 4, 9), "topic", look._replace(topic_id="b"))
    assert again[0] == AuditedRange(0, 0, 0, 10), "all of it is on its way"
    assert audited_ranges(State(), "topic", look) == again


def test_what_is_on_its_way_and_what_will_be_lost() -> None:
    looks = {"topic": LogLook("a", {0: Bounds(0, 10, 12), 1: Bounds(6, 9, 9)})}
    assert waiting_records(read_to(8, 4), looks) == {"topic": 7}
    (loss,) = pending_losses(read_to(8, 4), looks, 0)
    assert (loss.partition, loss.first, loss.end) == (1, 4, 6)


def test_of_a_counter_the_largest_counts() -> None:
    def counter(producer: str, sent: int) -> AuditRecord:
        return AuditRecord(producer, "a", "topic", "2026-11-24T00", sent, 0, sent, 0, False)

    counters = [counter("p", 5), counter("q", 7), counter("p", 3), counter("p", 9)]
    assert sent_by_hour(counters) == {("topic", HOUR): 16}
