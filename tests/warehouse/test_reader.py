"""Tables for readers without Spark: of all the files that lie about, just the rows that the view shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from kafkapy.tools import warehouse
from kafkapy.warehouse.file_system import LocalFileSystem
from kafkapy.warehouse.ledger import Ledger
from kafkapy.warehouse.reader import NoTableError, read_table, table_files
from kafkapy.warehouse.snapshot import Batch, BatchPart, HourGeneration, Rollup, TableDefinition
from tests.pages.programs import all_programs

HOURS = ["2026-11-24-00", "2026-11-24-01", "2026-11-24-02"]
NARROW = StructType([StructField("n", IntegerType())])
WIDE = StructType([StructField("n", LongType()), StructField("note", StringType())])


class Lake:
    """A warehouse's root, written by hand."""

    def __init__(self, directory: Path, kind: str = "events") -> None:
        self.directory = directory
        self.kind = kind
        self.ledger = Ledger(LocalFileSystem(directory))

    def file(self, path: str, rows: Sequence[tuple[str, str, int]], origin: int | None = None, **more: Any) -> None:
        """Rows: hour, id and number; ids are keys, too."""
        (self.directory / path).mkdir(parents=True)
        columns = {
            "n": pa.array([n for _, _, n in rows], pa.int32() if not more else pa.int64()),
            "_event_id": [id for _, id, _ in rows],
            "_key": [id.encode() for _, id, _ in rows],
            "_event_time": pa.array([0] * len(rows), pa.timestamp("us", "UTC")),
            "_partition": pa.array([0] * len(rows), pa.int32()),
            "_offset": pa.array(range(len(rows)), pa.int64()),
        }
        if origin is None:
            columns |= {"ds": [hour[:10] for hour, _, _ in rows], "hr": [hour[11:] for hour, _, _ in rows]}
        else:
            columns |= {"_batch": [origin] * len(rows), "_schema": pa.array([1] * len(rows), pa.int32())}
        if more:
            columns["note"] = [more["note"]] * len(rows)
        if self.kind == "changes":
            columns["_deleted"] = [False] * len(rows)
        pq.write_table(pa.table(columns), self.directory / path / "a.parquet")
        (self.directory / path / "_b.parquet").write_bytes(b"of a task that was killed")

    def batch(self, number: int, rows: Sequence[tuple[str, str, int]], **more: Any) -> None:
        path = f"current/{number}/t/s=1"
        self.file(path, rows, **more)
        hours = {hour: sum(each[0] == hour for each in rows) for hour, _, _ in rows}
        columns = (WIDE if more else NARROW).jsonValue()
        table = TableDefinition("t", "t", self.kind, columns, version=2 if more else 1)
        tables = (table,) if self.ledger.load().tables.get("t") != table else ()
        self.ledger.add_batch(Batch(number, {}, (BatchPart("t", "1", path, hours),), tables))

    def rollup(self, cutoff: str, hours: dict[str, Sequence[tuple[str, str, int]]], origin: int) -> None:
        state = self.ledger.load()
        generations = []
        for hour, rows in hours.items():
            path = f"hours/t/g{state.rollups}/ds={hour[:10]}/hr={hour[11:]}"
            self.file(path, rows, origin)
            generations.append(HourGeneration("t", hour, path, len(rows), 0, {}))
        self.ledger.add_rollup(Rollup(state.rollups, state.end, cutoff, tuple(generations)))

    def rows(self, hours: tuple[str, str] | None = None) -> list[tuple[str, str, int, int]]:
        read = read_table(self.directory, "t", ["ds", "hr", "_event_id", "n", "_batch"], hours)
        return sorted((f"{r['ds']}-{r['hr']}", r["_event_id"], r["n"], r["_batch"]) for r in read.to_pylist())


def test_events_once_wherever_they_are(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.batch(0, [(HOURS[0], "a", 1), (HOURS[0], "a", 2), (HOURS[1], "b", 3)])
    assert lake.rows() == [(HOURS[0], "a", 1, 0), (HOURS[1], "b", 3, 0)]
    lake.rollup(HOURS[1], {HOURS[0]: [(HOURS[0], "a", 1)]}, 0)
    lake.batch(1, [(HOURS[0], "a", 4), (HOURS[0], "late", 5), (HOURS[1], "b", 6), (HOURS[2], "a", 7)])
    expected = [
        (HOURS[0], "a", 1, 0),
        (HOURS[0], "late", 5, 1),
        (HOURS[1], "b", 3, 0),
        (HOURS[2], "a", 7, 1),
    ]
    assert lake.rows() == expected
    lake.file("current/2-killed/t/s=1", [(HOURS[2], "never", 8)])
    assert lake.rows() == expected, "a batch that the ledger does not have is not there"
    assert lake.rows((HOURS[1], HOURS[2])) == expected[2:3]
    lake.rollup(HOURS[2], {HOURS[0]: [(HOURS[0], "a", 1), (HOURS[0], "late", 5)], HOURS[1]: [(HOURS[1], "b", 3)]}, 1)
    assert [row[:3] for row in lake.rows()] == [row[:3] for row in expected]
    files = table_files(tmp_path, "t")
    assert [each.hour for each in files.hours] == HOURS[:2]
    assert [Path(path).name for each in files.hours for path in each.paths] == ["a.parquet", "a.parquet"]
    assert [(each.batch, each.hours) for each in files.batches] == [(1, frozenset({HOURS[2]}))]


def test_of_a_key_the_last_counts(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "changes")
    lake.batch(0, [(HOURS[0], "a", 1), (HOURS[0], "b", 2), (HOURS[0], "a", 3)])
    lake.rollup(HOURS[1], {HOURS[0]: [(HOURS[0], "a", 3), (HOURS[0], "b", 2)]}, 0)
    lake.batch(1, [(HOURS[0], "a", 4), (HOURS[1], "b", 5)])
    assert lake.rows() == [(HOURS[0], "a", 4, 1), (HOURS[0], "b", 2, 0), (HOURS[1], "b", 5, 1)]


def test_files_of_older_columns_are_as_wide_as_the_table_is_now(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.batch(0, [(HOURS[0], "a", 1)])
    lake.batch(1, [(HOURS[0], "b", 2**40)], note="wide")
    found = read_table(tmp_path.as_uri(), "t", ["n", "note"]).sort_by("n")
    assert found.to_pylist() == [{"n": 1, "note": None}, {"n": 2**40, "note": "wide"}]
    assert found.schema.types == [pa.int64(), pa.string()]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.batch(0, [(HOURS[0], "a", 1)])
    with pytest.raises(NoTableError, match=r"There is no table u in .*; there is t"):
        read_table(tmp_path, "u")
    with pytest.raises(NoTableError, match="read the table's view with Spark"):
        read_table("hdfs://h/w", "t")
    with pytest.raises(KeyError, match="t has no columns m"):
        read_table(tmp_path, "t", ["m"])


def test_the_program_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake(tmp_path)
    lake.batch(0, [(HOURS[0], "a", 1), (HOURS[0], "a", 2), (HOURS[1], "b", 3)])
    (program,) = (each for each in all_programs() if each.name == "warehouse.md: Other readers 1")
    exec(program.text.replace("/tmp/kafkapy-warehouse", str(tmp_path)).replace('"bookings"', '"t"'), {})
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()[1:3]] == [["00", "1"], ["01", "1"]]


@pytest.mark.usefixtures("logging_restored")
def test_the_files_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = Lake(tmp_path)
    lake.batch(0, [(HOURS[0], "a", 1), (HOURS[1], "b", 3)])
    lake.rollup(HOURS[1], {HOURS[0]: [(HOURS[0], "a", 1)]}, 0)
    config = tmp_path / "warehouse.toml"
    config.write_text(
        'root = "."\nkafka."bootstrap.servers" = "h:1"\nregistry.url = "http://r"\n[[tables]]\ntopic = "t"\n'
    )
    assert warehouse.main(["files", str(config), "t"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [f"{tmp_path}/hours/t/g0/ds=2026-11-24/hr=00/a.parquet"]
    assert f"rows of {HOURS[1]} that no rollup has had yet" in told.err
    assert warehouse.main(["files", str(config), "u"]) == 1
    assert "There is no table u" in capsys.readouterr().err
