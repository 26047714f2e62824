"""Values of queries: from the texts of the server to the same plain values as those of the binary log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from kafkapy.connect.connectors.debezium.iso_times import DAY_US
from kafkapy.connect.connectors.mysql.column_types import INTEGERS, MyColumn, MyTable
from kafkapy.connect.connectors.mysql.packed_values import calendar_days

_DATE: Final = re.compile(r"(\d+)-(\d+)-(\d+)")
_TIME: Final = re.compile(r"(-?)(\d+):(\d+):(\d+)(?:\.(\d+))?")


def read_text(table: MyTable, texts: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of plain values.

    Args:
        table: Whose columns were queried, in order.
        texts: What the server has sent.
    """
    return tuple(
        None if text is None else _plain(column, text) for column, text in zip(table.columns, texts, strict=True)
    )


def _plain(column: MyColumn, text: Any) -> Any:
    kind = column.kind
    if kind in INTEGERS or kind == "year":
        return int(text)
    match kind:
        case "float" | "double":
            return float(text)
        case "decimal":
            return Decimal(text)
        case "bit":
            return int.from_bytes(text, "big")
        case "date":
            return _days(text)
        case "time":
            return _time_us(text)
        case "datetime" | "timestamp":
            days = _days(text)
            return None if days is None else days * DAY_US + _time_us(text.partition(" ")[2])
    return text


def _days(text: str) -> int | None:
    found = _DATE.match(text)
    return None if found is None else calendar_days(*(int(part) for part in found.groups()))


def _time_us(text: str) -> int:
    found = _TIME.match(text)
    if found is None:
        raise ValueError(f"{text!r} is no time")
    hours, minutes, seconds = (int(found[number]) for number in (2, 3, 4))
    us = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + int((found[5] or "").ljust(6, "0"))
    return -us if found[1] else us
