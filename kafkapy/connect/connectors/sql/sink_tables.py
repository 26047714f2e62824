"""Tables of the sink: which columns they have, and how they get more."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import mysql

from kafkapy.connect.connectors.sql.database import Database, is_transient, message_of
from kafkapy.connect.connectors.sql.names import TableName, quoted
from kafkapy.connect.connectors.sql.record_layout import LayoutColumn, RowChange
from kafkapy.connect.connectors.sql.source_config import zone_of
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP
from kafkapy.connect.errors import ConnectException

log = logging.getLogger("kafkapy.connect.connectors.sql")

_TYPES: Final[Mapping[Type, Any]] = {
    Type.INT8: sa.SmallInteger(),
    Type.INT16: sa.SmallInteger(),
    Type.INT32: sa.Integer(),
    Type.INT64: sa.BigInteger(),
    Type.FLOAT32: sa.REAL().with_variant(mysql.FLOAT(), "mysql", "mariadb"),
    Type.FLOAT64: sa.Double(),
    Type.BOOLEAN: sa.Boolean(create_constraint=False),
    Type.STRING: sa.Text(),
    Type.BYTES: sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb"),
}
_MYSQL_TIMES: Final = (mysql.TIME(fsp=3), mysql.DATETIME(fsp=3))
_DAY: Final = sa.Date()
_MOMENT: Final = sa.DateTime().with_variant(_MYSQL_TIMES[1], "mysql", "mariadb")
_TIME: Final = sa.Time().with_variant(_MYSQL_TIMES[0], "mysql", "mariadb")
_LOGICAL: Final[Mapping[str, Any]] = {
    DATE: _DAY,
    TIME: _TIME,
    TIMESTAMP: _MOMENT,
    "io.debezium.time.Date": _DAY,
    "io.debezium.time.Timestamp": _MOMENT,
    "io.debezium.time.MicroTimestamp": sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
    "io.debezium.time.NanoTimestamp": sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
    "io.debezium.time.ZonedTimestamp": sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb"),
    "io.debezium.time.Time": _TIME,
    "io.debezium.time.MicroTime": sa.Time().with_variant(mysql.TIME(fsp=6), "mysql", "mariadb"),
}
_MYSQL_DIGITS: Final = 65
_KEY_LENGTH: Final = 256
"""Characters of a text in a primary key, where the database cannot have longer ones."""


class SinkTables:
    """Knows the columns of the tables, and changes them if the configs allow it.

    Invariant: `_known` are columns that each table had when it was last looked at, and `_moments` those of them that are
    TIMESTAMPs of MySQL; a table is looked at again when a record has another column, and after the database has
    refused a record.

    Args:
        database: The task's.
        config: Parsed.
    """

    def __init__(self, database: Database, config: Mapping[str, Any]) -> None:
        self._database = database
        self._always: bool = config["quote.sql.identifiers"] == "always"
        self._may_create: bool = config["auto.create"]
        self._may_evolve: bool = config["auto.evolve"]
        self._known: dict[str, dict[str, str]] = {}
        self._moments: dict[str, frozenset[str]] = {}
        self._zone = zone_of(config["db.timezone"])

    def name_of(self, text: str) -> TableName:
        """Read a table's name with its schema, if it has one."""
        parts = [part.strip('"`[]') for part in text.split(".")]
        if self._database.kind == "sqlite" or len(parts) == 1:
            return TableName(None, None, text)
        return TableName(parts[-3] if len(parts) > 2 else None, parts[-2], parts[-1])

    def forget(self, text: str) -> None:
        """Look at a table again when it is next needed."""
        self._known.pop(text, None)

    def columns(self, text: str, wanted: Sequence[LayoutColumn]) -> dict[str, str]:
        """Return the names of a table's columns for those of a record; creates and extends the table if need be.

        Args:
            text: The table's name in the configs.
            wanted: The record's columns.

        Raises:
            ConnectException: The table or a column is missing, and must not be added.
        """
        known = self._known.get(text)
        if known is None or not self._has(known, wanted):
            known = self._look(text)
        if not known:
            self._create(text, wanted)
            known = self._look(text)
        if missing := [each for each in wanted if each.name not in known]:
            self._extend(text, missing)
            known = self._look(text)
        return known

    def known(self, text: str) -> dict[str, str]:
        """Return the columns that a table has; none if it does not exist."""
        return self._known.get(text) or self._look(text)

    def in_utc(self, text: str, changes: Sequence[RowChange]) -> Sequence[RowChange]:
        """Return changes whose values of TIMESTAMP columns are in UTC, the zone of the session, not in `db.timezone`."""
        names = self._moments.get(text)
        if not names:
            return changes

        def cell(name: str, value: Any) -> Any:
            if (name if self._always else name.lower()) not in names or not isinstance(value, dt.datetime):
                return value
            return value.replace(tzinfo=self._zone).astimezone(dt.UTC).replace(tzinfo=None)

        found = []
        for change in changes:
            key_names = [column.name for column in change.columns if column.is_key]
            key = tuple(cell(name, value) for name, value in zip(key_names, change.key, strict=True))
            row = None if change.row is None else {name: cell(name, value) for name, value in change.row.items()}
            found.append(change._replace(key=key, row=row))
        return found

    def clause(self, text: str, names: Sequence[str]) -> Any:
        """Return the table for statements on some of its columns."""
        name = self.name_of(text)
        columns = [sa.column(quoted(each, self._always)) for each in names]
        return sa.table(quoted(name.table, self._always), *columns, schema=quoted(name.schema, self._always))

    def _has(self, known: Mapping[str, str], wanted: Sequence[LayoutColumn]) -> bool:
        return all(each.name in known for each in wanted)

    def _look(self, text: str) -> dict[str, str]:
        found = self._database.columns(self._stored_name(text))
        known = {each.name: each.name for each in found}
        if self._database.is_mysql:
            stamps = [each.name for each in found if type(each.type).__name__.upper() == "TIMESTAMP"]
            self._moments[text] = frozenset(stamps if self._always else map(str.lower, stamps))
        if not self._always:
            known = _AnyCase(known)
        self._known[text] = known
        if not known:
            del self._known[text]
        return known

    def _stored_name(self, text: str) -> TableName:
        """The name as the catalog has it: without quotes, databases change its case."""
        name = self.name_of(text)
        if self._always:
            return name
        if self._database.kind == "postgresql":
            return TableName(name.catalog, name.schema and name.schema.lower(), name.table.lower())
        return name

    def _create(self, text: str, columns: Sequence[LayoutColumn]) -> None:
        name = self.name_of(text)
        if not self._may_create:
            raise ConnectException(f"There is no table {text}: create it, or set auto.create=true")
        table = sa.Table(
            quoted(name.table, self._always),
            sa.MetaData(),
            *(self._column(text, each, is_new_table=True) for each in columns),
            schema=quoted(name.schema, self._always),
        )
        log.info("Creating table %s", text)
        self._execute(text, sa.schema.CreateTable(table))

    def _extend(self, text: str, columns: Sequence[LayoutColumn]) -> None:
        names = ", ".join(each.name for each in columns)
        if not self._may_evolve:
            raise ConnectException(f"Table {text} has no column {names}: add it, or set auto.evolve=true")
        for each in columns:
            if each.schema is not None and not each.schema.optional and each.schema.default is None:
                raise ConnectException(
                    f"Column {each.name} cannot be added to {text}: its field must be optional or have a default"
                )
        for each in columns:
            table = self._database.dialect.identifier_preparer.format_table(self.clause(text, []))
            column = self._column(text, each, is_new_table=False)
            sa.Table("any", sa.MetaData(), column)
            definition = sa.schema.CreateColumn(column).compile(dialect=self._database.dialect)
            word = "ADD" if self._database.kind in ("sqlserver", "oracle") else "ADD COLUMN"
            log.info("Adding column %s to table %s", each.name, text)
            self._execute(text, sa.DDL(f"ALTER TABLE {table} {word} {definition}".replace("%", "%%")))

    def _execute(self, text: str, statement: Any) -> None:
        """Another task may do the same at the same time: then the table is as it should be afterwards."""
        connection = self._database.connection()
        try:
            connection.execute(statement)
            connection.commit()
        except exc.DBAPIError as error:
            connection.rollback()
            if is_transient(error):
                raise
            log.warning("Table %s could not be changed: %s", text, message_of(error))
            if isinstance(statement, sa.schema.CreateTable) and not self._look(text):
                raise ConnectException(f"Table {text} could not be created: {message_of(error)}") from error

    def _column(self, text: str, column: LayoutColumn, is_new_table: bool) -> Any:
        schema = column.schema
        if schema is None:
            raise ConnectException(
                f"Column {column.name} of {text} cannot be created: values need a schema, or the column must be there"
            )
        is_optional = schema.optional or schema.default is not None
        return sa.Column(
            quoted(column.name, self._always),
            self._type(column.name, schema, column.is_key),
            primary_key=column.is_key and is_new_table,
            autoincrement=False,
            nullable=is_optional and not column.is_key,
            server_default=_default(schema),
        )

    def _type(self, name: str, schema: Schema, is_key: bool) -> Any:
        if schema.name == DECIMAL:
            scale = int((schema.parameters or {}).get("scale", "0"))
            if self._database.kind == "postgresql":
                return sa.Numeric()
            digits = _MYSQL_DIGITS if self._database.is_mysql else 38
            return sa.Numeric(digits, min(scale, digits - 1)) if self._database.kind != "sqlite" else sa.Numeric()
        if schema.name is not None and schema.name in _LOGICAL:
            return _LOGICAL[schema.name]
        if schema.type is Type.ARRAY and self._database.kind == "postgresql" and schema.value_schema is not None:
            return sa.ARRAY(self._type(name, schema.value_schema, False))
        if is_key and schema.type is Type.STRING and self._database.kind not in ("postgresql", "sqlite"):
            return sa.String(_KEY_LENGTH)
        if schema.type not in _TYPES:
            raise ConnectException(f"Field {name} has fields or elements of its own: use the transform Flatten$Value")
        return _TYPES[schema.type]


class _AnyCase(dict[str, str]):
    """Names without quotes: the case does not matter."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__({name.lower(): name for name in names})

    def __contains__(self, name: object) -> bool:
        return super().__contains__(str(name).lower())

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())


def _default(schema: Schema) -> Any:
    value = schema.default
    if isinstance(value, bool):
        return sa.true() if value else sa.false()
    if isinstance(value, int | float):
        return sa.text(repr(int(value) if isinstance(value, int) else float(value)))
    return value if isinstance(value, str) else None
