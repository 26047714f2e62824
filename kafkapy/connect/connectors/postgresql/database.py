"""Connections to PostgreSQL: sessions for SQL, and the replication stream (psycopg2, imported when it is needed)."""

from __future__ import annotations

import re
import select
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from kafkapy.common.config_def import Password
from kafkapy.connect.connectors.debezium.capture_task import LostConnection
from kafkapy.connect.connectors.postgresql.lsn import lsn_text, parse_lsn
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.errors import ConnectException

_SESSION: Final = (
    "-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c bytea_output=hex -c extra_float_digits=3 "
    "-c lc_monetary=C -c statement_timeout=0 -c idle_in_transaction_session_timeout=0"
)
_FATAL: Final = re.compile(r"authentication failed|no pg_hba|does not exist|permission denied|must be superuser")
_RETRIABLE_CODES: Final = ("08", "53", "57", "55006")
"""Connection, resources, shutdown; and a slot that is still in use by a session that has not ended yet."""


@contextmanager
def translated_errors(action: str) -> Iterator[None]:
    """Raise psycopg2's errors as `LostConnection` or `ConnectException`; `action`: what fails, for the message."""
    import psycopg2

    try:
        yield
    except psycopg2.Error as error:
        text = str(error).strip()
        code = error.pgcode or ""
        is_lost = code.startswith(_RETRIABLE_CODES) if code else not _FATAL.search(text)
        is_wrong_call = isinstance(error, psycopg2.ProgrammingError | psycopg2.DataError | psycopg2.NotSupportedError)
        if is_lost and not (is_wrong_call and not code):
            raise LostConnection(f"{action}: {text}") from error
        raise ConnectException(f"PostgreSQL refuses: {action}: {text}") from error
    except (OSError, ValueError) as error:  # the socket is closed
        raise LostConnection(f"{action}: {error}") from error


class PgDatabase:
    """Opens sessions with one database.

    Args:
        settings: Has host, role and database.

    Raises:
        ConnectException: psycopg2 is not installed; the message says how to install it.
    """

    def __init__(self, settings: CaptureSettings) -> None:
        require("connect-cdc", "psycopg2", "The PostgreSQL connector")
        self._settings = settings

    def _parameters(self) -> dict[str, Any]:
        settings = self._settings

        def secret(name: str) -> str | None:
            value: Password | None = settings[name]
            return None if value is None else value.value

        values = {
            "host": settings["database.hostname"],
            "port": settings["database.port"],
            "user": settings["database.user"],
            "password": secret("database.password"),
            "dbname": settings["database.dbname"],
            "sslmode": settings.word("database.sslmode"),
            "sslcert": settings["database.sslcert"],
            "sslkey": settings["database.sslkey"],
            "sslpassword": secret("database.sslpassword"),
            "sslrootcert": settings["database.sslrootcert"],
            "keepalives": int(settings["database.tcpKeepAlive"]),
            "application_name": "kafkapy-connect",
            "client_encoding": "UTF8",
            "connect_timeout": 10,
            "options": _SESSION,
        }
        return {name: value for name, value in values.items() if value is not None}

    def connect(self) -> SqlSession:
        """Open a session for SQL. Raises LostConnection, ConnectException."""
        import psycopg2

        with translated_errors("connecting"):
            connection = psycopg2.connect(**self._parameters())
            connection.autocommit = True
            session = SqlSession(connection)
            if statements := self._settings["database.initial.statements"]:
                session.execute(statements)
            return session

    def replication(self) -> ReplicationSession:
        """Open a session of the replication protocol. Raises LostConnection, ConnectException."""
        import psycopg2
        from psycopg2.extras import LogicalReplicationConnection

        with translated_errors("connecting for replication"):
            parameters = self._parameters()
            return ReplicationSession(psycopg2.connect(connection_factory=LogicalReplicationConnection, **parameters))


class SqlSession:
    """Runs SQL; values come as PostgreSQL's text. Invariant: outside of `transaction`, each statement commits."""

    def __init__(self, connection: Any) -> None:
        from psycopg2.extensions import new_type, register_type, string_types

        self.connection = connection
        raw = new_type(tuple(string_types), "RAW", lambda value, _: value)
        register_type(raw, connection)

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Run a statement."""
        with translated_errors(statement), self.connection.cursor() as cursor:
            cursor.execute(statement, values)

    def rows(self, query: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query, all of them."""
        with translated_errors(query), self.connection.cursor() as cursor:
            cursor.execute(query, values)
            return list(cursor.fetchall())

    def begin_snapshot(self) -> None:
        """Begin the transaction in which all queries see the same; it ends with the session."""
        with translated_errors("beginning a snapshot"):
            self.connection.set_session(isolation_level="REPEATABLE READ", readonly=True, autocommit=False)

    def stream(self, query: str, values: Mapping[str, Any], fetch_size: int) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a query, of which the server sends `fetch_size` at once; within a transaction."""
        with translated_errors(query), self.connection.cursor(name="kafkapy_snapshot") as cursor:
            cursor.itersize = fetch_size
            cursor.execute(query, values)
            yield from cursor

    def close(self) -> None:
        self.connection.close()


class ReplicationSession:
    """One stream of changes. Invariant: `_cursor` streams from `start` on, and takes no other command then."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._flushed = 0
        self._told_at = time.monotonic()

    def create_slot(self, name: str, plugin: str) -> tuple[int, str]:
        """Create a slot; returns its first place, and a snapshot that is valid until the next command."""
        with translated_errors(f"creating the slot {name}"):
            self._cursor.execute(f'CREATE_REPLICATION_SLOT "{name}" LOGICAL {plugin}')
            _, place, snapshot, *_ = self._cursor.fetchone()
            return parse_lsn(place), snapshot

    def start(self, slot: str, lsn: int, options: Mapping[str, str]) -> None:
        """Start the stream after a place."""
        from psycopg2.extras import REPLICATION_LOGICAL

        with translated_errors(f"starting replication from {lsn_text(lsn)} with the slot {slot}"):
            self._cursor.start_replication(
                slot_name=slot,
                slot_type=REPLICATION_LOGICAL,
                start_lsn=lsn_text(lsn),
                options=dict(options),
                decode=False,
                status_interval=10,
            )

    def read(self, wait_s: float) -> tuple[int, bytes] | None:
        """Return the next message and its place; None if none comes in time."""
        with translated_errors("reading the replication stream"):
            message = self._cursor.read_message()
            if message is None and wait_s > 0:
                poller = select.poll()
                poller.register(self._connection.fileno(), select.POLLIN)
                poller.poll(wait_s * 1000)
                message = self._cursor.read_message()
            return None if message is None else (message.data_start, message.payload)

    @property
    def server_lsn(self) -> int:
        """Up to where the server has sent all that belongs to the stream, if nothing is left to be read."""
        return int(self._cursor.wal_end)

    def confirm(self, lsn: int, interval_s: float) -> None:
        """Tell the server what it need not keep: at once if that has grown, else at intervals."""
        now = time.monotonic()
        if lsn <= self._flushed and now - self._told_at < interval_s:
            return
        self._flushed, self._told_at = max(lsn, self._flushed), now
        with translated_errors("confirming a place"):
            self._cursor.send_feedback(
                write_lsn=max(lsn, self.server_lsn), flush_lsn=self._flushed, apply_lsn=self._flushed, force=True
            )

    def close(self) -> None:
        self._connection.close()
