"""Messages of PostgreSQL's logical replication (`pgoutput`, protocol version 1): bytes in, messages out.

Values of columns are the text that PostgreSQL writes for them. Nothing here depends on a connection.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafkapy.connect.errors import DataException

POSTGRES_EPOCH_US: Final = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where PostgreSQL's times begin."""


class Unchanged(Enum):
    """What stands for a large value (TOAST) that an update has left alone, and that is not in the message."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
ColumnText = str | bytes | Unchanged | None
"""Text of a value; `bytes` where a publication sends binary values; None is NULL."""
Row = tuple[ColumnText, ...]


@dataclass(frozen=True, slots=True)
class PgBegin:
    """The start of a transaction: the LSN of its commit, the time of that in microseconds since 1970, its id."""

    final_lsn: int
    commit_us: int
    xid: int


@dataclass(frozen=True, slots=True)
class PgCommit:
    """The end of a transaction: LSN of the commit, and of the end of it."""

    lsn: int
    end_lsn: int
    commit_us: int


@dataclass(frozen=True, slots=True)
class PgRelationColumn:
    """A column of a relation; `is_key`: it belongs to the replica identity."""

    name: str
    type_oid: int
    modifier: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class PgRelation:
    """A table as it is from here on; `replica_identity`: d(efault), n(othing), f(ull) or i(ndex)."""

    oid: int
    schema: str
    name: str
    replica_identity: str
    columns: tuple[PgRelationColumn, ...]


@dataclass(frozen=True, slots=True)
class PgTypeName:
    """The name of a type that is not built in."""

    oid: int
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class PgInsert:
    """A new row."""

    relation: int
    new: Row


@dataclass(frozen=True, slots=True)
class PgUpdate:
    """A changed row. `key`: the old key's columns, if they have changed; `old`: the old row (FULL)."""

    relation: int
    new: Row
    key: Row | None = None
    old: Row | None = None


@dataclass(frozen=True, slots=True)
class PgDelete:
    """A deleted row: its key's columns, or all of it (FULL)."""

    relation: int
    key: Row | None = None
    old: Row | None = None


@dataclass(frozen=True, slots=True)
class PgTruncate:
    """Tables that are emptied together."""

    relations: tuple[int, ...]
    cascade: bool
    restart_identity: bool


@dataclass(frozen=True, slots=True)
class LogicalMessage:
    """What `pg_logical_emit_message` has written."""

    is_transactional: bool
    lsn: int
    prefix: str
    content: bytes


@dataclass(frozen=True, slots=True)
class PgOrigin:
    """The server on which a transaction began that was replicated to here."""

    lsn: int
    name: str


PgMessage = (
    PgBegin
    | PgCommit
    | PgRelation
    | PgTypeName
    | PgInsert
    | PgUpdate
    | PgDelete
    | PgTruncate
    | LogicalMessage
    | PgOrigin
)


def decode(data: bytes) -> PgMessage:
    """Decode one message.

    Args:
        data: All of the message, and nothing else.

    Raises:
        DataException: It is truncated, or has an unknown form.

    Example:
        >>> decode(bytes.fromhex("49 00000001 4e 0001 74 00000001 37"))
        PgInsert(relation=1, new=('7',))
    """
    reader = _MessageReader(data)
    try:
        message = _decode(reader)
    except (struct.error, IndexError, ValueError) as error:
        raise DataException(f"A message of pgoutput is truncated or damaged: {data[:64]!r}") from error
    if reader.at != len(data):
        raise DataException(f"A message of pgoutput has {len(data) - reader.at} bytes too many: {data[:64]!r}")
    return message


def _decode(reader: _MessageReader) -> PgMessage:
    kind = reader.char()
    match kind:
        case "B":
            return PgBegin(reader.int64(), reader.time(), reader.int32())
        case "C":
            reader.byte()  # flags, of which there are none
            return PgCommit(reader.int64(), reader.int64(), reader.time())
        case "R":
            return _relation(reader)
        case "Y":
            return PgTypeName(reader.int32(), reader.text(), reader.text())
        case "I":
            relation = reader.int32()
            _expect(reader.char(), "N")
            return PgInsert(relation, reader.row())
        case "U":
            return _update(reader)
        case "D":
            relation, part = reader.int32(), reader.char()
            _expect(part, "KO")
            row = reader.row()
            return PgDelete(relation, key=row) if part == "K" else PgDelete(relation, old=row)
        case "T":
            count, options = reader.int32(), reader.byte()
            return PgTruncate(tuple(reader.int32() for _ in range(count)), bool(options & 1), bool(options & 2))
        case "M":
            flags, lsn, prefix = reader.byte(), reader.int64(), reader.text()
            return LogicalMessage(bool(flags & 1), lsn, prefix, reader.bytes(reader.int32()))
        case "O":
            return PgOrigin(reader.int64(), reader.text())
    raise DataException(f"A message of pgoutput has the unknown kind {kind!r}")


def _relation(reader: _MessageReader) -> PgRelation:
    oid, schema, name, identity = reader.int32(), reader.text(), reader.text(), reader.char()
    columns = []
    for _ in range(reader.int16()):
        is_key, column = bool(reader.byte() & 1), reader.text()
        columns.append(PgRelationColumn(column, reader.int32(), reader.signed32(), is_key))
    return PgRelation(oid, schema or "pg_catalog", name, identity, tuple(columns))


def _update(reader: _MessageReader) -> PgUpdate:
    relation, part = reader.int32(), reader.char()
    _expect(part, "KON")
    if part == "N":
        return PgUpdate(relation, reader.row())
    before = reader.row()
    _expect(reader.char(), "N")
    after = reader.row()
    return PgUpdate(relation, after, key=before) if part == "K" else PgUpdate(relation, after, old=before)


def _expect(part: str, known: str) -> None:
    if part not in known:
        raise ValueError(f"{part!r} is none of {known}")


class _MessageReader:
    """Reads the fields of a message in order. Invariant: `at` is the index of the next one."""

    __slots__ = ("_data", "at")

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def _unpack(self, form: struct.Struct) -> int:
        value: int = form.unpack_from(self._data, self.at)[0]
        self.at += form.size
        return value

    def byte(self) -> int:
        return self._unpack(_BYTE)

    def char(self) -> str:
        return chr(self._unpack(_BYTE))

    def int16(self) -> int:
        return self._unpack(_INT16)

    def int32(self) -> int:
        return self._unpack(_INT32)

    def signed32(self) -> int:
        return self._unpack(_SIGNED32)

    def int64(self) -> int:
        return self._unpack(_INT64)

    def time(self) -> int:
        return self._unpack(_SIGNED64) + POSTGRES_EPOCH_US

    def bytes(self, length: int) -> bytes:
        if self.at + length > len(self._data):
            raise ValueError("truncated")
        self.at += length
        return self._data[self.at - length : self.at]

    def text(self) -> str:
        end = self._data.index(b"\0", self.at)
        value = self._data[self.at : end].decode()
        self.at = end + 1
        return value

    def row(self) -> Row:
        return tuple(self._column() for _ in range(self.int16()))

    def _column(self) -> ColumnText:
        match self.char():
            case "n":
                return None
            case "u":
                return UNCHANGED
            case "t":
                return self.bytes(self.int32()).decode()
            case "b":
                return self.bytes(self.int32())
            case other:
                raise ValueError(f"unknown kind of column {other!r}")


_BYTE: Final = struct.Struct(">B")
_INT16: Final = struct.Struct(">H")
_INT32: Final = struct.Struct(">I")
_SIGNED32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">Q")
_SIGNED64: Final = struct.Struct(">q")
