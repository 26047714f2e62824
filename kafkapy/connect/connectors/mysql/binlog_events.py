"""Events of the binary log: their headers and bodies."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import Final

from kafkapy.connect.connectors.mysql.byte_reader import ByteReader
from kafkapy.connect.errors import ConnectException, DataException

QUERY, STOP, ROTATE, FORMAT, XID, TABLE_MAP, INCIDENT, HEARTBEAT = 2, 3, 4, 15, 16, 19, 26, 27
ROWS_QUERY, MYSQL_GTID, XA_PREPARE, PARTIAL_UPDATE, TRANSACTION_PAYLOAD = 29, 33, 38, 39, 40
ANNOTATE_ROWS, MARIADB_GTID = 160, 162
_COMPRESSED_QUERY: Final = 165
_ROWS: Final = {
    23: ("c", 1),
    24: ("u", 1),
    25: ("d", 1),
    30: ("c", 2),
    31: ("u", 2),
    32: ("d", 2),
    166: ("c", 1),
    167: ("u", 1),
    168: ("d", 1),
    169: ("c", 2),
    170: ("u", 2),
    171: ("d", 2),
}
"""Operation and version of events with rows; MariaDB's compressed ones have the numbers from 166 on."""
_FIRST_COMPRESSED: Final = 165
_HEADER: Final = struct.Struct("<IBIIIH")


@dataclass(frozen=True, slots=True)
class BinlogEvent:
    """An event.

    Attributes:
        seconds: When it was written, since 1970; 0: the server has made it up for this reader.
        type: Its number.
        server_id: Of the server that wrote it first.
        end: Where the next event is in the file.
        start: Where it is itself.
        body: Without header.
    """

    seconds: int
    type: int
    server_id: int
    end: int
    start: int
    body: bytes

    @property
    def operation(self) -> str | None:
        """`c`, `u` or `d` of an event with rows."""
        return _ROWS[self.type][0] if self.type in _ROWS else None


def decode_event(data: bytes) -> BinlogEvent:
    """Read an event. Raises DataException.

    Args:
        data: Header and body, without checksum.
    """
    if len(data) < _HEADER.size:
        raise DataException("An event of the binary log is shorter than its header")
    seconds, type, server_id, size, end, _ = _HEADER.unpack_from(data)
    return BinlogEvent(seconds, type, server_id, end, max(0, end - size), data[_HEADER.size :])


@dataclass(frozen=True, slots=True)
class QueryEvent:
    """A statement. `thread`: the session that ran it."""

    database: str
    statement: str
    thread: int


def decode_query(event: BinlogEvent) -> QueryEvent | None:
    """Read a statement; None: the event has none."""
    if event.type not in (QUERY, _COMPRESSED_QUERY):
        return None
    reader = ByteReader(event.body)
    thread, _, length, _ = reader.uint(4), reader.uint(4), reader.uint(1), reader.uint(2)
    reader.take(reader.uint(2))
    database = reader.take(length).decode("utf-8", "replace")
    reader.take(1)
    text = reader.rest()
    if event.type == _COMPRESSED_QUERY:
        text = _inflated(text)
    return QueryEvent(database, text.decode("utf-8", "replace"), thread)


@dataclass(frozen=True, slots=True)
class RowsEvent:
    """Changed rows of one table, not decoded yet.

    Attributes:
        table_id: Of the table map.
        operation: `c`, `u` or `d`.
        width: Columns of the table.
        before: Bits of the columns that old rows have; those of the only rows but in updates.
        after: Bits of the columns that new rows have, in updates.
        rows: The rows.
    """

    table_id: int
    operation: str
    width: int
    before: bytes
    after: bytes
    rows: bytes


def decode_rows(event: BinlogEvent) -> RowsEvent:
    """Read an event with rows. Raises DataException."""
    operation, version = _ROWS[event.type]
    reader = ByteReader(event.body)
    table_id, _ = reader.uint(6), reader.uint(2)
    if version == 2:
        reader.take(max(0, reader.uint(2) - 2))
    width = reader.packed()
    before = reader.take((width + 7) // 8)
    after = reader.take((width + 7) // 8) if operation == "u" else before
    rows = reader.rest()
    return RowsEvent(
        table_id, operation, width, before, after, _inflated(rows) if event.type > _FIRST_COMPRESSED else rows
    )


def decode_rotate(event: BinlogEvent) -> tuple[str, int]:
    """Return name and place of the file that follows."""
    reader = ByteReader(event.body)
    place = reader.uint(8)
    return reader.rest().decode(), place


@dataclass(frozen=True, slots=True)
class GtidEvent:
    """Begins a transaction.

    Attributes:
        gtid: Its global id.
        is_alone: The next statement is all of it: nothing ends it.
    """

    gtid: str
    is_alone: bool


def decode_gtid(event: BinlogEvent) -> GtidEvent:
    """Read a global transaction id, MariaDB's or MySQL's."""
    reader = ByteReader(event.body)
    if event.type == MARIADB_GTID:
        sequence, domain, flags = reader.uint(8), reader.uint(4), reader.uint(1)
        return GtidEvent(f"{domain}-{event.server_id}-{sequence}", bool(flags & 1))
    reader.take(1)
    source = reader.take(16).hex()
    parts = (source[:8], source[8:12], source[12:16], source[16:20], source[20:])
    return GtidEvent(f"{'-'.join(parts)}:{reader.uint(8)}", False)


def check_supported(event: BinlogEvent) -> None:
    """Raises ConnectException for an event whose changes cannot be read, with what is to be set."""
    remedy = {
        PARTIAL_UPDATE: "changes of JSON documents in part: SET GLOBAL binlog_row_value_options = ''",
        TRANSACTION_PAYLOAD: "compressed transactions: SET GLOBAL binlog_transaction_compression = OFF",
        INCIDENT: "an incident: changes are lost on the server; delete the connector's offsets, so that tables are read",
    }.get(event.type)
    if remedy:
        raise ConnectException(f"The binary log has {remedy}")


def _inflated(data: bytes) -> bytes:
    """Return what MariaDB has compressed: a byte with the size's length, the size, zlib's data."""
    if not data:
        return data
    start = 1 + (data[0] & 0x07)
    try:
        return zlib.decompress(data[start:])
    except zlib.error as error:
        raise DataException(f"A compressed event of the binary log is damaged: {error}") from error
