"""Writes rows: each kind of database in its own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql, sqlite

from kafkapy.connect.connectors.sql.database import Database
from kafkapy.connect.connectors.sql.record_layout import RowChange
from kafkapy.connect.connectors.sql.row_folding import fold, runs
from kafkapy.connect.connectors.sql.sink_config import INSERT, UPDATE
from kafkapy.connect.connectors.sql.sink_tables import SinkTables

_COPY_FROM: Final = 20
"""So many rows are copied to PostgreSQL; fewer are faster with statements."""
_Rows = Sequence[Mapping[str, Any]]


class RowWriter:
    """Writes changes of one table in one transaction.

    Args:
        database: The task's.
        tables: Of the database.
        mode: `insert.mode`.
    """

    def __init__(self, database: Database, tables: SinkTables, mode: str) -> None:
        self._database, self._tables, self._mode = database, tables, mode
        self._copies = 0

    def write(self, table: str, changes: Sequence[RowChange]) -> None:
        """Write changes and commit them. Raises SQLAlchemy's errors; nothing is written then.

        Args:
            table: Name of the table in the configs; it has all columns.
            changes: In order.
        """
        connection = self._database.connection()
        changes = self._tables.in_utc(table, changes)
        if not connection.in_transaction():
            connection.begin()  # COPY uses the driver's cursor, of which SQLAlchemy does not know
        try:
            if self._mode == INSERT:
                for run in runs(changes):
                    keys = [each.key for each in run if each.row is None]
                    self._delete(connection, table, run[0], keys)
                    self._write_rows(connection, table, run[0], [each.row for each in run if each.row is not None])
            else:
                folded = fold(changes, only_existing=self._mode == UPDATE)
                self._delete(connection, table, changes[0], folded.deleted)
                self._write_rows(connection, table, changes[0], folded.rows)
            connection.commit()
        except BaseException:
            self._database.roll_back()
            raise

    def _delete(self, connection: Any, table: str, like: RowChange, keys: Sequence[tuple[Any, ...]]) -> None:
        if not keys:
            return
        names = _key_names(like)
        clause = self._tables.clause(table, names)
        columns = list(clause.columns)
        where = [column == sa.bindparam(f"k{place}") for place, column in enumerate(columns)]
        values = [{f"k{place}": value for place, value in enumerate(key)} for key in keys]
        connection.execute(sa.delete(clause).where(*where), values)

    def _write_rows(self, connection: Any, table: str, like: RowChange, rows: _Rows) -> None:
        groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        for row in rows:
            groups.setdefault(tuple(row), []).append(row)
        for names, group in groups.items():
            keys = _key_names(like)
            if self._mode == UPDATE:
                self._update(connection, table, keys, names, group)
            elif self._database.kind == "postgresql" and len(group) >= _COPY_FROM:
                self._copy(connection, table, keys, names, group)
            elif self._mode == INSERT or self._database.kind in _UPSERTS:
                statement = self._insert(table, keys, names)
                connection.execute(statement, [_positional(names, row) for row in group])
            else:
                self._update_or_insert(connection, table, keys, names, group)

    def _insert(self, table: str, keys: Sequence[str], names: Sequence[str]) -> Any:
        clause = self._tables.clause(table, names)
        kind = self._database.kind
        insert: Any = sa.insert if self._mode == INSERT else _UPSERTS[kind]
        columns = list(clause.columns)
        statement = insert(clause).values({column: sa.bindparam(f"c{at}") for at, column in enumerate(columns)})
        if self._mode == INSERT:
            return statement
        others = [column for column in columns if column.name not in keys]
        if self._database.is_mysql:
            changed = others or columns[:1]  # a row that has nothing but its key stays as it is
            return statement.on_duplicate_key_update({each.name: statement.inserted[each.name] for each in changed})
        key_columns = [column for column in columns if column.name in keys]
        if not others:
            return statement.on_conflict_do_nothing(index_elements=key_columns)
        changes = {each.name: statement.excluded[each.name] for each in others}
        return statement.on_conflict_do_update(index_elements=key_columns, set_=changes)

    def _copy(self, connection: Any, table: str, keys: Sequence[str], names: Sequence[str], rows: _Rows) -> None:
        """Copy rows to a temporary table, and from there to where they belong."""
        preparer = self._database.dialect.identifier_preparer
        clause = self._tables.clause(table, names)
        target = preparer.format_table(clause)
        columns = ", ".join(preparer.quote(column.name) for column in clause.columns)
        cursor = connection.connection.cursor()
        try:
            self._copies += 1
            staged = f"kafkapy_copy_{self._copies}"
            if self._mode == INSERT:
                staged = target
            else:
                cursor.execute(
                    f"CREATE TEMPORARY TABLE {staged} ON COMMIT DROP AS SELECT {columns} FROM {target} WITH NO DATA"
                )
            with cursor.copy(f"COPY {staged} ({columns}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([row[name] for name in names])
            if self._mode != INSERT:
                cursor.execute(
                    f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {staged} "
                    f"ON CONFLICT ({', '.join(_quoted(preparer, clause, keys))}) {_merge(preparer, clause, keys)}"
                )
        except self._database.dialect.loaded_dbapi.Error as error:
            raise sa.exc.DBAPIError.instance(
                "COPY", None, error, self._database.dialect.loaded_dbapi.Error, dialect=self._database.dialect
            ) from error
        finally:
            cursor.close()

    def _update(self, connection: Any, table: str, keys: Sequence[str], names: Sequence[str], rows: _Rows) -> None:
        statement = self._update_statement(table, keys, names)
        if statement is not None:
            connection.execute(statement, [_positional(names, row) for row in rows])

    def _update_statement(self, table: str, keys: Sequence[str], names: Sequence[str]) -> Any:
        """None: there is nothing but the key."""
        clause = self._tables.clause(table, names)
        columns = list(enumerate(clause.columns))
        where = [column == sa.bindparam(f"c{at}") for at, column in columns if column.name in keys]
        values = {column: sa.bindparam(f"c{at}") for at, column in columns if column.name not in keys}
        return sa.update(clause).where(*where).values(values) if values else None

    def _update_or_insert(
        self, connection: Any, table: str, keys: Sequence[str], names: Sequence[str], rows: _Rows
    ) -> None:
        """For databases without a statement for both."""
        clause = self._tables.clause(table, names)
        columns = list(enumerate(clause.columns))
        exists = sa.select(sa.literal(1)).select_from(clause)
        exists = exists.where(*(column == sa.bindparam(f"c{at}") for at, column in columns if column.name in keys))
        insert = sa.insert(clause).values({column: sa.bindparam(f"c{at}") for at, column in columns})
        update = self._update_statement(table, keys, names)
        for row in rows:
            values = _positional(names, row)
            key_values = {f"c{at}": values[f"c{at}"] for at, column in columns if column.name in keys}
            if connection.execute(exists, key_values).first() is None:
                connection.execute(insert, values)
            elif update is not None:
                connection.execute(update, values)


_UPSERTS: Final[Mapping[str, Any]] = {
    "postgresql": postgresql.insert,
    "sqlite": sqlite.insert,
    "mysql": mysql.insert,
    "mariadb": mysql.insert,
}


def _key_names(change: RowChange) -> list[str]:
    return [column.name for column in change.columns if column.is_key]


def _positional(names: Sequence[str], row: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their places: names of columns may be anything."""
    return {f"c{place}": row[name] for place, name in enumerate(names)}


def _quoted(preparer: Any, clause: Any, keys: Sequence[str]) -> list[str]:
    return [preparer.quote(column.name) for column in clause.columns if column.name in keys]


def _merge(preparer: Any, clause: Any, keys: Sequence[str]) -> str:
    others = [preparer.quote(column.name) for column in clause.columns if column.name not in keys]
    if not others:
        return "DO NOTHING"
    return "DO UPDATE SET " + ", ".join(f"{name} = EXCLUDED.{name}" for name in others)
