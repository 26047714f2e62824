"""Captures a server: a snapshot if one is due, then the stream; after a lost connection from the same place on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafkapy.connect.connectors.debezium.capture_task import DatabaseCapture, LostConnection
from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.mysql.captured_table import BinlogTable
from kafkapy.connect.connectors.mysql.catalog import MySqlCatalog
from kafkapy.connect.connectors.mysql.change_stream import BinlogStream, EventAndOffset
from kafkapy.connect.connectors.mysql.column_types import MyTable
from kafkapy.connect.connectors.mysql.database import BinlogSession, MySqlDatabase, MySqlSession, PurgedLog
from kafkapy.connect.connectors.mysql.events import BinlogEventFactory
from kafkapy.connect.connectors.mysql.position import BinlogPosition
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.mysql.snapshot import BinlogSnapshot, BinlogSnapshotProgress
from kafkapy.connect.connectors.mysql.table_map import TableMap
from kafkapy.connect.connectors.mysql.value_types import PlainValueTypes
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.records import SourceRecord

log: Final = logging.getLogger("kafkapy.connect.connectors.mysql")


def source_partition(settings: BinlogSettings) -> dict[str, str]:
    """Return the source partition of a connector."""
    return {"server": settings.prefix}


class BinlogCapture(DatabaseCapture):
    """Reads records from the place that the last one had.

    Invariant: either `_snapshot` or `_stream` is set while it is connected, neither before `connect` and after `disconnect`.
    `_progress` (of a snapshot) or `_position` (of the stream) is the place of the last record that was returned; both are
    None before the first start.

    Args:
        settings: Of the connector.
        offset: The stored source offset. Default: there is none.
        now_ns: The clock. Default: the system's.
    """

    def __init__(
        self,
        settings: BinlogSettings,
        offset: Mapping[str, Any] | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._database = MySqlDatabase(settings)
        self._types = PlainValueTypes(settings)
        self._events = BinlogEventFactory(settings, now_ns)
        self._progress = BinlogSnapshotProgress.of(offset) if offset else None
        self._position = BinlogPosition.of(offset) if offset and self._progress is None else None
        self._session: MySqlSession | None = None
        self._catalog: MySqlCatalog | None = None
        self._log: BinlogSession | None = None
        self._snapshot: BinlogSnapshot | None = None
        self._snapshot_events: Iterator[EventAndOffset] = iter(())
        self._stream: BinlogStream | None = None
        self._is_first_connection = True

    @property
    def is_connected(self) -> bool:
        return self._snapshot is not None or self._stream is not None

    @property
    def offset(self) -> dict[str, Any] | None:
        if self._snapshot is not None:
            return self._snapshot.progress.offset()
        return None if self._stream is None else self._stream.position.offset()

    @property
    def is_finished(self) -> bool:
        """Whether all is read: only with `snapshot.mode=initial_only`."""
        return self._settings.snapshot_mode == "initial_only" and self._position is not None

    def connect(self) -> None:
        self.disconnect()
        self._session = self._database.connect()
        self._catalog = MySqlCatalog(self._session, self._settings)
        self._catalog.check_server()
        mode = self._settings.snapshot_mode
        if mode == "always" and self._is_first_connection:
            self._position = None
        self._check_place(self._catalog, mode)
        if self._position is None and self._progress is None and mode in ("no_data", "never"):
            is_now = mode == "no_data"
            self._position = self._catalog.current_position() if is_now else self._catalog.first_position()
        if self._position is None:
            self._start_snapshot()
        else:
            self._start_stream(self._position)
        self._is_first_connection = False

    def _check_place(self, catalog: MySqlCatalog, mode: str) -> None:
        place = self._progress.position if self._progress else self._position
        if place is not None and not catalog.has(place):
            self._purged(mode, f"The server no longer has the binary log {place.file}, or it is another server")

    def _purged(self, mode: str, reason: str) -> None:
        """Begin anew, if the mode says so. Raises ConnectException."""
        if mode not in ("when_needed", "always"):
            raise ConnectException(
                f"{reason}: changes since the stored offset are lost; set snapshot.mode=when_needed to read the tables "
                "again, or delete the connector's offsets"
            )
        log.warning("%s: the tables are read again", reason)
        self._position = self._progress = None

    def _start_snapshot(self) -> None:
        if delay := self._settings["snapshot.delay.ms"]:
            time.sleep(delay / 1000)
        session = self._database.connect()
        try:
            catalog = MySqlCatalog(session, self._settings)
            position = catalog.begin_snapshot()
        except BaseException:
            session.close()
            raise
        self._progress = self._progress or BinlogSnapshotProgress(position)
        self._snapshot = BinlogSnapshot(session, self._settings, catalog, self._events, self._table_of, self._progress)
        self._snapshot_events = self._snapshot.events()

    def _start_stream(self, position: BinlogPosition) -> None:
        assert self._catalog is not None
        position = self._catalog.with_gtids(position)
        self._log = self._database.binlog(position)
        self._stream = BinlogStream(
            self._settings, self._events, self._catalog.encoding_of, self._logged_table, self._table_now, position
        )
        log.info("Streaming changes from %s:%d (%s)", position.file, position.place, position.gtids or "no global ids")

    def _table_of(self, table: MyTable) -> BinlogTable:
        return BinlogTable(table, self._settings, self._types)

    def _logged_table(self, table: TableMap) -> BinlogTable:
        assert self._catalog is not None
        untold = self._catalog.untold_columns(TableId(table.table.database, table.table.name))
        return BinlogTable(table.table, self._settings, self._types, untold)

    def _table_now(self, id_: TableId) -> BinlogTable | None:
        assert self._catalog is not None
        return self._table_of(self._catalog.table(id_)) if id_ in self._catalog.tables() else None

    def _read(self, limit: int, wait_s: float, found: list[SourceRecord]) -> None:
        if self._snapshot is not None:
            self._read_snapshot(limit, found)
        else:
            self._read_stream(limit, time.monotonic() + wait_s, found)

    def _failed(self, error: Exception) -> None:
        if isinstance(error, PurgedLog):
            self._purged(self._settings.snapshot_mode, str(error))
            raise LostConnection(str(error)) from error
        if isinstance(error, DataException):
            raise ConnectException(str(error)) from error
        raise error

    def _read_snapshot(self, limit: int, found: list[SourceRecord]) -> None:
        assert self._snapshot is not None
        for event, offset in self._snapshot_events:
            found.append(self.record(event, offset))
            self._progress = self._snapshot.progress
            if len(found) >= limit:
                return
        position = self._snapshot.progress.position
        self._snapshot, self._progress, self._position = None, None, position
        log.info("The snapshot is complete")
        if self._settings.snapshot_mode != "initial_only":
            self._start_stream(position)

    def _read_stream(self, limit: int, deadline: float, found: list[SourceRecord]) -> None:
        while self._stream is not None and self._log is not None and len(found) < limit:
            left = 0.0 if found else max(0.0, deadline - time.monotonic())
            event = self._log.read(left)
            if event is not None:
                found += [self.record(*each) for each in self._stream.handle(event)]
                self._position = self._stream.position
            elif left <= 0 or found:
                break
            if time.monotonic() > deadline:
                break

    def record(self, event: ChangeEvent, offset: dict[str, Any]) -> SourceRecord:
        key = (event.key_schema, event.key)
        value = (event.value_schema, event.value)
        partition = source_partition(self._settings)
        return SourceRecord(partition, offset, event.topic, None, *key, *value, headers=event.headers)

    def execute(self, statement: str) -> None:
        if self._session is not None:
            self._session.execute(statement)

    def disconnect(self) -> None:
        for session in (self._log, self._session, self._snapshot and self._snapshot.session):
            if session:
                session.close()
        self._session = self._log = self._catalog = self._snapshot = self._stream = None
        self._snapshot_events, self._failure = iter(()), None
