"""Connections to a database, and what is in it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.sql.names import TableName
from kafkapy.connect.connectors.sql.urls import DRIVERS, parse_url
from kafkapy.connect.errors import ConnectException, RetriableException

log = logging.getLogger("kafkapy.connect.connectors.sql")

_Found = TypeVar("_Found")

APPLICATION: Final = "kafkapy-connect"
_TRANSIENT_STATES: Final = ("08", "40", "53", "57", "55P03")
"""SQLSTATEs of errors that another attempt may not have: connections, rollbacks, resources, shutdowns, locks."""
_TRANSIENT_MYSQL: Final = frozenset(
    {1040, 1053, 1158, 1159, 1160, 1161, 1205, 1213, 1290, 2002, 2003, 2006, 2013, 2055}
)
_SYSTEM: Final = frozenset({"information_schema", "sys", "system", "guest"})
_TIMEOUTS: Final[Mapping[str, Mapping[str, object]]] = {
    "postgresql": {
        "connect_timeout": 10,
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": 60_000,
        "application_name": APPLICATION,
    },
    "mysql": {
        "connect_timeout": 10,
        "read_timeout": 600,
        "write_timeout": 600,
        "init_command": "SET time_zone='+00:00'",
    },
    "sqlite": {"timeout": 10, "check_same_thread": False},
}
"""So that a connection that is gone is noticed; TIMESTAMPs of MySQL are in UTC."""


class ColumnInfo(NamedTuple):
    """A column of a table: its name, SQLAlchemy's type, and whether it may be NULL."""

    name: str
    type: Any
    is_nullable: bool


class Database:
    """Opens connections, one at a time, for one task or connector.

    Invariant: `_connection` is the open connection, if there is one; it is dropped after each error.

    Args:
        config: The parsed configs, with `connection.url` and others.
        pause: Waits so many seconds; returns True if the task is being stopped.

    Raises:
        ConfigException: The URL is wrong. ConnectException: The driver is missing.
    """

    def __init__(self, config: Mapping[str, Any], pause: Callable[[float], bool]) -> None:
        place = parse_url(config["connection.url"], config.get("dialect.name") or "")
        self.kind = place.kind
        driver = DRIVERS[place.kind]
        if driver.package:
            if driver.is_in_extra:
                require("connect-sql", driver.package, f"A connector to {place.kind}")
            else:
                _require_driver(driver.package, place.kind)
        url = sa.make_url(place.url)
        user, password = config["connection.user"] or place.user, config["connection.password"]
        secret = password.value if password is not None else place.password
        url = url.set(username=user) if user else url
        url = url.set(password=secret) if secret is not None else url
        arguments = {**_TIMEOUTS.get("mysql" if self.is_mysql else self.kind, {}), **place.options}
        if self.kind == "postgresql":  # compares times with and without a zone by the session's
            arguments["options"] = f"{arguments.get('options', '')} -c timezone={config['db.timezone']}".strip()
        self.engine: Any = sa.create_engine(url, poolclass=sa.pool.NullPool, connect_args=_typed(arguments))
        if self.kind == "sqlite":
            _leave_transactions_to_us(self.engine)
        self.catalog: str | None = url.database if self.kind in ("postgresql", "sqlserver") else None
        self._attempts: int = config["connection.attempts"]
        self._backoff_s: float = config["connection.backoff.ms"] / 1000
        self._pause = pause
        self._connection: Any = None

    @property
    def is_mysql(self) -> bool:
        return self.kind in ("mysql", "mariadb")

    @property
    def dialect(self) -> Any:
        return self.engine.dialect

    def connection(self) -> Any:
        """Return the open connection, or open one. Raises SQLAlchemy's errors."""
        if self._connection is None:
            self._connection = self.engine.connect()
        return self._connection

    def patiently(self, action: Callable[[], _Found]) -> _Found:
        """Return what `action` returns; a lost connection is tried again, up to `connection.attempts` attempts in all.

        Args:
            action: Uses the connection, and can be repeated.

        Raises:
            ConnectException: The last attempt has failed, too, or the database refuses the action.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                return action()
            except exc.SQLAlchemyError as error:
                self.disconnect()
                if attempt == self._attempts or not is_transient(error):
                    raise ConnectException(f"The database cannot be used: {message_of(error)}") from error
                log.warning("The database cannot be used (attempt %d): %s", attempt, message_of(error))
                if self._pause(self._backoff_s):
                    raise RetriableException("The task is being stopped") from error
        raise ConnectException("connection.attempts must be at least 1")

    def roll_back(self) -> None:
        """End the transaction, if there is one."""
        if self._connection is not None:
            try:
                self._connection.rollback()
            except exc.SQLAlchemyError:
                self.disconnect()

    def disconnect(self) -> None:
        """Drop the connection; what is not committed is rolled back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(exc.SQLAlchemyError, OSError):
                connection.close()

    def columns(self, name: TableName) -> list[ColumnInfo]:
        """Return the columns of a table; none if it does not exist."""
        try:
            found: Sequence[Mapping[str, Any]] = sa.inspect(self.connection()).get_columns(name.table, name.schema)
        except exc.NoSuchTableError:
            return []
        return [ColumnInfo(each["name"], each["type"], bool(each["nullable"])) for each in found]

    def primary_key(self, name: TableName) -> list[str]:
        """Return the columns of a table's primary key."""
        found: Mapping[str, Any] = sa.inspect(self.connection()).get_pk_constraint(name.table, name.schema)
        return list(found.get("constrained_columns") or [])

    def tables(self, schema_pattern: str | None, kinds: Sequence[str]) -> list[TableName]:
        """Return the names of all tables.

        Args:
            schema_pattern: LIKE's pattern of schemas; None: all but the database's own.
            kinds: TABLE, VIEW.
        """
        inspector = sa.inspect(self.connection())
        found: list[TableName] = []
        for schema in self._schemas(inspector, schema_pattern):
            names: list[str] = []
            if "TABLE" in kinds or "PARTITIONED TABLE" in kinds or "BASE TABLE" in kinds:
                names += inspector.get_table_names(schema)
            if "VIEW" in kinds:
                names += inspector.get_view_names(schema)
            if "MATERIALIZED VIEW" in kinds and self.kind == "postgresql":
                names += inspector.get_materialized_view_names(schema)
            found += [self.name_of(schema, name) for name in names]
        return sorted(set(found))

    def name_of(self, schema: str | None, table: str) -> TableName:
        return TableName(self.catalog, None if self.kind == "sqlite" else schema, table)

    def _schemas(self, inspector: Any, pattern: str | None) -> list[str | None]:
        if self.kind == "sqlite":
            return [None]
        if self.is_mysql:
            return [inspector.default_schema_name]  # a database is a catalog there
        all_schemas: list[str] = inspector.get_schema_names()
        schemas = [each for each in all_schemas if each.lower() not in _SYSTEM and not each.startswith(("pg_", "db_"))]
        if pattern:
            schemas = [each for each in schemas if like(pattern, each)]
        return list(schemas)


def like(pattern: str, text: str) -> bool:
    """Return whether a text matches a pattern of LIKE.

    Args:
        pattern: `%` stands for any text, `_` for one character.
        text: The whole text.

    Example:
        >>> like("pub%", "public"), like("pub_", "public")
        (True, False)
    """
    import re

    parts = {"%": ".*", "_": "."}
    return re.fullmatch("".join(parts.get(each, re.escape(each)) for each in pattern), text, re.S) is not None


def is_transient(error: BaseException) -> bool:
    """Return whether another attempt may succeed: the connection was lost, or a lock was not to be had.

    Args:
        error: Of SQLAlchemy.
    """
    if not isinstance(error, exc.DBAPIError):
        return isinstance(error, exc.TimeoutError)
    original = error.orig
    arguments = getattr(original, "args", ())
    if type(original).__module__.startswith("pymysql") and arguments and isinstance(arguments[0], int):
        return arguments[0] in _TRANSIENT_MYSQL or arguments[0] == 0
    state = getattr(original, "sqlstate", None)
    if state:
        return str(state).startswith(_TRANSIENT_STATES)
    if type(original).__module__ == "sqlite3":
        text = str(original)
        return "locked" in text or "busy" in text or "unable to open" in text or "disk I/O" in text
    return bool(error.connection_invalidated) or isinstance(error, exc.OperationalError | exc.InterfaceError)


def message_of(error: BaseException) -> str:
    """Return the database's own message, without the statement and its values."""
    original = getattr(error, "orig", None)
    return str(original if original is not None else error).strip().replace("\n", " ")


def _leave_transactions_to_us(engine: Any) -> None:
    """sqlite3 begins transactions late; they are begun by statements instead, so that reads are in them, too."""

    def connected(connection: Any, _: object) -> None:
        connection.isolation_level = None

    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", begun)


def _require_driver(package: str, kind: str) -> None:
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise ConfigException(f"A connector to {kind} needs its driver: pip install {package}")


def _typed(arguments: Mapping[str, object]) -> dict[str, object]:
    number = ("connect_timeout", "read_timeout", "write_timeout")
    return {name: int(str(value)) if name in number else value for name, value in arguments.items()}
