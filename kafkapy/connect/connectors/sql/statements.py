"""Statements of the source."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from kafkapy.connect.connectors.sql.column_schemas import ColumnTypes, as_moment
from kafkapy.connect.connectors.sql.database import ColumnInfo, Database
from kafkapy.connect.connectors.sql.names import TableName, quoted
from kafkapy.connect.connectors.sql.source_config import zone_of
from kafkapy.connect.connectors.sql.source_offsets import RowPosition
from kafkapy.connect.errors import ConnectException

_NOW = {
    "postgresql": "SELECT clock_timestamp()",
    "mysql": "SELECT UTC_TIMESTAMP(6)",
    "mariadb": "SELECT UTC_TIMESTAMP(6)",
    "sqlserver": "SELECT SYSUTCDATETIME()",
    "oracle": "SELECT SYSTIMESTAMP FROM DUAL",
}
_SQLITE_FORMAT = "%Y-%m-%d %H:%M:%f"


class RowBounds(NamedTuple):
    """Up to where rows are read.

    Attributes:
        number: The greatest value of the incrementing column, inclusive; None: no bound.
        moment: The latest timestamp, exclusive; None: no bound.
    """

    number: int | None = None
    moment: dt.datetime | None = None


class SourceStatement:
    """Builds and executes the statements for one table or the query.

    Invariant: `columns` are those of the table when `execute` was last called; none with a query.

    Args:
        database: The task's.
        config: Parsed.
        table: None: the query of the config.
    """

    def __init__(self, database: Database, config: Mapping[str, Any], table: TableName | None) -> None:
        self._database, self._table = database, table
        self._query = config["query"].strip().rstrip(";").replace(":", "\\:")
        self._suffix = config["query.suffix"].strip().replace(":", "\\:")
        self._always = config["quote.sql.identifiers"].lower() == "always"
        self._mode: str = config["mode"]
        self._number_name: str = config["incrementing.column.name"]
        self._moment_names: list[str] = config["timestamp.column.name"]
        self._delay = dt.timedelta(milliseconds=config["timestamp.delay.interval.ms"])
        self._zone = zone_of(config["db.timezone"])
        self._types = ColumnTypes(database.kind, "none", "connect_logical", self._zone)
        self.columns: list[ColumnInfo] = []

    def check(self, must_be_not_null: bool) -> None:
        """Check the columns of the mode.

        Args:
            must_be_not_null: `validate.non.null`.

        Raises:
            ConnectException: One is missing, or may be NULL and must not.
        """
        if self._table is None or self._mode == "bulk":
            return
        found = {each.name.lower(): each for each in self._database.columns(self._table)}
        numbers = [self._number_name] if "incrementing" in self._mode else []
        moments = self._moment_names if self._mode.startswith("timestamp") else []
        for name in (*numbers, *moments):
            if name.lower() not in found:
                raise ConnectException(f"Table {self._table.text} has no column {name}, which mode={self._mode} needs")
        nullable = [name for name in numbers if found[name.lower()].is_nullable]
        if moments and all(found[name.lower()].is_nullable for name in moments):
            nullable += moments
        keys = [name.lower() for name in self._database.primary_key(self._table)]
        nullable = [name for name in nullable if name.lower() not in keys]
        if nullable and must_be_not_null:
            raise ConnectException(
                f"Column {nullable[0]} of {self._table.text} may be NULL, and rows with a NULL there are never read. "
                "Make it NOT NULL, or set validate.non.null=false."
            )

    def upper_bounds(self, position: RowPosition) -> RowBounds | None:
        """Return up to where rows could be read by now; None if there are no new ones."""
        connection = self._database.connection()
        if self._mode != "incrementing":
            return RowBounds(moment=self._now(connection) - self._delay)
        number = sa.column(quoted(self._number_name, self._always))
        greatest = connection.execute(sa.select(sa.func.max(number)).select_from(self._source())).scalar()
        if greatest is None or (position.number is not None and greatest <= position.number):
            connection.rollback()
            return None
        return RowBounds(number=int(greatest))

    def execute(self, position: RowPosition, bounds: RowBounds | None, size: int) -> Any:
        """Execute the statement.

        Args:
            position: Rows after it are read.
            bounds: None: all rows.
            size: Rows that are fetched at a time.

        Returns:
            The open result, with a cursor of the server.
        """
        if self._table is not None:
            self.columns = self._database.columns(self._table)
            if not self.columns:
                raise ConnectException(f"There is no table {self._table.text} any more")
        statement = self._select()
        if bounds is not None:
            statement = statement.where(*self._conditions(position, bounds)).order_by(*self._order())
        if self._suffix and not (self._table is None and self._mode == "bulk"):
            statement = statement.suffix_with(sa.text(self._suffix))
        options = {"stream_results": True, "max_row_buffer": size, "yield_per": size}
        return self._database.connection().execute(statement, execution_options=options)

    def place_of(self, name: str, names: Sequence[str]) -> int:
        """Return the place of a column in a result. Raises ConnectException if it is not there."""
        for place, each in enumerate(names):
            if each.lower() == name.lower():
                return place
        raise ConnectException(f"The rows have no column {name}")

    def moment_zone(self, name: str) -> ZoneInfo:
        """Return the zone in which a column's timestamps without a zone are: UTC for TIMESTAMP of MySQL."""
        if self._database.is_mysql:
            for each in self.columns:
                if each.name.lower() == name.lower() and type(each.type).__name__.upper() == "TIMESTAMP":
                    return ZoneInfo("UTC")
        return self._zone

    def _source(self) -> Any:
        if self._table is None:
            return sa.text(f"({self._query}) kafkapy_query")
        schema = quoted(self._table.schema, self._always)
        return sa.table(quoted(self._table.table, self._always), schema=schema)

    def _select(self) -> Any:
        if self._table is None:
            if self._mode == "bulk":
                return sa.text(f"{self._query} {self._suffix}".strip())
            return sa.select(sa.text("*")).select_from(self._source())
        columns = []
        for each in self.columns:
            column: Any = sa.column(quoted(each.name, self._always))
            if self._types.of_type(each.type, each.is_nullable).as_text:
                column = sa.cast(column, sa.Text).label(quoted(each.name, self._always))
            columns.append(column)
        return sa.select(*columns).select_from(self._source())

    def _conditions(self, position: RowPosition, bounds: RowBounds) -> list[Any]:
        number: Any = sa.column(quoted(self._number_name, self._always))
        if self._mode == "incrementing":
            after = [] if position.number is None else [number > position.number]
            return [*after, number <= bounds.number]
        assert bounds.moment is not None
        moment = self._moment()
        conditions: list[Any] = [moment < self._bound(bounds.moment)]
        if position.moment is None:
            return conditions
        last = self._bound(position.moment)
        later = moment > last
        if self._mode == "timestamp+incrementing" and position.number is not None:
            later = sa.or_(later, sa.and_(moment == last, number > position.number))
        return [*conditions, later]

    def _order(self) -> list[Any]:
        number: Any = sa.column(quoted(self._number_name, self._always))
        return {
            "incrementing": lambda: [number],
            "timestamp": lambda: [self._moment()],
            "timestamp+incrementing": lambda: [self._moment(), number],
        }[self._mode]()

    def _moment(self) -> Any:
        columns: list[Any] = [sa.column(quoted(name, self._always)) for name in self._moment_names]
        if self._database.kind == "sqlite":
            columns = [_sqlite_moment(column) for column in columns]
        return columns[0] if len(columns) == 1 else sa.func.coalesce(*columns)

    def _bound(self, moment: dt.datetime) -> Any:
        """The time as the column has it; PostgreSQL compares all its types with a time that has a zone."""
        if self._database.kind == "postgresql":
            return sa.bindparam(None, moment, type_=sa.DateTime(timezone=True), unique=True)
        local = moment.astimezone(self.moment_zone(self._moment_names[0])).replace(tzinfo=None)
        if self._database.kind == "sqlite":
            return local.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        return local

    def _now(self, connection: Any) -> dt.datetime:
        """The database's time, in whole seconds: columns may have no fractions."""
        statement = _NOW.get(self._database.kind)
        value = dt.datetime.now(dt.UTC) if statement is None else connection.exec_driver_sql(statement).scalar()
        return as_moment(value, ZoneInfo("UTC")).replace(microsecond=0)


def _sqlite_moment(column: Any) -> Any:
    """Times are text, or ms since 1970, as Java stores them."""
    by_ms = sa.func.strftime(_SQLITE_FORMAT, column / 1000.0, "unixepoch")
    return sa.case((sa.func.typeof(column) == "integer", by_ms), else_=sa.func.strftime(_SQLITE_FORMAT, column))
