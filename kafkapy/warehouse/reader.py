"""Reads a table without Spark (pyarrow, pandas, DuckDB): exactly the rows of the table's view at one moment.

A glob over the directories gives wrong results: it includes files of failed attempts, replaced partitions and
duplicate events. Only the ledger has which files are valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from kafkapy.warehouse.columns import HOUR, ORIGIN, own_columns
from kafkapy.warehouse.config import CHANGES
from kafkapy.warehouse.file_system import LocalFileSystem, is_hidden
from kafkapy.warehouse.ledger import Ledger
from kafkapy.warehouse.snapshot import Hour, State, TableDefinition


class NoTableError(LookupError):
    """The table does not exist, or is on a file system that this reader does not support; the message lists the
    tables."""


class HourFiles(NamedTuple):
    """Files of an hour that was rolled up, each event once."""

    hour: Hour
    paths: tuple[str, ...]


class BatchFiles(NamedTuple):
    """Files of a batch. `hours`: those whose rows are valid; rows of other hours are in the hours' files. Events may
    be duplicates, and may be in the hour's files, too."""

    batch: int
    schema: int
    paths: tuple[str, ...]
    hours: frozenset[Hour]


class TableFiles(NamedTuple):
    """The files of a view at one moment. They remain for the configuration's `grace_minutes`."""

    table: TableDefinition
    hours: tuple[HourFiles, ...]
    batches: tuple[BatchFiles, ...]


def table_files(root: str | Path, table: str, hours: tuple[Hour, Hour] | None = None) -> TableFiles:
    """Return the files of a table. Arguments and errors are those of `read_table`."""
    files = _local(root)
    state = Ledger(files).load()
    views = {each.view: each for each in state.tables.values()}
    if table not in views:
        known = ", ".join(sorted(views)) or "none yet"
        raise NoTableError(f"There is no table {table} in {files.directory}; there is {known}")
    definition = views[table]
    rolled_up = [
        HourFiles(hour, _paths(files, generation.path))
        for (name, hour), generation in sorted(state.generations.items(), key=lambda item: item[0])
        if name == definition.name and _is_wanted(hour, hours)
    ]
    return TableFiles(definition, tuple(rolled_up), tuple(_batches(files, state, definition.name, hours)))


def read_table(
    root: str | Path,
    table: str,
    columns: Sequence[str] | None = None,
    hours: tuple[Hour, Hour] | None = None,
) -> pa.Table:
    """Read the rows that the view of a table shows now, without Spark.

        from kafkapy.warehouse.reader import read_table
        bookings = read_table("/data/warehouse", "bookings", ["city", "_event_time"], ("2026-11-24-00", "2026-11-25-00"))
        bookings.to_pandas().groupby("city").size()

    Args:
        root: the configuration's `root`, a local directory or a `file:` URL.
        table: the table's name, without that of the database.
        columns: which of the view's columns; by default all.
        hours: the first hour, and the one after the last (UTC); by default all. Rows of these hours are held in memory.

    Raises NoTableError if there is no such table or the root is not local, LedgerError if the ledger is damaged, KeyError for
    columns that the table does not have.
    """
    found = table_files(root, table, hours)
    definition = found.table
    own = own_columns(definition.columns, definition.kind)
    schema = to_arrow_schema(StructType([*own.fields, *ORIGIN.fields, *HOUR.fields]), timezone="UTC")
    names = schema.names if columns is None else list(columns)
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise KeyError(f"{table} has no columns {', '.join(unknown)}; there are {', '.join(schema.names)}")
    identity = "_key" if definition.kind == CHANGES else "_event_id"
    needed = [name for name in schema.names if name in {*names, identity, *_PLACE, *HOUR.names}]
    wanted = pa.schema([schema.field(name) for name in needed])
    rolled_up = [_read(path, wanted, _hour_columns(each.hour)) for each in found.hours for path in each.paths]
    fresh = [_of_batch(each, wanted) for each in found.batches]
    both = _once(_joined(rolled_up, wanted), _joined(fresh, wanted), identity, definition.kind)
    return both.select(names)


_PLACE = ("_batch", "_partition", "_offset")


def _local(root: str | Path) -> LocalFileSystem:
    parts = urlsplit(str(root))
    if parts.scheme not in ("", "file"):
        raise NoTableError(f"{root} is not a local directory: read the table's view with Spark")
    return LocalFileSystem(unquote(parts.path))


def _paths(files: LocalFileSystem, directory: str) -> tuple[str, ...]:
    return tuple(str(files.path(f"{directory}/{name}")) for name in files.names(directory) if not is_hidden(name))


def _is_wanted(hour: Hour, hours: tuple[Hour, Hour] | None) -> bool:
    return hours is None or hours[0] <= hour < hours[1]


def _batches(files: LocalFileSystem, state: State, table: str, hours: tuple[Hour, Hour] | None) -> list[BatchFiles]:
    snapshot = state.snapshot(table)
    found = []
    for number, batch in sorted(state.batches.items()):
        for part in batch.parts:
            shown = {hour for hour in part.hours if snapshot.in_current(number, hour) and _is_wanted(hour, hours)}
            if part.table == table and shown:
                found.append(BatchFiles(number, int(part.schema), _paths(files, part.path), frozenset(shown)))
    return found


def _hour_columns(hour: Hour) -> dict[str, Any]:
    return {"ds": hour[:10], "hr": hour[11:]}


def _read(path: str, wanted: pa.Schema, constants: dict[str, Any]) -> pa.Table:
    """Read a file with the columns of `wanted`: missing ones are null, types are the table's current ones."""
    file = pq.ParquetFile(path)
    known = {name.lower(): name for name in file.schema_arrow.names}
    read = file.read(
        [known[each.name.lower()] for each in wanted if each.name.lower() in known and each.name not in constants]
    )
    columns = []
    for each in wanted:
        if each.name in constants:
            columns.append(pa.repeat(pa.scalar(constants[each.name], each.type), len(read)))
        elif each.name.lower() in known:
            columns.append(read.column(known[each.name.lower()]).cast(each.type))
        else:
            columns.append(pa.nulls(len(read), each.type))
    return pa.table(columns, schema=wanted)


def _of_batch(batch: BatchFiles, wanted: pa.Schema) -> pa.Table:
    origin = {"_batch": batch.batch, "_schema": batch.schema}
    rows = _joined([_read(path, wanted, origin) for path in batch.paths], wanted)
    return rows.filter(pc.is_in(_hours(rows), pa.array(sorted(batch.hours), pa.string())))


def _joined(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _hours(rows: pa.Table) -> Any:
    return pc.binary_join_element_wise(rows.column("ds"), rows.column("hr"), "-")


def _once(rolled_up: pa.Table, fresh: pa.Table, identity: str, kind: str) -> pa.Table:
    """Of each event of an hour the first row, which the hour has if it has any; of each key the last, which is in no hour's files
    if there is one beside them."""
    if not len(fresh):
        return rolled_up
    order = "descending" if kind == CHANGES else "ascending"
    ordered = fresh.sort_by([(name, order) for name in _PLACE])
    numbered = ordered.append_column("_n", pa.array(range(len(ordered)), pa.int64()))
    first = numbered.group_by(["ds", "hr", identity], use_threads=False).aggregate([("_n", "min")])
    once = ordered.take(first.column("_n_min"))
    if kind == CHANGES:
        rolled_up = _without(rolled_up, once, identity)
    else:
        once = _without(once, rolled_up, identity)
    return pa.concat_tables([rolled_up, once])


def _without(rows: pa.Table, others: pa.Table, identity: str) -> pa.Table:
    """Return the rows whose event is not among `others` in the same hour."""
    keys, of_others = (
        pc.binary_join_element_wise(_hours(each).cast(pa.binary()), each.column(identity).cast(pa.binary()), b"-")
        for each in (rows, others)
    )
    return rows.filter(pc.invert(pc.is_in(keys, pc.unique(of_others))))
