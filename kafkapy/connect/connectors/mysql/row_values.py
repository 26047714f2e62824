"""Values of changed rows: from the bytes of the binary log to plain values.

Plain values are int, float, Decimal, str, bytes; dates are days since 1970, times microseconds, also those of the day,
and dates that no calendar has (0000-00-00) are None.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from kafkapy.connect.connectors.debezium.iso_times import DAY_US
from kafkapy.connect.connectors.mysql.binary_json import json_text
from kafkapy.connect.connectors.mysql.byte_reader import ByteReader
from kafkapy.connect.connectors.mysql.column_types import INTEGERS, MyColumn
from kafkapy.connect.connectors.mysql.packed_values import calendar_days, read_packed_decimal
from kafkapy.connect.connectors.mysql.table_map import StoredColumn, TableMap
from kafkapy.connect.errors import DataException

_FRACTION_US: Final = (0, 10_000, 100, 1)
"""Microseconds of a fraction's unit, by its bytes."""
PlainRow = tuple[Any, ...]


def read_rows(table: TableMap, present: Sequence[bytes], data: bytes) -> list[PlainRow]:
    """Read all rows of an event.

    Args:
        table: Of the rows.
        present: Which columns the rows have, as bits; two where old and new rows alternate.
        data: Of the event.

    Raises:
        DataException: The rows lack columns, or are damaged.
    """
    width = len(table.stored)
    for bits in present:
        if any(not bits[place // 8] >> place % 8 & 1 for place in range(width)):
            raise DataException(
                f"A changed row of {table.table.database}.{table.table.name} lacks columns: "
                "SET GLOBAL binlog_row_image = 'FULL', and delete the connector's offsets, so that tables are read"
            )
    reader, rows = ByteReader(data), []
    while reader.left:
        nulls = reader.take((width + 7) // 8)
        rows.append(
            tuple(
                None if nulls[place // 8] >> place % 8 & 1 else read_value(reader, column, stored)
                for place, (column, stored) in enumerate(zip(table.table.columns, table.stored, strict=True))
            )
        )
    return rows


def read_value(reader: ByteReader, column: MyColumn, stored: StoredColumn) -> Any:
    """Read one value that is not NULL. Raises DataException."""
    kind, meta = column.kind, stored.meta
    if kind in INTEGERS:
        size = INTEGERS[kind]
        return reader.uint(size) if column.is_unsigned else reader.signed(size)
    match kind:
        case "float":
            return struct.unpack("<f", reader.take(4))[0]
        case "double":
            return struct.unpack("<d", reader.take(8))[0]
        case "decimal":
            return read_packed_decimal(reader, meta & 0xFF, meta >> 8)
        case "bit":
            return reader.big((column.length + 7) // 8)
        case "year":
            year = reader.uint(1)
            return year and 1900 + year
        case "enum":
            number = reader.uint(meta >> 8 if meta > 0xFF else meta & 0xFF)
            return column.labels[number - 1] if number else ""
        case "set":
            bits = reader.uint(meta >> 8 if meta > 0xFF else meta & 0xFF)
            return ",".join(label for place, label in enumerate(column.labels) if bits >> place & 1)
        case "date" | "time" | "datetime" | "timestamp":
            return _moment(reader, stored.type, meta)
    return _text(reader, column, stored)


def _text(reader: ByteReader, column: MyColumn, stored: StoredColumn) -> Any:
    match stored.type:
        case 15 | 253 | 254:
            data = reader.take(reader.uint(2 if stored.meta > 255 else 1))
        case 245 | 252 | 255:
            data = reader.take(reader.uint(stored.meta))
        case _:
            raise DataException(f"Column {column.name} has the type {column.kind}, which cannot be read")
    if column.kind == "json":
        return json_text(data)
    if stored.encoding is None:
        return data.ljust(column.length, b"\0") if column.kind == "binary" else data
    return data.decode(stored.encoding, "replace")


def _moment(reader: ByteReader, type: int, digits: int) -> int | None:
    match type:
        case 10:
            number = reader.uint(3)
            return calendar_days(number >> 9, number >> 5 & 15, number & 31)
        case 7:
            return reader.uint(4) * 1_000_000 or None
        case 17:
            seconds, fraction = reader.big(4), _fraction(reader, digits)
            return seconds * 1_000_000 + fraction or None
        case 18:
            number, fraction = reader.big(5) - 0x8000000000, _fraction(reader, digits)
            months = number >> 22
            days = calendar_days(months // 13, months % 13, number >> 17 & 31)
            seconds = (number >> 12 & 31) * 3600 + (number >> 6 & 63) * 60 + (number & 63)
            return None if days is None else days * DAY_US + seconds * 1_000_000 + fraction
        case 19:
            size = (digits + 1) // 2
            number = reader.big(3 + size) - (0x800000 << 8 * size)
            whole, fraction = divmod(abs(number), 1 << 8 * size)
            seconds = (whole >> 12 & 0x3FF) * 3600 + (whole >> 6 & 63) * 60 + (whole & 63)
            us = seconds * 1_000_000 + fraction * _FRACTION_US[size]
            return -us if number < 0 else us
        case 12:
            day, clock = divmod(reader.uint(8), 1_000_000)
            days = calendar_days(day // 10000, day // 100 % 100, day % 100)
            return None if days is None else days * DAY_US + _clock(clock) * 1_000_000
        case _:
            number = reader.signed(3)
            return (-1 if number < 0 else 1) * _clock(abs(number)) * 1_000_000


def _clock(number: int) -> int:
    """Seconds of a time that is written as HHMMSS."""
    return number // 10000 * 3600 + number // 100 % 100 * 60 + number % 100


def _fraction(reader: ByteReader, digits: int) -> int:
    """Microseconds of a fraction of a second."""
    size = (digits + 1) // 2
    return reader.big(size) * _FRACTION_US[size]
