"""Captures a database: a snapshot if one is due, then the stream; after a lost connection from the same place on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafkapy.connect.connectors.debezium.capture_task import DatabaseCapture
from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.postgresql.catalog import PgCatalog
from kafkapy.connect.connectors.postgresql.change_stream import CapturedRecord, ChangeStream, RecordMaker
from kafkapy.connect.connectors.postgresql.database import PgDatabase, ReplicationSession, SqlSession
from kafkapy.connect.connectors.postgresql.events import ChangeEventFactory
from kafkapy.connect.connectors.postgresql.ledger import DeliveryLedger
from kafkapy.connect.connectors.postgresql.lsn import lsn_text
from kafkapy.connect.connectors.postgresql.pgoutput import PgRelation
from kafkapy.connect.connectors.postgresql.position import StreamPosition
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.snapshot import SnapshotProgress, TablesSnapshot
from kafkapy.connect.connectors.postgresql.table_schemas import CapturedTable
from kafkapy.connect.connectors.postgresql.value_types import ValueTypes
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord

log: Final = logging.getLogger("kafkapy.connect.connectors.postgresql")
_MESSAGES_SINCE: Final = 140000
"""The server's version from which pgoutput sends logical messages."""


class Capture(DatabaseCapture):
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
        settings: CaptureSettings,
        offset: Mapping[str, Any] | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__()
        self._settings = settings
        self._database = PgDatabase(settings)
        self._types = ValueTypes(settings)
        self._events = ChangeEventFactory(settings, now_ns)
        self._progress = SnapshotProgress.of(offset) if offset else None
        self._position = StreamPosition.of(offset) if offset and self._progress is None else None
        self.ledger = DeliveryLedger(0)
        self._records = RecordMaker(settings, self.ledger)
        self._session: SqlSession | None = None
        self._replication: ReplicationSession | None = None
        self._catalog: PgCatalog | None = None
        self._snapshot: TablesSnapshot | None = None
        self._snapshot_records: Iterator[CapturedRecord] = iter(())
        self._stream: ChangeStream | None = None
        self._is_first_connection = True

    @property
    def is_connected(self) -> bool:
        return self._snapshot is not None or self._stream is not None

    @property
    def offset(self) -> dict[str, Any] | None:
        """The offset of the last record; None: nothing is captured yet."""
        if self._snapshot is not None:
            return self._snapshot.progress.offset()
        if self._stream is not None:
            return self._stream.position.offset()
        return None

    @property
    def is_finished(self) -> bool:
        """Whether all is read: only with `snapshot.mode=initial_only`."""
        return self._settings.snapshot_mode == "initial_only" and self._position is not None

    def connect(self) -> None:
        """Connect, and begin or continue. Raises LostConnection, ConnectException."""
        self.disconnect()
        self._session = self._database.connect()
        self._catalog = PgCatalog(self._session, self._settings)
        version = self._catalog.check_server()
        self._catalog.ensure_publication()
        if self._settings.snapshot_mode == "initial_only":
            # Without a slot: nothing would ever confirm it, and the server would keep its log.
            self._progress = self._progress or SnapshotProgress(self._catalog.current_lsn())
            self._start_snapshot(self._progress, None)
            return
        exported = self._prepare_slot(self._catalog)
        if self._progress is not None:
            self._start_snapshot(self._progress, exported)
        elif self._position is not None:
            self._start_stream(version, self._position)
        self._is_first_connection = False

    def _prepare_slot(self, catalog: PgCatalog) -> str | None:
        """Find or create the slot and decide where to begin; returns the new slot's snapshot."""
        slot, name, mode = catalog.slot(), self._settings["slot.name"], self._settings.snapshot_mode
        self._replication = self._database.replication()
        is_always = mode == "always" and self._is_first_connection
        if slot is not None:
            if self._progress is None and (self._position is None or is_always):
                self._begin_at(slot.lsn if self._position is None else self._position.commit_lsn, mode)
            return None
        if (self._position or self._progress) and mode not in ("always", "when_needed"):
            raise ConnectException(
                f"The slot {name} is gone, so changes since the stored offset are lost; set snapshot.mode=when_needed to "
                "read the tables again, or delete the connector's offsets"
            )
        lsn, exported = self._replication.create_slot(name, self._settings.word("plugin.name"))
        log.info("Created the slot %s at %s", name, lsn_text(lsn))
        self._position = self._progress = None
        self._begin_at(lsn, mode)
        return exported

    def _begin_at(self, lsn: int, mode: str) -> None:
        if mode == "no_data":
            self._position = StreamPosition(lsn, lsn)
        else:
            self._position, self._progress = None, SnapshotProgress(lsn)

    def _start_snapshot(self, progress: SnapshotProgress, exported: str | None) -> None:
        if delay := self._settings["snapshot.delay.ms"]:
            time.sleep(delay / 1000)
        session = self._database.connect()
        catalog = PgCatalog(session, self._settings)
        self._snapshot = TablesSnapshot(
            session,
            self._settings,
            catalog,
            self._events,
            self._records,
            lambda relation: CapturedTable(relation, catalog.facts(relation), self._settings, self._types),
            progress,
            exported,
        )
        self._snapshot_records = self._snapshot.records()

    def _start_stream(self, version: int, position: StreamPosition) -> None:
        assert self._replication is not None
        options = {"proto_version": "1", "publication_names": f'"{self._settings["publication.name"]}"'}
        if version >= _MESSAGES_SINCE:
            options["messages"] = "true"
        start = max(position.commit_lsn, self.ledger.confirmed)
        self._replication.start(self._settings["slot.name"], start, options)
        self._stream = ChangeStream(
            self._settings, self._events, self._records, self.ledger, self._find_table, position
        )
        log.info("Streaming changes from %s", lsn_text(start))

    def _find_table(self, relation: PgRelation) -> CapturedTable:
        assert self._catalog is not None
        self._catalog.forget_types()
        return CapturedTable(relation, self._catalog.facts(relation), self._settings, self._types)

    def _read(self, limit: int, wait_s: float, found: list[SourceRecord]) -> None:
        if self._snapshot is not None:
            self._read_snapshot(limit, found)
        else:
            self._read_stream(limit, time.monotonic() + wait_s, found)

    def _read_snapshot(self, limit: int, found: list[SourceRecord]) -> None:
        assert self._snapshot is not None
        for record in self._snapshot_records:
            found.append(record)
            self._progress = self._snapshot.progress
            if len(found) >= limit:
                return
        lsn = self._snapshot.progress.lsn
        self._snapshot, self._progress, self._position = None, None, StreamPosition(lsn, lsn, None, None)
        log.info("The snapshot is complete")
        if self._settings.snapshot_mode != "initial_only" and self._catalog is not None:
            self._start_stream(self._catalog.check_server(), self._position)

    def _read_stream(self, limit: int, deadline: float, found: list[SourceRecord]) -> None:
        while self._stream is not None and self._replication is not None and len(found) < limit:
            left = 0.0 if found else max(0.0, deadline - time.monotonic())
            message = self._replication.read(left)
            if message is None:
                self._idle()
                if left <= 0:
                    break
                continue
            found += self._stream.handle(*message)
            self._position = self._stream.position
            if time.monotonic() > deadline:
                break

    def _idle(self) -> None:
        """All that the server has sent is read: what lies before its place in the log holds no more of the stream."""
        assert self._stream is not None and self._replication is not None
        if self._stream.is_between_transactions:
            self.ledger.passed(self._replication.server_lsn)

    def confirm(self) -> None:
        """Tell the server which part of the log it need not keep. Raises LostConnection."""
        if self._replication is not None and self._stream is not None:
            self._replication.confirm(self.ledger.confirmed, self._settings["status.update.interval.ms"] / 1000)

    def execute(self, statement: str) -> None:
        """Run SQL for a heartbeat. Raises LostConnection, ConnectException."""
        if self._session is not None:
            self._session.execute(statement)

    def record(self, event: ChangeEvent, offset: dict[str, Any]) -> CapturedRecord:
        """Return an event as a record that the ledger knows."""
        return self._records.record(event, offset)

    def disconnect(self) -> None:
        """Close all sessions; `connect` continues."""
        for session in (self._replication, self._session, self._snapshot and self._snapshot.session):
            if session:
                session.close()
        self._session = self._replication = self._catalog = self._snapshot = self._stream = None
        self._snapshot_records, self._failure = iter(()), None

    def drop_slot(self) -> None:
        """Drop the slot; before it, `disconnect`. Raises LostConnection, ConnectException."""
        session = self._database.connect()
        try:
            session.execute("SELECT pg_drop_replication_slot(%(name)s)", {"name": self._settings["slot.name"]})
        finally:
            session.close()
