"""Reads the tables as they are, before their changes are streamed, and continues after a failure."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.mysql.captured_table import BinlogTable
from kafkapy.connect.connectors.mysql.catalog import MySqlCatalog, quoted
from kafkapy.connect.connectors.mysql.column_types import INTEGERS, MyTable
from kafkapy.connect.connectors.mysql.database import MySqlSession
from kafkapy.connect.connectors.mysql.events import BinlogEventFactory, BinlogOrigins
from kafkapy.connect.connectors.mysql.position import BinlogPosition
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.connectors.mysql.text_rows import read_text

log: Final = logging.getLogger("kafkapy.connect.connectors.mysql")
_ORDERED: Final = (*INTEGERS, "decimal", "char", "varchar", "date", "datetime", "timestamp", "year")
"""Types whose order is that of their texts' comparison, so that a table can be read from a key on."""


@dataclass(frozen=True, slots=True)
class BinlogSnapshotProgress:
    """How far a snapshot has come. Tables are read in the order of their names, rows in that of the primary key.

    Attributes:
        position: Where the stream begins.
        table: The table that is read, None before the first row; those before it are done.
        key: Texts of the last row's primary key; None: the table has none, and is read from its start again.

    Example:
        >>> progress = BinlogSnapshotProgress(BinlogPosition("b.1", 4), TableId("shop", "a"), ("7",))
        >>> BinlogSnapshotProgress.of(progress.offset()) == progress
        True
    """

    position: BinlogPosition
    table: TableId | None = None
    key: tuple[str, ...] | None = None

    def offset(self) -> dict[str, Any]:
        """Return the source offset."""
        place = {"database": self.table.schema, "table": self.table.name, "key": self.key} if self.table else {}
        text = json.dumps(place, separators=(",", ":"), ensure_ascii=False)
        return {**self.position.offset(), "snapshot": True, "snapshot_progress": text}

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> BinlogSnapshotProgress | None:
        """Read a source offset; None: it is that of the stream."""
        if not offset.get("snapshot"):
            return None
        place = json.loads(offset.get("snapshot_progress") or "{}")
        position = BinlogPosition.of(offset)
        if "database" not in place:
            return cls(position)
        key = None if place["key"] is None else tuple(place["key"])
        return cls(position, TableId(place["database"], place["table"]), key)


class _TableRow:
    """A row, with its table and the texts of its key."""

    __slots__ = ("is_first_of_table", "key", "row", "table")

    def __init__(
        self, table: BinlogTable, row: tuple[Any, ...], key: tuple[str, ...] | None, is_first_of_table: bool
    ) -> None:
        self.table, self.row, self.key, self.is_first_of_table = table, row, key, is_first_of_table


class BinlogSnapshot:
    """A pass over the tables in one transaction.

    Invariant: `snapshot.fetch.size` rows are in memory. A table with a primary key whose order the server can continue is
    read in pieces, so that a slow reader keeps no statement open.

    Args:
        session: In the transaction; it is closed at the end.
        settings: What is read.
        catalog: Of the same session.
        events: Makes the events.
        make_table: Returns a table's schemas.
        progress: Where to continue.
    """

    def __init__(
        self,
        session: MySqlSession,
        settings: BinlogSettings,
        catalog: MySqlCatalog,
        events: BinlogEventFactory,
        make_table: Callable[[MyTable], BinlogTable],
        progress: BinlogSnapshotProgress,
    ) -> None:
        self.session, self._settings, self._catalog = session, settings, catalog
        self._events, self._make_table = events, make_table
        self.progress = progress
        self._size: int = settings["snapshot.fetch.size"]
        self._started_us = time.time_ns() // 1000

    def events(self) -> Iterator[tuple[ChangeEvent, dict[str, Any]]]:
        """Return the events with their offsets, in order; the last one's offset says that the stream follows."""
        rows = self._rows()
        current = next(rows, None)
        is_first = self.progress.table is None
        while current is not None:
            following = next(rows, None)
            yield self._event(current, following, is_first)
            current, is_first = following, False
        self.session.close()

    def _event(self, row: _TableRow, following: _TableRow | None, is_first: bool) -> tuple[ChangeEvent, dict[str, Any]]:
        position = self.progress.position
        marker = "true"
        if following is None:
            marker = "last"
        elif is_first:
            marker = "first"
        elif following.table is not row.table:
            marker = "last_in_data_collection"
        elif row.is_first_of_table:
            marker = "first_in_data_collection"
        self.progress = BinlogSnapshotProgress(position, row.table.id, row.key)
        offset = position.offset() if following is None else self.progress.offset()
        origins = BinlogOrigins(self._started_us, position.file, position.place, snapshot=marker)
        return self._events.read(row.table, row.row, origins), offset

    def _rows(self) -> Iterator[_TableRow]:
        start = self.progress
        for id_ in self._catalog.tables():
            if not self._settings.in_snapshot(id_) or (start.table is not None and id_ < start.table):
                continue
            table = self._make_table(self._catalog.table(id_))
            after = start.key if start.table == id_ and start.key else ()
            log.info("Reading %s%s", id_, f" after the key {after}" if after else "")
            is_first = True
            for row, key in self._table_rows(table, after):
                yield _TableRow(table, row, key, is_first)
                is_first = False

    def _table_rows(
        self, table: BinlogTable, after: tuple[str, ...]
    ) -> Iterator[tuple[tuple[Any, ...], tuple[str, ...] | None]]:
        structure = table.structure
        places = _key_places(structure)
        select = _select(structure)
        if not places:
            for texts in self.session.stream(select, self._size):
                yield read_text(structure, texts), None
            return
        names = [quoted(structure.columns[place].name) for place in places]
        order = f" ORDER BY {', '.join(names)} LIMIT {self._size}"
        last = after
        while True:
            condition, values = _after(names, last)
            rows = self.session.rows(select.replace("%", "%%") + condition + order, values)
            for texts in rows:
                last = tuple(str(texts[place]) for place in places)
                yield read_text(structure, texts), last
            if len(rows) < self._size:
                return


def _key_places(table: MyTable) -> tuple[int, ...]:
    """Places of the key's columns; none if the table cannot be continued after a key."""
    places = {column.name: place for place, column in enumerate(table.columns)}
    kinds = {column.name: column.kind for column in table.columns}
    if any(kinds[name] not in _ORDERED for name in table.key):
        return ()
    return tuple(places[name] for name in table.key)


def _select(table: MyTable) -> str:
    """The query of all rows. FLOAT is shown with six digits, unless it becomes DOUBLE."""
    columns = ", ".join(
        f"{quoted(column.name)} + 0e0" if column.kind == "float" else quoted(column.name) for column in table.columns
    )
    return f"SELECT {columns} FROM {quoted(table.database)}.{quoted(table.name)}"


def _after(names: Sequence[str], last: Sequence[str]) -> tuple[str, list[str]]:
    """The condition for keys after one, in a form for which the server uses the index."""
    if not last:
        return "", []
    names = [name.replace("%", "%%") for name in names]
    parts: list[str] = []
    values: list[str] = []
    for count in range(len(names)):
        equal = "".join(f"{name} = %s AND " for name in names[:count])
        parts.append(f"({equal}{names[count]} > %s)")
        values += last[: count + 1]
    return f" WHERE {' OR '.join(parts)}", values
