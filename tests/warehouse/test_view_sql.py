"""The view's text, run by SQLite, shows what the rule of `snapshot.py` says."""

from __future__ import annotations

import random
import sqlite3
from typing import NamedTuple

import pytest

from kafkapy.warehouse.snapshot import FIRST_HOUR, Snapshot, TableDefinition
from kafkapy.warehouse.view_sql import batch_name, view_sql

HOURS = ["2026-11-23-23", "2026-11-24-00", "2026-11-24-01", "2026-11-24-02"]
COLUMNS = ["_event_id", "_key", "_partition", "_offset", "own"]


class Row(NamedTuple):
    event: str
    hour: str
    batch: int
    offset: int


def shown(kind: str, snapshot: Snapshot, hours: list[Row], current: list[Row]) -> list[tuple[str, str, int, int]]:
    """Identity, hour, batch and offset of what the view gives."""
    database = sqlite3.connect(":memory:")
    database.execute("ATTACH ':memory:' AS warehouse")
    own = ", ".join(f"`{name}`" for name in COLUMNS)
    database.execute(f"CREATE TABLE warehouse.t__hours_3 ({own}, _batch, _schema, ds, hr)")
    database.execute(f"CREATE TABLE warehouse.t__current_3 ({own}, in_batch, in_schema, ds, hr)")
    for table, rows in (("hours", hours), ("current", current)):
        for row in rows:
            batch = row.batch if table == "hours" else batch_name(row.batch)
            given = (row.event, row.event, 0, row.offset, "x", batch, "1", row.hour[:10], row.hour[11:])
            database.execute(f"INSERT INTO warehouse.t__{table}_3 VALUES ({', '.join('?' * 9)})", given)
    text = view_sql("warehouse", TableDefinition("t", "t", kind, {}, version=3), COLUMNS, snapshot)
    found = database.execute(f"SELECT _event_id, ds || '-' || hr, _batch, _offset FROM ({text})").fetchall()
    return sorted(found)


@pytest.mark.parametrize("kind", ["events", "changes"])
@pytest.mark.parametrize("seed", range(40))
def test_the_text_is_the_rule(kind: str, seed: int) -> None:
    dice = random.Random(seed)
    boundary, end = sorted(dice.choices(range(8), k=2))
    cutoff = dice.choice([FIRST_HOUR, *HOURS[1:]])
    rows = [Row(f"e{dice.randrange(12)}", dice.choice(HOURS), dice.randrange(8), offset) for offset in range(50)]
    rows.sort(key=lambda row: (row.batch, row.offset), reverse=kind == "changes")
    hours: dict[tuple[str, str], Row] = {}
    for row in rows:  # what a rollup would have made of all batches, later ones too
        if row.hour < cutoff and (kind == "events" or row.batch < boundary):
            hours.setdefault((row.event, row.hour), row)
    whole = Snapshot(0, boundary, cutoff, end, ())
    late = tuple(sorted({row.hour for row in rows if whole.in_current(row.batch, row.hour) and row.hour < cutoff}))
    snapshot = whole._replace(late=late)
    expected: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row.batch < end and (snapshot.in_hours(row.batch, row.hour) or snapshot.in_current(row.batch, row.hour)):
            expected.setdefault((row.event, row.hour), row)
    found = shown(kind, snapshot, list(hours.values()), rows)
    assert found == sorted((row.event, row.hour, row.batch, row.offset) for row in expected.values())


def test_only_late_hours_are_asked() -> None:
    table = TableDefinition("t", "t", "events", {})
    snapshot = Snapshot(5, 7, HOURS[2], 9, (HOURS[0], HOURS[1]))
    text = view_sql("warehouse", table, COLUMNS, snapshot)
    assert "(h.ds = '2026-11-23' AND h.hr IN ('23')) OR (h.ds = '2026-11-24' AND h.hr IN ('00'))" in text
    assert "EXISTS" not in view_sql("warehouse", table, COLUMNS, snapshot._replace(late=()))
