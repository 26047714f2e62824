"""Columns of a query's result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from kafkapy.connect.connectors.sql.column_schemas import ColumnSchema, ColumnTypes
from kafkapy.connect.connectors.sql.database import Database

_MYSQL: Final[dict[int, Any]] = {
    1: mysql.TINYINT(),
    2: sa.SMALLINT(),
    3: sa.Integer(),
    4: mysql.FLOAT(),
    5: mysql.DOUBLE(),
    7: mysql.TIMESTAMP(),
    8: sa.BIGINT(),
    9: mysql.MEDIUMINT(),
    10: sa.Date(),
    11: sa.Time(),
    12: sa.DateTime(),
    13: sa.SMALLINT(),
    16: mysql.BIT(),
}
"""By the protocol's numbers."""
_MYSQL_DECIMALS: Final = (0, 246)
_MYSQL_BLOBS: Final = range(249, 253)
_MYSQL_TEXTS: Final = (*_MYSQL_BLOBS, 15, 253, 254)
_MYSQL_INTEGERS: Final[dict[int, Any]] = {
    1: mysql.TINYINT,
    2: mysql.SMALLINT,
    3: mysql.INTEGER,
    8: mysql.BIGINT,
    9: mysql.MEDIUMINT,
}
_UNSIGNED: Final = 32
_BINARY: Final = 63
"""The number of the character set of bytes."""
_POSTGRESQL: Final[dict[str, Any]] = {
    "boolean": sa.Boolean(),
    "smallint": sa.SMALLINT(),
    "integer": sa.Integer(),
    "bigint": sa.BIGINT(),
    "real": sa.REAL(),
    "double precision": sa.DOUBLE_PRECISION(),
    "date": sa.Date(),
    "time without time zone": sa.Time(),
    "time with time zone": sa.Time(),
    "timestamp without time zone": sa.DateTime(),
    "timestamp with time zone": sa.DateTime(),
    "bytea": sa.LargeBinary(),
}


def query_columns(
    database: Database, result: Any, names: Sequence[str], types: ColumnTypes
) -> list[tuple[str, ColumnSchema]]:
    """Return the columns of a result, all optional; none if the driver does not tell their types.

    Args:
        database: Where it comes from.
        result: Open, of SQLAlchemy.
        names: Of its columns.
        types: Chooses the schemas.
    """
    kinds: list[Any] = []
    description = result.cursor.description
    if database.kind == "postgresql":
        known = result.cursor.connection.adapters.types
        kinds = [_postgresql_type(known, each) for each in description]
    elif database.is_mysql:
        fields = getattr(getattr(result.cursor, "_result", None), "fields", None) or [None] * len(description)
        kinds = [_mysql_type(*each) for each in zip(description, fields, strict=True)]
    return [(name, types.of_type(kind, True)) for name, kind in zip(names, kinds, strict=False)]


def _postgresql_type(known: Any, column: Any) -> Any:
    info = known.get(column.type_code)
    if info is None or info.oid != column.type_code:  # the type of an array's elements
        return sa.Text()
    name = getattr(info, "regtype", "") or getattr(info, "name", "")
    if name == "numeric":
        return sa.Numeric(column.precision, column.scale)
    return _POSTGRESQL.get(name, sa.Text())


def _mysql_type(column: Sequence[Any], field: Any) -> Any:
    """The type; `field`: what the driver has read about the column, None if it does not tell."""
    code, precision, scale = column[1], column[4], column[5]
    if code in _MYSQL_DECIMALS:
        return sa.Numeric(precision, scale)
    if code in _MYSQL_INTEGERS and field is not None and field.flags & _UNSIGNED:
        return _MYSQL_INTEGERS[code](unsigned=True)
    if code in _MYSQL_TEXTS:
        is_binary = code in _MYSQL_BLOBS if field is None else field.charsetnr == _BINARY
        return sa.LargeBinary() if is_binary else sa.Text()
    return _MYSQL.get(code, sa.Text())
