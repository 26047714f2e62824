"""Reads one table, or the query, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.connect.connectors.sql.column_schemas import ColumnSchema, ColumnTypes, as_moment
from kafkapy.connect.connectors.sql.database import Database
from kafkapy.connect.connectors.sql.late_commits import OpenTransactions
from kafkapy.connect.connectors.sql.names import TableName
from kafkapy.connect.connectors.sql.query_columns import query_columns
from kafkapy.connect.connectors.sql.source_config import zone_of
from kafkapy.connect.connectors.sql.source_offsets import RowPosition, partition_of
from kafkapy.connect.connectors.sql.statements import RowBounds, SourceStatement
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord


class _RowBatch(NamedTuple):
    records: list[SourceRecord]
    is_last: bool


class TableReader:
    """Reads rows in batches.

    Invariant: all rows up to `_settled` have been returned; it is the offset of each record. In timestamp mode it moves
    when all rows with one timestamp have been returned, so that a restart repeats some rather than skips any. `_rows` is
    the open result, `_next` its next row; until it is open, the transactions open at `_bounds` are waited for.

    Args:
        database: The task's.
        config: Parsed.
        table: None: the query of the config.
        position: Where to begin.
        pause: Waits so many seconds; returns True if the task is being stopped.
    """

    def __init__(
        self,
        database: Database,
        config: Mapping[str, Any],
        table: TableName | None,
        position: RowPosition,
        pause: Callable[[float], bool],
    ) -> None:
        self.table = table
        self.due = 0.0
        self._database, self._config = database, config
        self._mode: str = config["mode"]
        self._number_name: str = config["incrementing.column.name"]
        self._moment_names: list[str] = config["timestamp.column.name"]
        self._settled = position
        self._zone = zone_of(config["db.timezone"])
        self._types = ColumnTypes(database.kind, config["numeric.mapping"], config["timestamp.granularity"], self._zone)
        self._size: int = config["batch.max.rows"]
        self._topic: str = config["topic.prefix"] + (table.table if table else "")
        self._partition = partition_of(table)
        by_time = self._mode.startswith("timestamp")
        warn_after_s = config["late.commit.warning.ms"] / 1000
        self._open = OpenTransactions(database, table, by_time, warn_after_s, pause)
        self._statement = SourceStatement(database, config, table)
        self._bounds: RowBounds | None = None
        self._rows: Iterator[Any] | None = None
        self._next: Any = None
        self._names: list[str] = []
        self._columns: list[tuple[str, ColumnSchema]] = []
        self._has_types = False
        self._schema: Schema | None = None

    def poll(self) -> _RowBatch:
        """Return the next rows. Raises SQLAlchemy's errors, after which `reset` must be called."""
        if self._rows is None and not self._begin():
            return _RowBatch([], True)
        assert self._rows is not None
        rows: list[Any] = []
        while self._next is not None and len(rows) < self._size:
            rows.append(self._next)
            self._next = next(self._rows, None)
        records = self._records(rows)
        is_last = self._next is None
        if is_last:
            self.reset()
            self._database.roll_back()  # raises nothing: the records are returned, as `_settled` says
        return _RowBatch(records, is_last)

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for open transactions, so that it should look again soon."""
        return self._bounds is not None and self._rows is None

    def reset(self) -> None:
        """Drop the open result and the bound after an error; the next `poll` continues after the last returned row."""
        self._rows = self._next = self._bounds = None

    def _begin(self) -> bool:
        """Execute the statement; returns False if there is nothing to read yet."""
        if self._mode != "bulk":
            if self._bounds is None:
                self._bounds = self._statement.upper_bounds(self._settled)
                if self._bounds is None:
                    return False
                self._open.mark()
            if not self._open.have_ended():
                return False
        result = self._statement.execute(self._settled, self._bounds, self._size)
        self._rows = iter(result)
        self._names = list(result.keys())
        if self.table is not None:
            columns = self._statement.columns
            self._columns = [(each.name, self._types.of_type(each.type, each.is_nullable)) for each in columns]
        else:
            self._columns = query_columns(self._database, result, self._names, self._types)
        self._has_types = bool(self._columns)
        if self._has_types:
            self._schema = _struct(self.table.table if self.table else None, self._columns)
        self._next = next(self._rows, None)
        return True

    def _records(self, rows: Sequence[Any]) -> list[SourceRecord]:
        if not self._has_types and rows:
            columns = [(name, self._types.of_values([row[at] for row in rows])) for at, name in enumerate(self._names)]
            self._columns, self._schema = columns, _struct(None, columns)
        found = []
        for index, row in enumerate(rows):
            following = rows[index + 1] if index + 1 < len(rows) else self._next
            value = self._struct(row)
            offset = self._offset_after(row, following)
            found.append(SourceRecord(self._partition, offset, self._topic, value_schema=value.schema, value=value))
        return found

    def _struct(self, row: Any) -> Struct:
        assert self._schema is not None
        value = Struct(self._schema)
        for (name, column), cell in zip(self._columns, row, strict=False):
            if cell is not None:
                value.put(name, column.convert(cell))
            elif not column.schema.optional:
                raise ConnectException(f"Column {name} of {self._topic} is NOT NULL and has a NULL")
        return value

    def _offset_after(self, row: Any, following: Any) -> dict[str, int] | None:
        if self._mode == "bulk":
            return None
        position = self._position_of(row)
        is_inside = following is not None and self._position_of(following).moment == position.moment
        if self._mode == "timestamp" and is_inside:
            return self._settled.as_offset()
        self._settled = position
        return position.as_offset()

    def _position_of(self, row: Any) -> RowPosition:
        number = moment = None
        if "incrementing" in self._mode:
            cell = row[self._statement.place_of(self._number_name, self._names)]
            if cell is None:
                raise ConnectException(f"The incrementing column of {self._topic} has a NULL")
            number = int(cell)
        if self._mode.startswith("timestamp"):
            for name in self._moment_names:
                cell = row[self._statement.place_of(name, self._names)]
                if cell is not None:
                    moment = as_moment(cell, self._statement.moment_zone(name))
                    break
        return RowPosition(number, moment)


def _struct(name: str | None, columns: Sequence[tuple[str, ColumnSchema]]) -> Schema:
    builder = SchemaBuilder(Type.STRUCT).name(name)
    for column, schema in columns:
        builder.field(column, schema.schema)
    return builder.build()
