"""Writes records to a SQL database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.sql.record_layout import RecordLayout, RowChange
from kafkapy.connect.connectors.sql.sink_config import SINK_CONFIG_DEF, parse_sink_config
from kafkapy.connect.connectors.uniform_sink import UniformSinkConnector
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask

if TYPE_CHECKING:
    from kafkapy.connect.connectors.sql.database import Database

log = logging.getLogger("kafkapy.connect.connectors.sql")


class JdbcSinkTask(SinkTask):
    """Writes records as rows.

    Invariant: all records of a `put` that has returned are committed to the database or reported. `_left` is how many
    attempts remain; it is `max.retries` again after each `put` that succeeds.
    """

    java_class: ClassVar[str] = "io.confluent.connect.jdbc.sink.JdbcSinkTask"

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._database: Database | None = None

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        require("connect-sql", "sqlalchemy", "A connector to a SQL database")
        from kafkapy.connect.connectors.sql.database import Database
        from kafkapy.connect.connectors.sql.row_writer import RowWriter
        from kafkapy.connect.connectors.sql.sink_tables import SinkTables

        known = parse_sink_config(config)
        self._size: int = known["batch.size"]
        self._retries: int = known["max.retries"]
        self._left = self._retries
        self._backoff_ms: int = known["retry.backoff.ms"]
        self._database = Database(known, self._stopping.wait)
        self._layout = RecordLayout(known, self._database.kind)
        self._tables = SinkTables(self._database, known)
        self._writer = RowWriter(self._database, self._tables, known["insert.mode"])

    def put(self, records: Sequence[SinkRecord]) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        try:
            by_table: dict[str, list[RowChange]] = {}
            for record in records:
                change = self._change(record)
                if change is not None:
                    by_table.setdefault(change.table, []).append(change)
            for table, changes in by_table.items():
                for begin in range(0, len(changes), self._size):
                    self._write(table, changes[begin : begin + self._size])
        except SQLAlchemyError as error:
            self._handle(error)
        except BaseException:
            if self._database is not None:
                self._database.roll_back()
            raise
        self._left = self._retries

    def _change(self, record: SinkRecord) -> RowChange | None:
        try:
            return self._layout.change(record)
        except ConnectException as error:
            self._report(record, error)
            return None

    def _write(self, table: str, changes: Sequence[RowChange]) -> None:
        """Write changes; if the database refuses them, halves of them, down to the one that is to blame."""
        from sqlalchemy.exc import SQLAlchemyError

        from kafkapy.connect.connectors.sql.database import is_transient, message_of

        try:
            self._write_once(table, changes)
        except SQLAlchemyError as error:
            if is_transient(error):
                raise
            self._tables.forget(table)
            if len(changes) == 1:
                cause = ConnectException(f"The database refuses the record: {message_of(error)}")
                cause.__cause__ = error
                self._report(changes[0].record, cause)
                return
            half = len(changes) // 2
            self._write(table, changes[:half])
            self._write(table, changes[half:])

    def _write_once(self, table: str, changes: Sequence[RowChange]) -> None:
        columns = {column.name: column for change in changes if change.row is not None for column in change.columns}
        if columns:
            self._tables.columns(table, list(columns.values()))
        elif not self._tables.known(table):
            return  # nothing is to be deleted there
        self._writer.write(table, changes)

    def _report(self, record: SinkRecord, error: ConnectException) -> None:
        reporter = self.context.errant_record_reporter()
        if reporter is None:
            place = f"{record.original_topic}-{record.original_kafka_partition}@{record.original_kafka_offset}"
            raise ConnectException(f"Record {place} cannot be written: {error}") from error
        reporter.report(record, error)

    def _handle(self, error: Exception) -> None:
        """Raises RetriableException, or ConnectException after `max.retries` attempts."""
        from kafkapy.connect.connectors.sql.database import is_transient, message_of

        assert self._database is not None
        self._database.disconnect()
        if not is_transient(error):
            raise ConnectException(f"The database refuses to be written: {message_of(error)}") from error
        if self._left <= 0:
            raise ConnectException(
                f"The database could not be written after {self._retries} retries (max.retries): {message_of(error)}"
            ) from error
        self._left -= 1
        self.context.timeout(self._backoff_ms)
        raise RetriableException(f"The database could not be written: {message_of(error)}") from error

    def stop(self) -> None:
        self._stopping.set()
        if self._database is not None:
            self._database.disconnect()


class JdbcSinkConnector(UniformSinkConnector):
    """Writes records to tables; the configs are those of Confluent's connector (docs/connect_sql.md).

    Example:
        >>> connector = JdbcSinkConnector()
        >>> connector.start({"name": "a", "connection.url": "jdbc:sqlite:/tmp/a.db"})
        >>> len(connector.task_configs(2))
        2
    """

    java_class: ClassVar[str] = "io.confluent.connect.jdbc.JdbcSinkConnector"
    task = JdbcSinkTask

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        require("connect-sql", "sqlalchemy", "A connector to a SQL database")
        from kafkapy.connect.connectors.sql.database import Database

        Database(parse_sink_config(config), threading.Event().wait)

    def config(self) -> ConfigDef:
        return SINK_CONFIG_DEF
