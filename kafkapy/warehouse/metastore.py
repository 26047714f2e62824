"""Updates the metastore from the ledger; every operation is idempotent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from pyspark.sql.types import StructType

from kafkapy.warehouse.columns import HOUR, IN_BATCH, IN_SCHEMA, ORIGIN, from_json, own_columns
from kafkapy.warehouse.file_system import FileSystem
from kafkapy.warehouse.snapshot import (
    AddPart,
    DefineTable,
    DeletePath,
    DropPart,
    Effect,
    Hour,
    HourGeneration,
    PlaceHour,
    RegisterHours,
    ShowSnapshot,
    Snapshot,
    TableDefinition,
)
from kafkapy.warehouse.view_sql import (
    batch_name,
    current_name,
    current_table,
    hours_name,
    hours_table,
    literal,
    quoted,
    type_sql,
    view_name,
    view_sql,
)

_PARTITIONS_AT_ONCE = 200


class Metastore:
    """Spark's catalog, embedded or Hive's. Raises Spark's errors."""

    def __init__(self, spark: Any, database: str, files: FileSystem) -> None:
        self._spark = spark
        self._database = database
        self._files = files
        self._tables: dict[str, TableDefinition] = {}
        self._views: set[str] = set()
        """Existing views."""
        self._gone: set[str] = set()
        """Names of dropped views."""
        self._sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")

    def perform(self, effects: Iterable[Effect]) -> None:
        for kind, some in groupby(effects, type):
            if kind is AddPart:
                self._add_parts([each for each in some if isinstance(each, AddPart)])
            elif kind is PlaceHour:
                self._place([each for each in some if isinstance(each, PlaceHour)])
            else:
                for effect in some:
                    self._perform(effect)
        self._drop_old_views()

    def _drop_old_views(self) -> None:
        """Drop views with former names of tables, after all views with current names exist."""
        shown = {table.view for table in self._tables.values()}
        for old in {name for table in self._tables.values() for name in (table.name, *table.views)} - shown:
            if old not in self._gone:
                self._sql(f"DROP VIEW IF EXISTS {view_name(self._database, old)}")
            self._gone.add(old)
            self._views.discard(old)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case DefineTable(table):
                self._define(table)
            case RegisterHours(name, generations):
                hours = [(_hour(each.hour), each.path) for each in generations]
                self._add(hours_table(self._database, self._tables[name]), hours)
            case ShowSnapshot(name, snapshot):
                self._show(name, snapshot)
            case DropPart(batch, part):
                current = current_table(self._database, self._tables[part.table])
                self._sql(f"ALTER TABLE {current} DROP IF EXISTS PARTITION ({_part(batch, part.schema)})")
            case DeletePath(path):
                self._files.delete(path)

    def knows(self, table: TableDefinition) -> bool:
        return bool(self._spark.catalog.tableExists(f"{self._database}.{hours_name(table)}"))

    def objection(self, table: TableDefinition) -> str | None:
        """Return why a table of this definition is impossible; None if it is possible. Tested by a temporary table.

        Raises Spark's errors if the metastore fails.
        """
        trial = table._replace(name=f"{table.name}__trial")
        snapshot = Snapshot(0, 1, "9999-12-31-23", 1, ())
        try:
            self._drop(trial)
            self._create_both(trial, table.name)
            self._sql(view_sql(self._database, trial, own_columns(table.columns, table.kind).names, snapshot))
        except Exception as error:
            self._sql(
                f"SHOW TABLES IN {quoted(self._database)} LIKE 'none'"
            )  # raises if the fault is the metastore's own
            return _first_line(error)
        finally:
            self._drop(trial)
        return None

    def _drop(self, table: TableDefinition) -> None:
        for name in (current_table(self._database, table), hours_table(self._database, table)):
            self._sql(f"DROP TABLE IF EXISTS {name}")

    def learn(self, tables: Iterable[TableDefinition]) -> None:
        """Load the definitions of existing tables."""
        self._tables |= {table.name: table for table in tables}

    def drop_versions(self, table: TableDefinition) -> None:
        """Drop versions before the last two, which no running query uses. Files remain."""
        for version in range(1, table.version - 1):
            self._drop(table._replace(version=version))

    def _show(self, name: str, snapshot: Snapshot) -> None:
        """Update a view by ALTER, which is atomic: Spark's CREATE OR REPLACE drops the view first."""
        table = self._tables[name]
        view = view_name(self._database, table.view)
        text = view_sql(self._database, table, own_columns(table.columns, table.kind).names, snapshot)
        if table.view not in self._views and not self._spark.catalog.tableExists(f"{self._database}.{table.view}"):
            self._sql(f"CREATE VIEW {view} AS {text}")
        else:
            self._sql(f"ALTER VIEW {view} AS {text}")
        self._views.add(table.view)

    def _add_parts(self, added: Sequence[AddPart]) -> None:
        """Add partitions in one statement, because statements are slow; after a crash there are those of many
        batches."""
        of_tables: dict[str, list[tuple[str, str]]] = {}
        for batch, part in added:
            of_tables.setdefault(part.table, []).append((_part(batch, part.schema), part.path))
        for name, partitions in of_tables.items():
            self._add(current_table(self._database, self._tables[name]), partitions)

    def _place(self, placed: Sequence[PlaceHour]) -> None:
        """Set locations in one statement, for partitions that did not exist before."""
        of_tables: dict[str, list[HourGeneration]] = {}
        for generation, _ in placed:
            of_tables.setdefault(generation.table, []).append(generation)
        for table, generations in of_tables.items():
            name = hours_table(self._database, self._tables[table])
            self._add(name, [(_hour(each.hour), each.path) for each in generations])
        for generation, replaces in placed:
            if replaces:
                name = hours_table(self._database, self._tables[generation.table])
                place = literal(self._files.url(generation.path))
                self._sql(f"ALTER TABLE {name} PARTITION ({_hour(generation.hour)}) SET LOCATION {place}")

    def _add(self, table: str, partitions: Sequence[tuple[str, str]]) -> None:
        added = [f"PARTITION ({each}) LOCATION {literal(self._files.url(path))}" for each, path in partitions]
        for first in range(0, len(added), _PARTITIONS_AT_ONCE):
            some = " ".join(added[first : first + _PARTITIONS_AT_ONCE])
            self._sql(f"ALTER TABLE {table} ADD IF NOT EXISTS {some}")

    def _define(self, table: TableDefinition) -> None:
        """Define both parts of the table for this version of its columns. The common columns are first."""
        self._tables[table.name] = table
        self._gone.discard(table.view)
        self._create_both(table, table.name)

    def _create_both(self, table: TableDefinition, directory: str) -> None:
        own = from_json(table.columns).fields
        meta = own_columns([], table.kind).fields
        for name, columns, partitions, place in (
            (current_name(table), StructType([*meta, *HOUR.fields, *own]), (IN_BATCH, IN_SCHEMA), "current"),
            (hours_name(table), StructType([*meta, *ORIGIN.fields, *own]), ("ds", "hr"), "hours"),
        ):
            self._create(name, columns, partitions, f"{place}/{directory}")

    def _create(self, name: str, columns: StructType, partitions: tuple[str, ...], path: str) -> None:
        listed = ", ".join(f"{quoted(each.name)} {type_sql(each.dataType)}" for each in columns)
        by = ", ".join(f"{partition} STRING" for partition in partitions)
        self._sql(
            f"CREATE TABLE IF NOT EXISTS {quoted(self._database)}.{quoted(name)} ({listed}, {by}) USING PARQUET "
            f"PARTITIONED BY ({', '.join(partitions)}) LOCATION {literal(self._files.url(path))}"
        )

    def _sql(self, text: str) -> None:
        self._spark.sql(text)


def _first_line(error: Exception) -> str:
    """Return the first line of Spark's message; the rest has the statement and Java's stack."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def _part(batch: int, schema: str) -> str:
    return f"{IN_BATCH} = '{batch_name(batch)}', {IN_SCHEMA} = '{schema}'"


def _hour(hour: Hour) -> str:
    return f"ds = '{hour[:10]}', hr = '{hour[11:]}'"
