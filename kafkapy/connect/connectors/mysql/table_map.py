"""The structure of a table, as the binary log has it before changed rows (`binlog_row_metadata=FULL`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kafkapy.connect.connectors.mysql.byte_reader import ByteReader
from kafkapy.connect.connectors.mysql.column_types import MyColumn, MyTable
from kafkapy.connect.errors import ConnectException

_KINDS: Final = {
    1: "tinyint",
    2: "smallint",
    3: "int",
    4: "float",
    5: "double",
    7: "timestamp",
    8: "bigint",
    9: "mediumint",
    10: "date",
    11: "time",
    12: "datetime",
    13: "year",
    15: "varchar",
    16: "bit",
    17: "timestamp",
    18: "datetime",
    19: "time",
    245: "json",
    246: "decimal",
    247: "enum",
    248: "set",
    252: "blob",
    253: "varchar",
    254: "char",
    255: "geometry",
    140: "compressed blob",
    141: "compressed varchar",
}
_NUMBERS: Final = (1, 2, 3, 4, 5, 8, 9, 13, 246)
_TEXTS: Final = (15, 252, 253, 254, 140, 141)
_ENUM, _SET, _GEOMETRY, _STRING, _BINARY_CHARSET, _POINT = 247, 248, 255, 254, 63, 1
_TWO_BYTES: Final = (15, 16, 246, 247, 248, 253, 254, 141)
_ONE_BYTE: Final = (4, 5, 17, 18, 19, 245, 252, 255, 140)
_SIGNS, _CHARSET, _CHARSETS, _NAMES, _SETS, _ENUMS, _GEOMETRIES, _KEY, _PREFIX_KEY = range(1, 10)
_LABEL_CHARSET, _LABEL_CHARSETS = 10, 11


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """How a column is in rows.

    Attributes:
        type: The number of its type; strings that are enums or sets have those.
        meta: What belongs to the type: a length, digits, or a size.
        encoding: Python's name of the character set; None: bytes.
    """

    type: int
    meta: int
    encoding: str | None = None


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table of the events that follow. `stored`: one for each of the table's columns."""

    table_id: int
    table: MyTable
    stored: tuple[StoredColumn, ...]


def table_name(body: bytes) -> tuple[int, str, str]:
    """Return a table map's number, database and table."""
    reader = ByteReader(body)
    number, _ = reader.uint(6), reader.uint(2)
    database = reader.text().decode()
    reader.take(1)
    return number, database, reader.text().decode()


def decode_table_map(body: bytes, encoding_of: Callable[[int], str]) -> TableMap:
    """Read a table map.

    Args:
        body: Of the event.
        encoding_of: Returns Python's name of the encoding of a collation.

    Raises:
        ConnectException: The server's settings don't let it tell names of columns.
    """
    number, database, name = table_name(body)
    reader = ByteReader(body, 8)
    reader.text(), reader.take(1), reader.text(), reader.take(1)
    types = list(reader.take(reader.packed()))
    metas = _metas(types, reader.text())
    nullable = reader.take((len(types) + 7) // 8)
    more: dict[int, bytes] = {}
    while reader.left:
        kind = reader.uint(1)
        more[kind] = reader.text()
    if _NAMES not in more and types:
        raise ConnectException(
            f"The binary log does not name the columns of {database}.{name}: SET GLOBAL binlog_row_metadata = 'FULL'; "
            "changes before that cannot be captured: delete the connector's offsets, so that tables are read"
        )
    facts = _Facts(types, more, encoding_of)
    names = [text.decode() for text in _texts(more.get(_NAMES, b""))]
    columns, stored = [], []
    for place, type in enumerate(types):
        is_nullable = bool(nullable[place // 8] >> place % 8 & 1)
        encoding = facts.encodings.get(place)
        columns.append(_column(names[place], type, metas[place], is_nullable, facts, place))
        stored.append(StoredColumn(type, metas[place], encoding))
    key = tuple(names[place] for place in facts.key)
    return TableMap(number, MyTable(database, name, tuple(columns), key), tuple(stored))


def _column(name: str, type: int, meta: int, is_nullable: bool, facts: _Facts, place: int) -> MyColumn:
    kind, length, scale = _KINDS.get(type, f"type {type}"), 0, 0
    if type == 246:
        length, scale = meta & 0xFF, meta >> 8
    elif type == 16:
        length = (meta >> 8) * 8 + (meta & 0xFF)
    elif type in (17, 18, 19):
        length = meta
    elif type in _TEXTS and place not in facts.encodings:
        kind = {"char": "binary", "varchar": "varbinary"}.get(kind, kind)
        length = meta if kind == "binary" else 0
    elif kind == "blob":
        kind = "text"
    elif type == _GEOMETRY and facts.geometries.get(place) == _POINT:
        kind = "point"
    return MyColumn(name, kind, place in facts.unsigned, length, scale, facts.labels.get(place, ()), is_nullable)


def _metas(types: list[int], data: bytes) -> list[int]:
    """Read what belongs to the types; strings that are enums or sets get their type."""
    reader, metas = ByteReader(data), []
    for place, type in enumerate(types):
        meta = 0
        if type == _STRING:
            real, meta = reader.uint(1), reader.uint(1)
            if real & 0x30 != 0x30:  # the upper bits of the length are hidden there
                meta |= ((real & 0x30) ^ 0x30) << 4
                real |= 0x30
            types[place] = real
        elif type in _TWO_BYTES:
            meta = reader.uint(2)
        elif type in _ONE_BYTE:
            meta = reader.uint(1)
        metas.append(meta)
    return metas


class _Facts:
    """What the optional part tells of columns, by their places."""

    def __init__(self, types: Sequence[int], more: dict[int, bytes], encoding_of: Callable[[int], str]) -> None:
        places = [place for place, type in enumerate(types) if type in _NUMBERS]
        signs = more.get(_SIGNS, b"")
        self.unsigned = frozenset(
            place
            for number, place in enumerate(places)
            if number // 8 < len(signs) and signs[number // 8] >> 7 - number % 8 & 1
        )
        self.encodings: dict[int, str] = {}
        texts = [place for place, type in enumerate(types) if type in _TEXTS]
        labelled = [place for place, type in enumerate(types) if type in (_ENUM, _SET)]
        for chosen, one, many in ((texts, _CHARSET, _CHARSETS), (labelled, _LABEL_CHARSET, _LABEL_CHARSETS)):
            for place, collation in _collations(chosen, more.get(one), more.get(many)):
                if collation != _BINARY_CHARSET:
                    self.encodings[place] = encoding_of(collation)
        self.labels: dict[int, tuple[str, ...]] = {}
        for type, field in ((_ENUM, _ENUMS), (_SET, _SETS)):
            reader = ByteReader(more.get(field, b""))
            for place in (place for place, each in enumerate(types) if each == type):
                encoding = self.encodings.get(place, "utf-8")
                labels = [reader.text() for _ in range(reader.packed() if reader.left else 0)]
                self.labels[place] = tuple(label.decode(encoding, "replace") for label in labels)
        shapes = _numbers(more.get(_GEOMETRIES, b""))
        self.geometries = dict(
            zip((place for place, type in enumerate(types) if type == _GEOMETRY), shapes, strict=False)
        )
        self.key = tuple(_numbers(more.get(_KEY, b""))) or tuple(_numbers(more.get(_PREFIX_KEY, b"")))[::2]


def _collations(places: Sequence[int], one: bytes | None, many: bytes | None) -> Iterator[tuple[int, int]]:
    if many is not None:
        yield from zip(places, _numbers(many), strict=False)
    elif one is not None:
        numbers = list(_numbers(one))
        others = dict(zip(numbers[1::2], numbers[2::2], strict=True))
        for number, place in enumerate(places):
            yield place, others.get(number, numbers[0])


def _numbers(data: bytes) -> Iterator[int]:
    reader = ByteReader(data)
    while reader.left:
        yield reader.packed()


def _texts(data: bytes) -> Iterator[bytes]:
    reader = ByteReader(data)
    while reader.left:
        yield reader.text()
