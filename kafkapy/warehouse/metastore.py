"""The metastore follows the ledger: each effect may be performed twice."""

from __future__ import annotations

import logging
from collections.abc import Iterable
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
    PlaceHour,
    ShowSnapshot,
    TableDefinition,
)
from kafkapy.warehouse.view_sql import batch_name, current_table, hours_table, quoted, view_name, view_sql

_log = logging.getLogger("kafkapy.warehouse")


class Metastore:
    """Spark's catalog, embedded or Hive's. Raises what Spark raises."""

    def __init__(self, spark: Any, database: str, files: FileSystem) -> None:
        self._spark = spark
        self._database = database
        self._files = files
        self._tables: dict[str, TableDefinition] = {}
        self._sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}")

    def perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            _log.debug("%s", effect)
            match effect:
                case DefineTable(table):
                    self._define(table)
                case AddPart(batch, part):
                    table_name = current_table(self._database, part.table)
                    self._add(table_name, _part(batch, part.schema), part.path)
                case PlaceHour(hour):
                    table_name = hours_table(self._database, hour.table)
                    self._add(table_name, _hour(hour.hour), hour.path)
                    place = f"SET LOCATION {_text(self._files.url(hour.path))}"
                    self._sql(f"ALTER TABLE {table_name} PARTITION ({_hour(hour.hour)}) {place}")
                case ShowSnapshot(name, snapshot):
                    table = self._tables[name]
                    columns = own_columns(table.columns, table.kind).names
                    text = view_sql(self._database, name, table.kind, columns, snapshot)
                    self._sql(f"CREATE OR REPLACE VIEW {view_name(self._database, name)} AS {text}")
                case DropPart(batch, part):
                    table_name = current_table(self._database, part.table)
                    self._sql(f"ALTER TABLE {table_name} DROP IF EXISTS PARTITION ({_part(batch, part.schema)})")
                case DeletePath(path):
                    self._files.delete(path)

    def knows(self, table: str) -> bool:
        return bool(self._spark.catalog.tableExists(f"{self._database}.{table}__hours"))

    def learn(self, tables: Iterable[TableDefinition]) -> None:
        """Definitions of tables that are there."""
        self._tables |= {table.name: table for table in tables}

    def _add(self, table: str, partition: str, path: str) -> None:
        place = _text(self._files.url(path))
        self._sql(f"ALTER TABLE {table} ADD IF NOT EXISTS PARTITION ({partition}) LOCATION {place}")

    def _define(self, table: TableDefinition) -> None:
        """Both places, or their new columns."""
        known = self._tables.get(table.name)
        if known is not None and known.columns == table.columns:
            self._tables[table.name] = table
            return
        # What every table has comes first: Hive takes new columns at the end only.
        own = from_json(table.columns).fields
        meta = own_columns([], table.kind).fields
        for name, columns, partitions, place in (
            (f"{table.name}__current", StructType([*meta, *HOUR.fields, *own]), (IN_BATCH, IN_SCHEMA), "current"),
            (f"{table.name}__hours", StructType([*meta, *ORIGIN.fields, *own]), ("ds", "hr"), "hours"),
        ):
            if self._spark.catalog.tableExists(f"{self._database}.{name}"):
                self._widen(name, columns)
            else:
                self._create(name, columns, partitions, f"{place}/{table.name}")
        self._tables[table.name] = table

    def _create(self, name: str, columns: StructType, partitions: tuple[str, ...], path: str) -> None:
        listed = ", ".join(f"{quoted(each.name)} {_type(each.dataType)}" for each in columns)
        by = ", ".join(f"{partition} STRING" for partition in partitions)
        self._sql(
            f"CREATE TABLE IF NOT EXISTS {quoted(self._database)}.{quoted(name)} ({listed}, {by}) USING PARQUET "
            f"PARTITIONED BY ({', '.join(partitions)}) LOCATION {_text(self._files.url(path))}"
        )

    def _widen(self, name: str, columns: StructType) -> None:
        """SQL can add columns, but not widen them: the catalog below it can do both at once."""
        spark = self._spark
        if self._data_columns(name) == columns:
            return
        schema = spark._jvm.org.apache.spark.sql.types.DataType.fromJson(columns.json())
        catalog = spark._jsparkSession.sharedState().externalCatalog()
        catalog.alterTableDataSchema(self._database, name, schema)
        spark.catalog.refreshTable(f"{self._database}.{name}")

    def _data_columns(self, name: str) -> StructType:
        found = self._spark.table(f"{self._database}.{name}").schema
        partitions = (IN_BATCH, IN_SCHEMA) if name.endswith("__current") else ("ds", "hr")
        return StructType([each for each in found if each.name not in partitions])

    def _sql(self, text: str) -> None:
        self._spark.sql(text)


def _type(type: Any) -> str:
    return str(type.simpleString())


def _part(batch: int, schema: str) -> str:
    return f"{IN_BATCH} = '{batch_name(batch)}', {IN_SCHEMA} = '{schema}'"


def _hour(hour: Hour) -> str:
    return f"ds = '{hour[:10]}', hr = '{hour[11:]}'"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
