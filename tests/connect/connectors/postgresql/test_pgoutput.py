"""Messages of pgoutput: bytes as PostgreSQL writes them, and round trips of random ones."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.connect.connectors.postgresql.pgoutput import (
    UNCHANGED,
    ColumnText,
    LogicalMessage,
    PgBegin,
    PgCommit,
    PgDelete,
    PgInsert,
    PgMessage,
    PgOrigin,
    PgRelation,
    PgRelationColumn,
    PgTruncate,
    PgTypeName,
    PgUpdate,
    Row,
    decode,
)
from kafkapy.connect.errors import DataException

GOLDEN: dict[str, PgMessage] = {
    "42 0000000001520A08 0002F4A1C5B3D000 000002E5": PgBegin(0x1520A08, 946684800000000 + 0x2F4A1C5B3D000, 741),
    "43 00 0000000001520A08 0000000001520A38 0000000000000001": PgCommit(0x1520A08, 0x1520A38, 946684800000001),
    "52 00004005 7075626C696300 6100 64 0002 01 696400 00000017 FFFFFFFF 00 6E00 00000413 00000009": PgRelation(
        0x4005,
        "public",
        "a",
        "d",
        (PgRelationColumn("id", 23, -1, True), PgRelationColumn("n", 1043, 9, False)),
    ),
    "59 00004010 7075626C696300 6D6F6F6400": PgTypeName(0x4010, "public", "mood"),
    "49 00004005 4E 0002 74 00000001 31 6E": PgInsert(0x4005, ("1", None)),
    "55 00004005 4B 0002 74 00000001 31 6E 4E 0002 74 00000001 32 75": PgUpdate(
        0x4005, ("2", UNCHANGED), key=("1", None)
    ),
    "55 00004005 4F 0001 74 00000001 31 4E 0001 62 00000001 00": PgUpdate(0x4005, (b"\0",), old=("1",)),
    "44 00004005 4B 0001 74 00000002 C3A4": PgDelete(0x4005, key=("ä",)),
    "54 00000002 03 00004005 00004006": PgTruncate((0x4005, 0x4006), True, True),
    "4D 01 0000000000000010 7000 00000002 6869": LogicalMessage(True, 16, "p", b"hi"),
    "4F 0000000000000010 7200": PgOrigin(16, "r"),
}


@pytest.mark.parametrize("text", GOLDEN)
def test_golden_bytes(text: str) -> None:
    data = bytes.fromhex(text)
    assert decode(data) == GOLDEN[text]
    for size in range(len(data)):
        with pytest.raises(DataException):
            decode(data[:size])
    with pytest.raises(DataException, match="too many"):
        decode(data + b"\0")


_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
_COLUMNS = st.one_of(st.none(), st.just(UNCHANGED), _TEXTS, st.binary())
_ROWS = st.lists(_COLUMNS, max_size=5).map(tuple)


def _column(value: ColumnText) -> bytes:
    if value is None:
        return b"n"
    if value is UNCHANGED:
        return b"u"
    data, kind = (value.encode(), b"t") if isinstance(value, str) else (value, b"b")
    assert isinstance(data, bytes)
    return kind + struct.pack(">I", len(data)) + data


def _row(row: Row) -> bytes:
    return struct.pack(">H", len(row)) + b"".join(map(_column, row))


@given(_ROWS, st.none() | _ROWS, st.booleans())
def test_rows_of_any_kind(new: Row, before: Row | None, is_full: bool) -> None:
    relation = struct.pack(">I", 7)
    assert decode(b"I" + relation + b"N" + _row(new)) == PgInsert(7, new)
    part = b"" if before is None else (b"O" if is_full else b"K") + _row(before)
    key, old = (None, before) if is_full else (before, None)
    assert decode(b"U" + relation + part + b"N" + _row(new)) == PgUpdate(7, new, key, old)
    if before is not None:
        assert decode(b"D" + relation + part) == PgDelete(7, key, old)


@given(st.binary(max_size=40))
def test_damage_is_an_error(data: bytes) -> None:
    try:
        decode(data)
    except DataException:
        return
