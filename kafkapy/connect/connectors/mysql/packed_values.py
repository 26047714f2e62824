"""Dates and decimals in the server's own form."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Final

from kafkapy.connect.connectors.debezium.iso_times import EPOCH
from kafkapy.connect.connectors.mysql.byte_reader import ByteReader

_DIGIT_BYTES: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def calendar_days(year: int, month: int, day: int) -> int | None:
    """Return the days since 1970; None: no calendar has that date."""
    try:
        return dt.date(year, month, day).toordinal() - EPOCH
    except ValueError:
        return None


def read_packed_decimal(reader: ByteReader, precision: int, scale: int) -> Decimal:
    """Read a decimal: groups of nine digits, the most significant first; a negative number has all bits turned."""
    whole = precision - scale
    size = whole // 9 * 4 + _DIGIT_BYTES[whole % 9] + scale // 9 * 4 + _DIGIT_BYTES[scale % 9]
    data = bytearray(reader.take(size))
    is_negative = not data[0] & 0x80
    data[0] ^= 0x80
    if is_negative:
        data = bytearray(byte ^ 0xFF for byte in data)
    parts, groups = ByteReader(bytes(data)), []
    for digits in (whole % 9, *[9] * (whole // 9 + scale // 9), scale % 9):
        if digits:
            groups.append(f"{parts.big(_DIGIT_BYTES[digits]):0{digits}d}")
    number = int("".join(groups) or "0")
    sign = 1 if is_negative and number else 0
    return Decimal((sign, tuple(int(digit) for digit in str(number)), -scale))
