"""Reads the tables as they are, before their changes are streamed, and continues after a failure."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.postgresql.catalog import PgCatalog, quoted
from kafkapy.connect.connectors.postgresql.change_stream import CapturedRecord, RecordMaker
from kafkapy.connect.connectors.postgresql.database import SqlSession
from kafkapy.connect.connectors.postgresql.events import ChangeEventFactory, Origins
from kafkapy.connect.connectors.postgresql.pgoutput import PgRelation
from kafkapy.connect.connectors.postgresql.position import StreamPosition
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.table_schemas import CapturedTable

log: Final = logging.getLogger("kafkapy.connect.connectors.postgresql")


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """How far a snapshot has come. Tables are read in the order of their names, rows in that of the primary key.

    Attributes:
        lsn: The slot's first place: the stream begins there.
        table: The table that is read, None before the first row; those before it are done.
        key: Texts of the last row's primary key; None: the table has none, and is read from its start again.

    Example:
        >>> progress = SnapshotProgress(5, TableId("public", "a"), ("7",))
        >>> SnapshotProgress.of(progress.offset()) == progress
        True
    """

    lsn: int
    table: TableId | None = None
    key: tuple[str, ...] | None = None

    def offset(self) -> dict[str, Any]:
        """Return the source offset."""
        place = {"schema": self.table.schema, "table": self.table.name} if self.table else {}
        text = json.dumps({**place, "key": self.key}, separators=(",", ":"))
        return {
            **StreamPosition(self.lsn, self.lsn, None, None).offset(),
            "snapshot": "INITIAL",
            "snapshot_progress": text,
        }

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> SnapshotProgress | None:
        """Read a source offset; None: it is that of the stream."""
        if not offset.get("snapshot"):
            return None
        place = json.loads(offset.get("snapshot_progress") or "{}")
        lsn = StreamPosition.of(offset).lsn
        if "schema" not in place:
            return cls(lsn)
        return cls(lsn, TableId(place["schema"], place["table"]), None if place["key"] is None else tuple(place["key"]))


class _SnapshotRow:
    """A row, with its table."""

    __slots__ = ("is_first_of_table", "row", "table")

    def __init__(self, table: CapturedTable, row: tuple[Any, ...], is_first_of_table: bool) -> None:
        self.table, self.row, self.is_first_of_table = table, row, is_first_of_table


class TablesSnapshot:
    """A pass over the tables in one transaction.

    Invariant: rows are read from a server-side cursor, so that only `snapshot.fetch.size` of them are in memory.

    Args:
        session: Of its own; it is closed at the end.
        settings: What is read.
        catalog: Of the same session.
        events: Makes the events.
        records: Makes records of them.
        make_table: Returns a table's schemas.
        progress: Where to continue.
        exported: The slot's snapshot. None: that of now, which is at least as new as the slot.
    """

    def __init__(
        self,
        session: SqlSession,
        settings: CaptureSettings,
        catalog: PgCatalog,
        events: ChangeEventFactory,
        records: RecordMaker,
        make_table: Callable[[PgRelation], CapturedTable],
        progress: SnapshotProgress,
        exported: str | None,
    ) -> None:
        self.session, self._settings, self._catalog = session, settings, catalog
        self._events, self._records, self._make_table = events, records, make_table
        self.progress = progress
        self._started_us = time.time_ns() // 1000
        session.begin_snapshot()
        if exported is not None:
            session.execute(f"SET TRANSACTION SNAPSHOT '{exported}'")
        self._xid = int(session.rows("SELECT txid_snapshot_xmin(txid_current_snapshot())")[0][0])

    def records(self) -> Iterator[CapturedRecord]:
        """Return the records, in order; the last one's offset says that the stream follows."""
        rows = self._rows()
        current = next(rows, None)
        is_first = self.progress.table is None
        while current is not None:
            following = next(rows, None)
            yield self._record(current, following, is_first)
            current, is_first = following, False
        self.session.close()

    def _record(self, row: _SnapshotRow, following: _SnapshotRow | None, is_first: bool) -> CapturedRecord:
        table, lsn = row.table, self.progress.lsn
        marker = "true"
        if following is None:
            marker = "last"
        elif is_first:
            marker = "first"
        elif following.table is not table:
            marker = "last_in_data_collection"
        elif row.is_first_of_table:
            marker = "first_in_data_collection"
        width = len(table.relation.columns)
        key = tuple(row.row[width:]) or None
        self.progress = SnapshotProgress(lsn, table.id, key)
        offset = self.progress.offset() if following is not None else StreamPosition(lsn, lsn, None, None).offset()
        origins = Origins(self._started_us, lsn, None, self._xid, snapshot=marker)
        event: ChangeEvent = self._events.read(table, row.row[:width], origins)
        return self._records.record(event, offset)

    def _rows(self) -> Iterator[_SnapshotRow]:
        start = self.progress
        for relation in self._relations():
            id_ = TableId(relation.schema, relation.name)
            if start.table is not None and id_ < start.table:
                continue
            facts = self._catalog.facts(relation)
            table = self._make_table(relation)
            after = start.key if start.table == id_ and start.key else ()
            log.info("Reading %s%s", id_, f" after the key {after}" if after else "")
            query, values = _query(relation, facts.primary_key, after)
            is_first = True
            for row in self.session.stream(query, values, self._settings["snapshot.fetch.size"]):
                yield _SnapshotRow(table, row, is_first)
                is_first = False

    def _relations(self) -> Iterable[PgRelation]:
        return (
            relation
            for relation in self._catalog.published()
            if self._settings.in_snapshot(TableId(relation.schema, relation.name))
        )


def _query(relation: PgRelation, key: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The query of a table's rows: the columns, then those of the primary key once more, which say where to continue."""
    columns = ", ".join(quoted(column.name) for column in relation.columns)
    keys = ", ".join(quoted(name) for name in key)
    query = f"SELECT {', '.join(filter(None, (columns, keys)))} FROM {quoted(relation.schema)}.{quoted(relation.name)}"
    query = query.replace("%", "%%")
    if not key:
        return query, {}
    values: dict[str, Any] = {}
    if after:
        # A text without a type takes that of the column that it is compared with.
        values = {f"k{number}": text for number, text in enumerate(after)}
        query += f" WHERE ({keys.replace('%', '%%')}) > ({', '.join(f'%({name})s' for name in values)})"
    return f"{query} ORDER BY {keys.replace('%', '%%')}", values
