"""What the connector asks the server: its settings, tables, and places in the binary log."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.mysql.column_types import MyColumn, MyTable
from kafkapy.connect.connectors.mysql.database import MySqlSession
from kafkapy.connect.connectors.mysql.position import BinlogPosition
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.errors import ConnectException

_NEEDED: Final = {
    "log_bin": ("1", "start the server with --log-bin"),
    "binlog_format": ("ROW", "SET GLOBAL binlog_format = 'ROW'"),
    "binlog_row_image": ("FULL", "SET GLOBAL binlog_row_image = 'FULL'"),
    "binlog_row_metadata": ("FULL", "SET GLOBAL binlog_row_metadata = 'FULL'"),
}
_KINDS: Final = {
    "integer": "int",
    "numeric": "decimal",
    "real": "double",
    **dict.fromkeys(("tinytext", "mediumtext", "longtext"), "text"),
    **dict.fromkeys(("tinyblob", "mediumblob", "longblob"), "blob"),
    **dict.fromkeys(("linestring", "polygon", "multipoint", "multilinestring", "multipolygon"), "geometry"),
    **dict.fromkeys(("geometrycollection", "geomcollection"), "geometry"),
}
_UNTOLD: Final = ("uuid", "inet4", "inet6", "vector")
"""Types whose values are bytes in the binary log, which does not tell that they are of them."""
_TABLES: Final = """
SELECT table_schema, table_name FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'SYSTEM VERSIONED')"""
_COLUMNS: Final = """
SELECT column_name, data_type, column_type, is_nullable, numeric_precision, numeric_scale, datetime_precision,
       character_maximum_length
FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"""
_KEY: Final = """
SELECT column_name FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index"""
_HAS_ID: Final = """
SELECT 1 FROM information_schema.columns
WHERE table_schema = 'information_schema' AND lower(table_name) = %s AND lower(column_name) = 'id'"""
_LABEL: Final = re.compile(r"'((?:[^']|'')*)'")


def quoted(name: str) -> str:
    """Return an identifier in quotes.

    Example:
        >>> quoted("a`b")
        '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


class MySqlCatalog:
    """Reads the catalog through a session.

    Args:
        session: For SQL.
        settings: What is captured.
    """

    def __init__(self, session: MySqlSession, settings: BinlogSettings) -> None:
        self._session, self._settings = session, settings
        self._encodings: dict[int, str] | None = None

    def check_server(self) -> None:
        """Raises ConnectException if the server's settings lose changes; the message says what to set."""
        for name, (needed, remedy) in _NEEDED.items():
            found = self._session.rows(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
            value = str(found[0][1]) if found else "missing: MySQL 8.0.1 or MariaDB 10.5 is needed"
            if value.upper() not in (needed, "ON" if needed == "1" else needed):
                raise ConnectException(f"The server's {name} is {value}, and must be {needed}: {remedy}")
        is_mariadb = "mariadb" in str(self._session.value("SELECT version()")).lower()
        if is_mariadb != (self._settings.flavor == "mariadb"):
            right = "mariadb.MariaDbConnector" if is_mariadb else "mysql.MySqlConnector"
            raise ConnectException(
                f"The server is {'MariaDB' if is_mariadb else 'MySQL'}: set connector.class=io.debezium.connector.{right}"
            )

    @property
    def is_mariadb(self) -> bool:
        return self._settings.flavor == "mariadb"

    def tables(self) -> list[TableId]:
        """Return the captured tables, in the order of their names."""
        found = (TableId(str(schema), str(name)) for schema, name in self._session.rows(_TABLES))
        return sorted(table for table in found if self._settings.includes_table(table))

    def table(self, id_: TableId) -> MyTable:
        """Return a table's structure as it is now. Raises ConnectException if it is gone."""
        columns = tuple(_column(row) for row in self._session.rows(_COLUMNS, id_))
        if not columns:
            raise ConnectException(f"There is no table {id_} any more")
        return MyTable(*id_, columns, tuple(str(name) for (name,) in self._session.rows(_KEY, id_)))

    def untold_columns(self, id_: TableId) -> dict[str, str]:
        """Return the types of columns whose types the binary log does not tell, by their names."""
        kinds = ((str(row[0]), str(row[1]).lower()) for row in self._session.rows(_COLUMNS, id_))
        return {name: kind for name, kind in kinds if kind in _UNTOLD}

    def encoding_of(self, collation: int) -> str:
        """Return Python's name of the encoding of a collation. Raises ConnectException if it is not known."""
        if self._encodings is None:
            self._encodings = self._read_encodings()
        if collation not in self._encodings:
            raise ConnectException(
                f"The binary log has a text in collation {collation}, which the server does not list"
            )
        return self._encodings[collation]

    def _read_encodings(self) -> dict[int, str]:
        found = {}
        for place in ("collations", "collation_character_set_applicability"):
            if self._session.rows(_HAS_ID, [place]):  # MariaDB has newer collations in the second one
                for number, charset in self._session.rows(
                    f"SELECT id, character_set_name FROM information_schema.{place}"
                ):
                    if number is not None and charset is not None:
                        found[int(number)] = _encoding(str(charset))
        return found

    def current_position(self) -> BinlogPosition:
        """Return the end of the binary log."""
        try:
            row = self._session.rows("SHOW MASTER STATUS")
        except ConnectException:  # MySQL 8.4 has another name for it
            row = self._session.rows("SHOW BINARY LOG STATUS")
        return self._position(str(row[0][0]), int(row[0][1]))

    def first_position(self) -> BinlogPosition:
        """Return the start of the oldest binary log."""
        return self._position(self.files()[0], 4)

    def _position(self, file: str, place: int) -> BinlogPosition:
        return self.with_gtids(BinlogPosition(file, place, None, self._server()))

    def with_gtids(self, position: BinlogPosition) -> BinlogPosition:
        """Return a position with MariaDB's global transaction ids, as far as the server knows them."""
        if position.gtids is not None or not self.is_mariadb:
            return position
        rows = self._session.rows("SELECT BINLOG_GTID_POS(%s, %s)", (position.file, position.place))
        found = rows[0][0]
        return replace(position, gtids=None if found is None else str(found))

    def _server(self) -> str | None:
        return None if self.is_mariadb else str(self._session.value("SELECT @@server_uuid"))

    def begin_snapshot(self) -> BinlogPosition:
        """Begin a transaction in which all queries see the same; return the place in the binary log that belongs to it."""
        session = self._session
        session.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.execute("SET SESSION net_write_timeout = 3600")
        begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
        if self.is_mariadb:
            session.execute(begin)
            found = dict(session.rows("SHOW STATUS LIKE 'binlog_snapshot_%'"))
            found = {str(name).lower(): value for name, value in found.items()}
            return self._position(str(found["binlog_snapshot_file"]), int(found["binlog_snapshot_position"]))
        if self._settings.word("snapshot.locking.mode") == "none":
            position = self.current_position()  # what commits until the snapshot begins is read, and streamed again
            session.execute(begin)
            return position
        session.execute("FLUSH TABLES WITH READ LOCK")
        try:
            session.execute(begin)
            return self.current_position()
        finally:
            session.execute("UNLOCK TABLES")

    def files(self) -> list[str]:
        """Return the names of the binary logs, the oldest first."""
        return [str(row[0]) for row in self._session.rows("SHOW BINARY LOGS")]

    def has(self, position: BinlogPosition) -> bool:
        """Return whether the server has what follows a place. With global ids, it says that when it is asked for it."""
        if position.gtids:
            return True
        return position.server in (None, self._server()) and position.file in self.files()


def _column(row: tuple[Any, ...]) -> MyColumn:
    name, data_type, column_type, nullable, precision, scale, fraction, length = row
    kind = _KINDS.get(str(data_type).lower(), str(data_type).lower())
    sizes = {"decimal": precision, "bit": precision, "binary": length}
    if kind in ("time", "datetime", "timestamp"):
        sizes[kind] = fraction
    labels: tuple[str, ...] = ()
    if kind in ("enum", "set"):
        labels = tuple(label.replace("''", "'") for label in _LABEL.findall(str(column_type)))
    return MyColumn(
        str(name),
        kind,
        "unsigned" in str(column_type).lower() and kind not in ("enum", "set"),
        int(sizes.get(kind) or 0),
        int(scale or 0) if kind == "decimal" else 0,
        labels,
        str(nullable).upper() == "YES",
    )


def _encoding(charset: str) -> str:
    """Python's name for a character set."""
    from pymysql.charset import charset_by_name

    others = {
        "utf8mb3": "utf-8",
        "ucs2": "utf-16-be",
        "utf16": "utf-16-be",
        "utf16le": "utf-16-le",
        "utf32": "utf-32-be",
    }
    if charset in others:
        return others[charset]
    known = charset_by_name(charset)
    return str(known.encoding) if known is not None else charset
