"""Two processes over one ledger and one metastore: what one decides the other's statements do not undo."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")

from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.plan import BatchPlan
from kafkapy.warehouse.snapshot import HourGeneration, Rollup, State
from kafkapy.warehouse.view_sql import batch_name
from kafkapy.warehouse.warehouse import Warehouse

HOUR, NEXT = "2026-11-24-00", "2026-11-24-01"


class File(NamedTuple):
    topic: str
    schema: int
    name: str
    rows: int
    hours: str
    told: str | None = None


class Statements:
    """What both say to the metastore, in place of Spark. `before`: called before each, once."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.views: set[str] = set()
        self.before: Callable[[str], object] | None = None
        self.catalog = self

    def sql(self, text: str) -> None:
        if self.before is not None:
            self.before(text)
        self.said.append(text)
        if text.startswith("CREATE VIEW"):
            self.views.add(text.split()[2].replace("`", ""))

    def tableExists(self, name: str) -> bool:
        return name in self.views

    @property
    def shown(self) -> str:
        return next(text for text in reversed(self.said) if " VIEW `warehouse`.`t` " in text)


@pytest.fixture
def statements() -> Statements:
    return Statements()


@pytest.fixture
def process(tmp_path: Path, statements: Statements) -> Callable[[], Warehouse]:
    fields = [{"name": "n", "type": "int"}]
    (tmp_path / "t.avsc").write_text(json.dumps({"type": "record", "name": "T", "fields": fields}))
    table = {"topic": "t", "format": "avro", "schema": "t.avsc"}
    found: Any = {"root": "tables", "kafka": {"bootstrap.servers": "h:1"}, "tables": [table]}

    def start() -> Warehouse:
        made = Warehouse(statements, WarehouseConfig.of(found, tmp_path))
        made.start()
        return made

    return start


def batch(warehouse: Warehouse, number: int) -> None:
    rows = [File("t", 0, f"{number}.parquet", 1, json.dumps({HOUR: 1})), File("", 0, "", 0, "{}")]
    plan = BatchPlan(offsets={"t": {0: (number, number + 1)}})
    assert warehouse.commit_batch(number, f"current/{batch_name(number)}-a", rows, 0, plan) is not None


def rollup(state: State) -> Rollup:
    return Rollup(state.rollups, state.end, NEXT, (HourGeneration("t", HOUR, f"hours/{state.rollups}", 1, 0, {}),))


def snapshot(text: str) -> tuple[int, int]:
    """(boundary, end) of a view's text."""
    boundary = re.search(r"h\._batch < (\d+)", text)
    end = re.search(r"in_batch < '(\d+)'", text)
    assert end is not None
    return int(boundary[1]) if boundary else 0, int(end[1])


def test_a_rollup_whose_process_died_before_the_metastore_knew(
    process: Callable[[], Warehouse], statements: Statements
) -> None:
    runs, other = process(), process()
    batch(runs, 0)
    other.reload()
    other.ledger.add_rollup(rollup(other.state))
    statements.said.clear()
    batch(runs, 1)
    placed = next(n for n, text in enumerate(statements.said) if "t__hours_1` ADD" in text)
    shown = [n for n, text in enumerate(statements.said) if " VIEW " in text and snapshot(text)[0] == 1]
    assert placed < shown[0], "the hour's partition is there before a view counts on it"
    assert snapshot(statements.shown) == (1, 2)


def test_a_batch_that_comes_while_another_process_tells_of_its_rollup(
    process: Callable[[], Warehouse], statements: Statements
) -> None:
    runs = process()
    batch(runs, 0)
    other = process()

    def meanwhile(text: str) -> None:
        if " VIEW " in text:
            statements.before = None
            batch(runs, 1)

    statements.before = meanwhile
    other.commit_rollup(rollup)
    assert snapshot(statements.shown) == (1, 2), "no batch goes again"


def test_a_rollup_that_comes_while_another_process_tells_of_its_batch(
    process: Callable[[], Warehouse], statements: Statements
) -> None:
    runs, other = process(), process()
    batch(runs, 0)

    def meanwhile(text: str) -> None:
        if " VIEW " in text:
            statements.before = None
            other.commit_rollup(rollup)

    statements.before = meanwhile
    batch(runs, 1)
    assert snapshot(statements.shown) == (2, 2)


def test_parts_of_a_batch_that_another_process_has_committed_are_known_before_a_rollup_reads_them(
    process: Callable[[], Warehouse], statements: Statements
) -> None:
    runs, other = process(), process()
    statements.before = lambda text: 1 // ("ADD IF NOT EXISTS PARTITION (in_batch" not in text)
    with pytest.raises(ZeroDivisionError):
        batch(runs, 0)
    statements.before = None
    statements.said.clear()
    other.reload()
    assert any("ADD IF NOT EXISTS PARTITION (in_batch = '000000000000'" in text for text in statements.said)
