"""Decodes the quarantine's records again after the cause was fixed: a schema, the registry, the configuration.

One ledger record adds the rows and removes their records from the quarantine, so each record is in exactly one of both
at any moment, even if a process dies. A row keeps the batch of its record: in tables of changes the order of states is
kept. Records that still cannot be decoded remain in the quarantine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from kafkapy.warehouse.columns import HOUR, ORIGIN, own_columns
from kafkapy.warehouse.ingest import FILES, QUARANTINED, IngestSettings, IngestTask, rows_of_files
from kafkapy.warehouse.rollup import PLACE, OutrunError, read_generations, roll_up, write_generations
from kafkapy.warehouse.routing import QUARANTINE_TABLE
from kafkapy.warehouse.snapshot import FIRST_HOUR, Hour, HourGeneration, Rollup, State, TableDefinition
from kafkapy.warehouse.tasks import written_files
from kafkapy.warehouse.warehouse import Warehouse, part_path

_SOURCE = {
    "topic": "topic",
    "partition": "_partition",
    "offset": "_offset",
    "key": "_key",
    "value": "value",
    "timestamp": "record_time",
    "id": "event_id",
    "batch": "_batch",
}
"""Maps columns of the quarantine to columns of records."""


class Redriven(NamedTuple):
    """Result of a redrive. `rows`: number of new rows by table. `left`: number of records that remain in the
    quarantine."""

    rows: Mapping[str, int]
    left: int


def redrive(warehouse: Warehouse, topics: Sequence[str] = (), reason: str = "") -> Redriven:
    """Decode records of the quarantine again, and move those that succeed to their tables.

    The affected hours are rolled up first.

    Args:
        topics: Whose records. Default: all topics of the configuration.
        reason: Only records with this text in their reason. Default: all.

    Raises:
        OutrunError: Another process has changed the ledger meanwhile: nothing was changed, try again.
        OSError: The storage has failed. Errors of Spark and the registry are passed on.
    """
    warehouse.reload()
    _roll_up(warehouse, max(warehouse.state.current_rows(QUARANTINE_TABLE), default=FIRST_HOUR))
    state = warehouse.state
    old = [each for each in state.generations.values() if each.table == QUARANTINE_TABLE and each.rows]
    if not old:
        return Redriven({}, 0)
    scratch = f"redrive/{uuid4().hex[:8]}"
    try:
        chosen = _chosen(warehouse, state, old, topics, reason)
        files = _read_again(warehouse, chosen, scratch)
        hours = {hour for file in files if file.schema != QUARANTINED for hour in _hours(file)}
        left = sum(file.rows for file in files if file.schema == QUARANTINED)
        if not hours:
            return Redriven({}, left)
        _roll_up(warehouse, max(hours))
        return Redriven(_Move(warehouse, scratch, files, max(hours)).commit(), left)
    finally:
        warehouse.files.delete(scratch)


def _roll_up(warehouse: Warehouse, hour: Hour) -> None:
    """Roll up an hour and all hours before it."""
    roll_up(warehouse, after(hour))


def after(hour: Hour) -> Hour:
    if hour == FIRST_HOUR:
        return hour
    return str(np.datetime64(f"{hour[:10]}T{hour[11:]}", "h") + np.timedelta64(1, "h")).replace("T", "-")


def _chosen(
    warehouse: Warehouse, state: State, old: Sequence[HourGeneration], topics: Sequence[str], reason: str
) -> Any:
    from pyspark.sql import functions as f

    rows = read_generations(warehouse, state.tables[QUARANTINE_TABLE], old)
    known = {table.topic for table in warehouse.config.tables}
    rows = rows.where(f.col("topic").isin(sorted(known & set(topics or known))))
    return rows.where(f.col("reason").contains(reason)) if reason else rows


def _read_again(warehouse: Warehouse, chosen: Any, scratch: str) -> list[Any]:
    """Decode the chosen records and return rows of `FILES`. Values that no table can hold stay in the quarantine."""
    records = chosen.selectExpr(*(f"{column} AS {name}" for name, column in _SOURCE.items()))
    while True:
        settings = warehouse.settings(scratch, warehouse.time.milliseconds())
        found = written_files(warehouse, records.mapInArrow(reading_again(settings), FILES), scratch)
        files = [row for row in found if row.name]
        if not warehouse.refuse(files):
            return files
        warehouse.files.delete(scratch)


def reading_again(settings: IngestSettings) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` over records of the quarantine."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from rows_of_files(IngestTask(settings).run_again(_of_one_topic(batches)))

    return run


def _of_one_topic(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        names = np.array(batch.column("topic").to_pylist(), object)
        for topic in sorted(set(names)):
            yield batch.take(pa.array(np.flatnonzero(names == topic)))


def _hours(file: Any) -> dict[Hour, int]:
    found: dict[Hour, int] = json.loads(file.hours)
    return found


class _Move:
    """Moves rows into their hours, and their records out of the quarantine. `files`: files of the decoded rows in
    `scratch`; `last`: their last hour. All hours up to `last` must be rolled up."""

    def __init__(self, warehouse: Warehouse, scratch: str, files: Sequence[Any], last: Hour) -> None:
        self._warehouse = warehouse
        self._scratch = scratch
        self._files = [file for file in files if file.schema != QUARANTINED]
        self._last = last
        self._state = warehouse.state
        self._tables = {**self._state.tables, **warehouse.tables_for(self._files)}

    def commit(self) -> dict[str, int]:
        """Write the ledger record; return the number of new rows by table."""
        generations: list[HourGeneration] = []
        counts: dict[str, int] = {}
        for name in sorted({self._name(file) for file in self._files}):
            made, added = self._joined(self._tables[name])
            generations += made
            counts[self._tables[name].view] = added
        generations += self._left_behind()
        changed = tuple(each for name, each in self._tables.items() if self._state.tables.get(name) != each)

        def record(now: State) -> Rollup:
            if now.rollups != self._state.rollups or now.tables != self._state.tables:
                raise OutrunError("Another process has decided something meanwhile: nothing has changed, try again")
            cutoff, at_ms = max(now.cutoff, after(self._last)), self._warehouse.time.milliseconds()
            return Rollup(now.rollups, now.boundary, cutoff, tuple(generations), at_ms, changed)

        self._warehouse.commit_rollup(record)
        return counts

    def _name(self, file: Any) -> str:
        found = (name for name, each in self._tables.items() if each.topic == file.topic)
        return next(name for name in found if str(file.schema) in self._tables[name].schemas)

    def _joined(self, table: TableDefinition) -> tuple[list[HourGeneration], int]:
        """Write a table's hours with their old and new rows; return the generations and the number of new rows."""
        warehouse = self._warehouse
        before = [each for each in self._state.generations.values() if each.table == table.name]
        rows = self._new_rows(table)
        new = {f"{ds}-{hr}": count for ds, hr, count in rows.groupBy(*HOUR.names).count().collect()}
        before = [each for each in before if each.hour in new]
        counts = dict(new)
        if before:
            old = read_generations(warehouse, table, before)
            rows = rows.join(old.select(*PLACE), PLACE, "left_anti")  # `backfill` may have been first
            new = {f"{ds}-{hr}": count for ds, hr, count in rows.groupBy(*HOUR.names).count().collect()}
            counts = {hour: new.get(hour, 0) for hour in counts}
            for each in before:
                counts[each.hour] += each.rows
            rows = rows.unionByName(old)
        made = write_generations(warehouse, table, rows, counts, self._size(before))
        dropped = {each.hour: each.dropped for each in before}
        return [each._replace(dropped=each.dropped + dropped.get(each.hour, 0)) for each in made], sum(new.values())

    def _new_rows(self, table: TableDefinition) -> Any:
        from pyspark.sql.types import StructType

        own = own_columns(table.columns, table.kind).fields
        paths = sorted({part_path(self._scratch, file) for file in self._files if self._name(file) == table.name})
        schema = StructType([*own, *ORIGIN.fields, *HOUR.fields])
        return self._warehouse.spark.read.schema(schema).parquet(*map(self._warehouse.files.url, paths))

    def _left_behind(self) -> list[HourGeneration]:
        """Write the quarantine's hours without the records that have become rows."""
        warehouse, table = self._warehouse, self._tables[QUARANTINE_TABLE]
        old = [each for each in self._state.generations.values() if each.table == QUARANTINE_TABLE and each.rows]
        rows = read_generations(warehouse, table, old).join(self._places(), ["topic", *PLACE], "left_anti").persist()
        try:
            counts = {f"{ds}-{hr}": count for ds, hr, count in rows.groupBy(*HOUR.names).count().collect()}
            changed = [each for each in old if counts.get(each.hour, 0) != each.rows]
            kept = rows.where(" OR ".join(f"(ds = '{each.hour[:10]}' AND hr = '{each.hour[11:]}')" for each in changed))
            left = {each.hour: counts.get(each.hour, 0) for each in changed}
            made = write_generations(warehouse, table, kept, left, self._size(changed))
        finally:
            rows.unpersist()
        return made

    def _places(self) -> Any:
        """Return the places of all records that have become rows."""
        from pyspark.sql import functions as f

        spark, url = self._warehouse.spark, self._warehouse.files.url
        schema = "_batch long, _partition int, _offset long"
        paths = sorted({(file.topic, part_path(self._scratch, file)) for file in self._files})
        each = [
            spark.read.schema(schema).parquet(url(path)).select(f.lit(topic).alias("topic"), "*")
            for topic, path in paths
        ]
        return reduce(lambda one, other: one.union(other), each)

    def _size(self, generations: Sequence[HourGeneration]) -> int:
        return max(1, sum(self._warehouse.files.size(each.path)[1] for each in generations))
