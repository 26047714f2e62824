"""Turns the events of the binary log into records with their places."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.debezium.transaction_events import transaction_event
from kafkapy.connect.connectors.mysql import binlog_events as log_events
from kafkapy.connect.connectors.mysql.binlog_events import BinlogEvent, QueryEvent
from kafkapy.connect.connectors.mysql.captured_table import BinlogTable
from kafkapy.connect.connectors.mysql.events import BinlogEventFactory, BinlogOrigins
from kafkapy.connect.connectors.mysql.position import BinlogPosition, with_gtid
from kafkapy.connect.connectors.mysql.row_values import PlainRow, read_rows
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.mysql.statements import changes_rows, changes_tables, first_word, truncated_table
from kafkapy.connect.connectors.mysql.table_map import TableMap, decode_table_map, table_name
from kafkapy.connect.errors import ConnectException

log: Final = logging.getLogger("kafkapy.connect.connectors.mysql")
_MOST_TABLES: Final = 2000
_NO_TABLE: Final = 0xFFFFFF
"""Of an event without rows that only ends a statement."""
EventAndOffset = tuple[ChangeEvent, dict[str, Any]]


class BinlogStream:
    """The state of the stream.

    Invariant: `position` is that of the last row that was emitted or filtered out, at the end of a transaction that of the
    transaction. `_resume` is the position before a restart until the first transaction after it has ended. `_events`
    counts the events with rows of the transaction. `_maps` has the tables that the next rows are of, `_known` those of
    other transactions, by their bytes.

    Args:
        settings: What is captured.
        events: Makes the events.
        encoding_of: Returns Python's name of the encoding of a collation.
        make_table: Returns a table's schemas.
        find_table: Returns those of a table as it is now, None if it is gone.
        resume: Where an earlier stream, or the snapshot, has ended.
    """

    def __init__(
        self,
        settings: BinlogSettings,
        events: BinlogEventFactory,
        encoding_of: Callable[[int], str],
        make_table: Callable[[TableMap], BinlogTable],
        find_table: Callable[[TableId], BinlogTable | None],
        resume: BinlogPosition,
    ) -> None:
        self._settings, self._factory, self._encoding_of = settings, events, encoding_of
        self._make_table, self._find_table = make_table, find_table
        self.position = resume
        self._resume: BinlogPosition | None = resume
        self._file = resume.file
        self._maps: dict[int, tuple[TableMap, BinlogTable] | None] = {}
        self._known: dict[bytes, tuple[TableMap, BinlogTable]] = {}
        self._is_inside = self._is_alone = False
        self._gtid: str | None = None
        self._thread: int | None = None
        self._query: str | None = None
        self._events = 0
        self._id = ""
        self._counts: Counter[TableId] = Counter()

    def handle(self, event: BinlogEvent) -> list[EventAndOffset]:
        """Process one event of the server; return the events of it, with offsets.

        Raises:
            ConnectException: It cannot be represented, or is damaged.
        """
        log_events.check_supported(event)
        if event.operation is not None:
            return self._rows(event)
        match event.type:
            case log_events.ROTATE:
                self._rotate(event)
            case log_events.TABLE_MAP:
                self._map(event.body)
            case log_events.MARIADB_GTID | log_events.MYSQL_GTID:
                found = log_events.decode_gtid(event)
                self._gtid, self._is_alone = found.gtid, found.is_alone
                if event.type == log_events.MARIADB_GTID and not found.is_alone:
                    self._begin()
            case log_events.XID | log_events.XA_PREPARE:
                return self._commit(event)
            case log_events.ANNOTATE_ROWS | log_events.ROWS_QUERY:
                text = event.body if event.type == log_events.ANNOTATE_ROWS else event.body[1:]
                self._query = text.decode("utf-8", "replace") if self._settings["include.query"] else None
            case _:
                query = log_events.decode_query(event)
                return [] if query is None else self._statement(event, query)
        return []

    def _rotate(self, event: BinlogEvent) -> None:
        self._file, place = log_events.decode_rotate(event)
        if not self._is_inside and event.seconds and not (self.position.events or self.position.rows):
            self.position = replace(self.position, file=self._file, place=place)

    def _begin(self) -> None:
        self._is_inside, self._events, self._id = True, 0, ""
        self._counts.clear()

    def _commit(self, event: BinlogEvent) -> list[EventAndOffset]:
        gtids = self.position.gtids
        if self._gtid is not None and gtids is not None:
            gtids = with_gtid(gtids, self._gtid)
        records = self._transaction_record("END", event) if self._counts else []
        self.position = BinlogPosition(
            self._file, event.end, gtids, self.position.server, seconds=event.seconds or self.position.seconds
        )
        self._resume = None
        self._is_inside = self._is_alone = False
        self._gtid = self._query = self._thread = None
        self._maps.clear()
        return records

    def _statement(self, event: BinlogEvent, query: QueryEvent) -> list[EventAndOffset]:
        self._thread = query.thread
        match first_word(query.statement):
            case "BEGIN":
                self._begin()
                return []
            case "COMMIT" | "ROLLBACK" if " TO " not in query.statement.upper():
                return self._commit(event)
            case "SAVEPOINT" | "ROLLBACK" | "RELEASE":
                return []
        origins = self._origins(event, 0)
        if changes_rows(query.statement) and self._settings.includes_database(query.database):
            self._refuse(query)
        if self._is_inside and not self._is_alone:  # CREATE TABLE … SELECT, and tables that are in no transaction
            return self._of_statement(event, query, origins)
        self._begin()
        records = self._of_statement(event, query, origins)
        self._commit(event)
        if records:  # with the last one the statement is done
            records[-1] = (records[-1][0], self.position.offset())
        return records

    def _of_statement(self, event: BinlogEvent, query: QueryEvent, origins: BinlogOrigins) -> list[EventAndOffset]:
        records: list[EventAndOffset] = []
        settings, table = self._settings, truncated_table(query.database, query.statement)
        if table is not None and settings.includes_table(table) and "t" not in settings.skipped:
            records += self._truncate(table, origins)
        database = table.schema if table else query.database
        is_wanted = settings["include.schema.changes"] and settings.includes_database(database)
        if is_wanted and changes_tables(query.statement):
            change = self._factory.schema_change(database, query.statement, origins)
            records.append((change, self.position.offset()))
        return records

    def _truncate(self, id_: TableId, origins: BinlogOrigins) -> list[EventAndOffset]:
        known = next((table for _, table in reversed(self._known.values()) if table.id == id_), None)
        table = known or self._find_table(id_)
        if table is None:
            return []
        return [(self._factory.truncate(table, origins), self.position.offset())]

    def _refuse(self, query: QueryEvent) -> None:
        mode = self._settings.word("event.processing.failure.handling.mode")
        text = (
            f"A change in {query.database} is logged as a statement, without its rows: {query.statement[:200]!r}; sessions "
            "must have binlog_format=ROW. To go on without it, set event.processing.failure.handling.mode=warn"
        )
        if mode == "fail":
            raise ConnectException(text)
        if mode == "warn":
            log.warning("%s", text)

    def _map(self, body: bytes) -> None:
        number, database, name = table_name(body)
        if not self._settings.includes_table(TableId(database, name)):
            self._maps[number] = None
            return
        found = self._known.pop(body[6:], None)
        if found is None:
            table = decode_table_map(body, self._encoding_of)
            found = (table, self._make_table(table))
            while len(self._known) >= _MOST_TABLES:
                del self._known[next(iter(self._known))]
        self._known[body[6:]] = found  # the newest is last
        self._maps[number] = found

    def _rows(self, event: BinlogEvent) -> list[EventAndOffset]:
        rows = log_events.decode_rows(event)
        number, self._events = self._events, self._events + 1
        if rows.table_id == _NO_TABLE:
            return []
        if rows.table_id not in self._maps:
            raise ConnectException(f"The server sent rows of table {rows.table_id}, which it has not announced")
        found = self._maps[rows.table_id]
        is_done = self._resume is not None and number < self._resume.events
        if found is None or rows.operation in self._settings.skipped or (is_done and not self._has_transactions):
            return []
        structure, table = found
        present = [rows.before, rows.after] if rows.operation == "u" else [rows.before]
        values = read_rows(structure, present, rows.rows)
        changes: list[tuple[PlainRow | None, PlainRow | None]]
        match rows.operation:
            case "c":
                changes = [(None, row) for row in values]
            case "d":
                changes = [(row, None) for row in values]
            case _:
                changes = list(zip(values[::2], values[1::2], strict=True))
        records: list[EventAndOffset] = []
        for place, (old, new) in enumerate(changes):
            records += self._emit(event, table, (number, place), old, new)
        return records

    def _emit(
        self,
        event: BinlogEvent,
        table: BinlogTable,
        place: tuple[int, int],
        old: PlainRow | None,
        new: PlainRow | None,
    ) -> list[EventAndOffset]:
        resume = self._resume
        is_new = resume is None or place >= (resume.events, resume.rows)
        if not is_new and not self._has_transactions:
            return []
        is_first = not self._counts
        if is_first:
            self._id = self._gtid or f"file={self._file},pos={event.start}"
        self._counts[table.id] += 1
        order = (self._counts.total(), self._counts[table.id])
        origins = replace(self._origins(event, place[1]), order=order, transaction=self._id)
        made = self._factory.change(table, old, new, origins)
        # A changed key is a delete and a create, which count as two.
        self._counts[table.id] += sum(each.value is not None for each in made) - 1
        if not is_new:
            return []
        before = self._transaction_record("BEGIN", event) if is_first else []
        # A change of a key is three records: only after the last one of them is the row done.
        partial = replace(self.position, events=place[0], rows=place[1], seconds=event.seconds)
        self.position = replace(partial, rows=place[1] + 1)
        places = [partial] * (len(made) - 1) + [self.position]
        return before + [(each, where.offset()) for each, where in zip(made, places, strict=True)]

    @property
    def _has_transactions(self) -> bool:
        return bool(self._settings["provide.transaction.metadata"])

    def _origins(self, event: BinlogEvent, row: int) -> BinlogOrigins:
        return BinlogOrigins(
            event.seconds * 1_000_000,
            self._file,
            event.start,
            event.server_id,
            row,
            self._gtid,
            self._thread if self._settings.flavor == "mysql" else None,
            self._query,
        )

    def _transaction_record(self, status: str, event: BinlogEvent) -> list[EventAndOffset]:
        if not self._has_transactions:
            return []
        counts = {str(table): count for table, count in self._counts.items()} if status == "END" else None
        made = transaction_event(self._settings, status, self._id, event.seconds * 1000, counts)
        return [(made, self.position.offset())]
