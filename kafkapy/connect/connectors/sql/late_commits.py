"""Bounds up to which no row can appear any more.

Ids and timestamps are drawn before a transaction commits, so a smaller one may become visible after a greater one. A
bound is therefore taken first, then the transactions that are open at that time are listed, and rows up to the bound
are read when all of them have ended.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from kafkapy.connect.connectors.sql.database import APPLICATION, Database, message_of
from kafkapy.connect.connectors.sql.names import TableName
from kafkapy.connect.errors import RetriableException

log = logging.getLogger("kafkapy.connect.connectors.sql")

_WRITE_LOCKS: Final = "('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')"
_WRITERS: Final = f"""
    SELECT DISTINCT l.virtualtransaction FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.locktype = 'relation' AND l.granted AND l.mode IN {_WRITE_LOCKS}
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.pid IS DISTINCT FROM pg_backend_pid() AND c.relnamespace <> 'pg_catalog'::regnamespace
      AND (CAST(:relation AS text) IS NULL OR c.relkind = 'S' OR c.oid = to_regclass(CAST(:relation AS text))
           OR c.oid IN (WITH RECURSIVE tree AS (
                          SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass(CAST(:relation AS text))
                          UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.inhrelid)
                        SELECT inhrelid FROM tree))"""
"""Transactions that may have drawn an id: `nextval` locks the sequence, and an INSERT the table, until the end."""
_OPEN: Final = f"""
    SELECT DISTINCT l.virtualtransaction FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype IN ('virtualxid', 'transactionid') AND l.mode = 'ExclusiveLock' AND l.granted
      AND l.pid IS DISTINCT FROM pg_backend_pid()
      AND (l.pid IS NULL OR (a.datname = current_database() AND a.usesysid IS NOT NULL
                             AND a.application_name IS DISTINCT FROM '{APPLICATION}'))"""
"""All open transactions: one that has written nothing yet may use the time of its beginning later."""
_INNODB: Final = (
    "SELECT CONCAT(trx_mysql_thread_id, '/', trx_started), trx_mysql_thread_id = CONNECTION_ID() "
    "FROM information_schema.INNODB_TRX"
)
_INNODB_PAUSES_S: Final = (0.15, 0.6)
"""The server renews INNODB_TRX only when no session has read it for 0.1 s: pauses are random, as tasks must not keep in step."""
_NO_PRIVILEGE: Final = 1227


class OpenTransactions:
    """Waits for the transactions that were open at a time.

    Invariant: `_waiting` are those of the last `mark` that were still open at the last look.

    Args:
        database: The database.
        table: Whose writers are waited for; None: of all tables.
        by_time: Whether rows are found by timestamps, which a transaction may have drawn before it has written anything.
        warn_after_s: When it is logged that transactions are waited for.
        pause: Waits so many seconds; returns True if the task is being stopped.
    """

    def __init__(
        self,
        database: Database,
        table: TableName | None,
        by_time: bool,
        warn_after_s: float,
        pause: Callable[[float], bool],
    ) -> None:
        self._database, self._by_time, self._pause = database, by_time, pause
        self._relation = None if table is None else _postgresql_name(table)
        self._warn_after_s = warn_after_s
        self._waiting: frozenset[str] = frozenset()
        self._warn_at = self._look_at = 0.0
        self._can_list = database.kind in ("postgresql", "mysql", "mariadb")

    def mark(self) -> None:
        """List the transactions that are open; called after a bound was taken."""
        self._waiting = self._listed(must_be_new=True)
        self._warn_at = time.monotonic() + self._warn_after_s

    def have_ended(self) -> bool:
        """Return whether all transactions of the last `mark` have ended; also logs if they take long."""
        if self._waiting and time.monotonic() >= self._look_at:
            self._waiting &= self._listed()
        if self._waiting and time.monotonic() > self._warn_at:
            names = ", ".join(sorted(self._waiting)[:10])
            log.warning("Rows are not read until these transactions end, which may still commit some: %s", names)
            self._warn_at = time.monotonic() + self._warn_after_s
        return not self._waiting

    def _listed(self, must_be_new: bool = False) -> frozenset[str]:
        if not self._can_list:
            return frozenset()
        connection = self._database.connection()
        if not self._database.is_mysql:
            statement = sa.text(_OPEN if self._by_time else _WRITERS)
            rows = connection.execute(statement, {} if self._by_time else {"relation": self._relation})
            found: list[Any] = [each for (each,) in rows]
        else:
            found = self._listed_by_innodb(connection, must_be_new)
            self._look_at = time.monotonic() + random.uniform(*_INNODB_PAUSES_S)
        connection.rollback()  # the next statement sees what is committed by now
        return frozenset(map(str, found))

    def _listed_by_innodb(self, connection: Any, must_be_new: bool) -> list[Any]:
        try:
            if not must_be_new:
                return _others(_innodb_rows(connection))
            # A list that lacks this session's transaction, and then one that has it, is newer than the transaction.
            connection.rollback()
            self._list_until(connection, has_own=False)
            connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            return _others(self._list_until(connection, has_own=True))
        except exc.DBAPIError as error:
            if getattr(error.orig, "args", (0,))[0] != _NO_PRIVILEGE:
                raise
            self._can_list = False
            log.warning(
                "Rows that commit late may be missed: GRANT PROCESS to the user, so that open transactions can be "
                "seen, or set timestamp.delay.interval.ms (%s)",
                message_of(error),
            )
            return []

    def _list_until(self, connection: Any, has_own: bool) -> list[Any]:
        while True:
            rows = _innodb_rows(connection)
            if any(is_own for _, is_own in rows) is has_own:
                return rows
            if self._pause(random.uniform(*_INNODB_PAUSES_S)):
                raise RetriableException("The task is being stopped")


def _innodb_rows(connection: Any) -> list[Any]:
    return list(connection.exec_driver_sql(_INNODB))


def _others(rows: list[Any]) -> list[Any]:
    return [name for name, is_own in rows if not is_own]


def _postgresql_name(table: TableName) -> str:
    """The name as `to_regclass` reads it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in (table.schema, table.table) if part)
