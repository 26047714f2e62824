"""Reads rows of a SQL database."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.patterns import java
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.sql.names import TableName
from kafkapy.connect.connectors.sql.source_config import SOURCE_CONFIG_DEF, TABLES_CONFIG, parse_source_config
from kafkapy.connect.connectors.sql.source_offsets import RowPosition, partitions_of
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

if TYPE_CHECKING:
    from kafkapy.connect.connectors.sql.database import Database
    from kafkapy.connect.connectors.sql.table_reader import TableReader

log = logging.getLogger("kafkapy.connect.connectors.sql")

_LONGEST_WAIT_S: Final = 0.5
"""`poll` returns at least this often, so that the task can be paused."""
_RECHECK_S: Final = 0.1
"""How often open transactions are looked at."""


class JdbcSourceTask(SourceTask):
    """Reads the tables that the connector has assigned to it, or the query.

    Invariant: `_readers` has one for each table, and `_failures` counts errors of the connection since the last statement
    that succeeded; at `connection.attempts` the task fails.
    """

    java_class: ClassVar[str] = "io.confluent.connect.jdbc.source.JdbcSourceTask"

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._database: Database | None = None
        self._readers: list[TableReader] = []
        self._failures = 0
        self._retry_at = 0.0
        self._clock: Callable[[], float] = time.monotonic

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        require("connect-sql", "sqlalchemy", "A connector to a SQL database")
        from kafkapy.connect.connectors.sql.database import Database
        from kafkapy.connect.connectors.sql.table_reader import TableReader

        self._config = known = parse_source_config(config)
        self._attempts: int = known["connection.attempts"]
        self._backoff_s: float = known["connection.backoff.ms"] / 1000
        tables: list[TableName | None] = [TableName(*each) for each in json.loads(config.get(TABLES_CONFIG, "[]"))]
        if known["query"]:
            tables = [None]
        self._database = database = Database(known, self._stopping.wait)
        database.patiently(lambda: self._check(database, tables))
        self._readers = [
            TableReader(database, known, table, self._stored_position(table), self._stopping.wait) for table in tables
        ]

    def _check(self, database: Database, tables: Sequence[TableName | None]) -> None:
        from kafkapy.connect.connectors.sql.statements import SourceStatement

        for table in tables:
            SourceStatement(database, self._config, table).check(self._config["validate.non.null"])
        database.connection().rollback()

    def _stored_position(self, table: TableName | None) -> RowPosition:
        found = self.context.offset_storage_reader().offsets(partitions_of(table))
        offset = next((each for each in found if each is not None), None)
        position = RowPosition.of(offset)
        initial = self._config["timestamp.initial"]
        if position.moment is None and initial is not None:
            ms = int(time.time() * 1000) if initial == -1 else initial
            position = RowPosition(position.number, RowPosition.of({"timestamp": ms}).moment)
        return position

    def poll(self) -> list[SourceRecord] | None:
        reader = min(self._readers, key=lambda each: each.due, default=None)
        wait_s = max(self._retry_at, reader.due if reader else 0.0) - self._clock()
        if reader is None or wait_s > 0:
            self._stopping.wait(min(_LONGEST_WAIT_S, wait_s) if reader else _LONGEST_WAIT_S)
            return None
        from sqlalchemy.exc import SQLAlchemyError

        try:
            batch = reader.poll()
        except SQLAlchemyError as error:
            self._handle(error)
        self._failures = 0
        if batch.is_last:
            pause_s = self._config["poll.interval.ms"] / 1000
            reader.due = self._clock() + (min(_RECHECK_S, pause_s) if reader.is_waiting else pause_s)
        return batch.records or None

    def _handle(self, error: Exception) -> None:
        """Raises RetriableException, or ConnectException if it does not help to try again."""
        from kafkapy.connect.connectors.sql.database import is_transient, message_of

        assert self._database is not None
        self._database.disconnect()
        for each in self._readers:
            each.reset()
        self._failures += 1
        if not is_transient(error):
            raise ConnectException(f"The database refuses to be read: {message_of(error)}") from error
        if self._failures >= self._attempts:
            raise ConnectException(
                f"The database could not be read {self._failures} times (connection.attempts): {message_of(error)}"
            ) from error
        self._retry_at = self._clock() + self._backoff_s
        raise RetriableException(f"The database could not be read: {message_of(error)}") from error

    def stop(self) -> None:
        self._stopping.set()
        if self._database is not None:
            self._database.disconnect()


class JdbcSourceConnector(SourceConnector):
    """Reads rows of a SQL database; the configs are those of Confluent's connector (docs/connect_sql.md).

    Example:
        >>> connector = JdbcSourceConnector()
        >>> connector.config()["poll.interval.ms"].default
        5000
    """

    java_class: ClassVar[str] = "io.confluent.connect.jdbc.JdbcSourceConnector"

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._monitor: threading.Thread | None = None
        self._tables: list[TableName] = []

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        self._open(parse_source_config(config))

    def _open(self, known: Mapping[str, Any]) -> Database:
        require("connect-sql", "sqlalchemy", "A connector to a SQL database")
        from kafkapy.connect.connectors.sql.database import Database

        return Database(known, self._stopping.wait)

    def start(self, config: Mapping[str, str]) -> None:
        self._stopping = threading.Event()
        self._texts = dict(config)
        self._config = parse_source_config(config)
        self._database = self._open(self._config)
        warn_of_unused(config, self.config())
        if not self._config["query"]:
            self._tables = self._database.patiently(self._find)
            self._database.disconnect()
            if not self._tables:
                log.warning("No table is to be read yet; they are looked for again and again")
            self._monitor = threading.Thread(target=self._watch, args=(self._stopping,), daemon=True)
            self._monitor.start()

    def task_class(self) -> type[SourceTask]:
        return JdbcSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self._config["query"]:
            return [self._texts]
        tables = self._tables
        count = min(len(tables), max_tasks)
        groups = [tables[index::count] for index in range(count)]
        return [{**self._texts, TABLES_CONFIG: json.dumps(group)} for group in groups]

    def stop(self) -> None:
        self._stopping.set()
        if self._monitor is not None:
            self._monitor.join(30)
        self._monitor = None

    def config(self) -> ConfigDef:
        return SOURCE_CONFIG_DEF

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported unless rows are repeated by design: `bulk` reads all of them again."""
        is_supported = config.get("mode") in ("incrementing", "timestamp+incrementing")
        return ExactlyOnceSupport.SUPPORTED if is_supported else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """A partition is a table or the query, an offset has `incrementing`, `timestamp` and `timestamp_nanos`."""
        for partition, offset in offsets:
            if not partition or not ({"table", "query"} & set(partition)):
                raise ConnectException("Partition objects should contain the key 'table' or 'query'")
            RowPosition.of(offset)
        return True

    def _watch(self, stopping: threading.Event) -> None:
        """Look for new and removed tables."""
        while not stopping.wait(self._config["table.poll.interval.ms"] / 1000):
            try:
                found = self._find()
            except Exception as error:  # the tasks report an unreachable database
                log.warning("Cannot look for tables: %s", error)
                self._database.disconnect()
                continue
            self._database.disconnect()
            if found != self._tables and not stopping.is_set():
                log.info("The tables to be read are now %s", ", ".join(each.text for each in found) or "none")
                self._tables = found
                self.context.request_task_reconfiguration()

    def _find(self) -> list[TableName]:
        config = self._config
        kinds = [kind.strip().upper() for kind in config["table.types"]]
        tables = self._database.tables(config["schema.pattern"], kinds)
        if config["catalog.pattern"] and self._database.catalog not in (None, config["catalog.pattern"]):
            raise ConfigException.invalid(
                "catalog.pattern", config["catalog.pattern"], "a connection reads only the database of connection.url"
            )
        return [table for table in tables if self._is_wanted(table)]

    def _is_wanted(self, table: TableName) -> bool:
        config = self._config
        if wanted := config["table.whitelist"]:
            return any(map(table.matches, wanted))
        if any(map(table.matches, config["table.blacklist"])) or _matches(config["table.exclude.list"], table):
            return False
        return not config["table.include.list"] or _matches(config["table.include.list"], table)


def _matches(patterns: Sequence[str], table: TableName) -> bool:
    expressions = [java(f"(?i){pattern}") for pattern in patterns]
    return any(each.fullmatch(spelling) for each in expressions for spelling in table.spellings)
