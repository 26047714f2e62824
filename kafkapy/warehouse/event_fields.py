"""Extracts an event's id and time from fields of its value, if the configuration names them.

| | types | a value that has none |
| --- | --- | --- |
| id | text, whole number, bytes | is an event of its own: its place is its id |
| time | timestamp; whole number (milliseconds since 1970); text as in RFC 3339, with an offset | goes to the quarantine |

Values of a schema that has no such field, or one of another type, go to the quarantine: a name that is not spelled right shows.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

from kafkapy.warehouse.envelope import id_texts

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MS = (2**63 - 1) // 1000


class EventFields(NamedTuple):
    """Paths of fields, with dots for nested ones; empty: the record's header and timestamp are used."""

    id: str = ""
    time: str = ""

    def objection(self, type: pa.DataType) -> str | None:
        """Return why values of this type have no such id or time; None if they have."""
        for what, path, fits in (("id_field", self.id, _can_be_id), ("time_field", self.time, _can_be_time)):
            if path:
                found = _type_at(type, path)
                if found is None:
                    return f"it has no field {path}, which {what} names"
                if not fits(found):
                    return f"its field {path} is {found}, which cannot be what {what} names"
        return None

    def ids(self, rows: pa.StructArray) -> pa.Array:
        """Return ids as text, null if there is none."""
        found = _column_at(rows, self.id)
        return id_texts(found.cast(pa.string()).cast(pa.binary()) if pa.types.is_integer(found.type) else found)

    def times(self, rows: pa.StructArray) -> tuple[Any, dict[int, str]]:
        """Return times in microseconds, and the reason for rows without one."""
        found = _column_at(rows, self.time)
        without = pc.indices_nonzero(found.is_null()).to_pylist()
        reasons: dict[int, str] = dict.fromkeys(without, f"its field {self.time} has no time")
        if pa.types.is_string(found.type):
            texts = found.to_pylist()
            times = np.zeros(len(texts), np.int64)
            for row, text in enumerate(texts):
                if text is not None:
                    try:
                        times[row] = _microseconds(text)
                    except (ValueError, OverflowError):
                        reasons[row] = f"its field {self.time} is no time as in RFC 3339, with an offset: {text[:60]!r}"
            return times, reasons
        if pa.types.is_timestamp(found.type):
            return found.view(pa.int64()).fill_null(0).to_numpy(), reasons
        numbers = found.cast(pa.int64()).fill_null(0).to_numpy()
        beyond = np.flatnonzero(np.abs(numbers // 2) > _MOST_MS // 2)
        reasons |= {int(row): f"its field {self.time} is no time in milliseconds: {numbers[row]}" for row in beyond}
        return np.clip(numbers, -_MOST_MS, _MOST_MS) * 1000, reasons


def _microseconds(text: str) -> int:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None or len(text) < len("2026-11-24T00:00Z"):
        raise ValueError
    return (found - _EPOCH) // timedelta(microseconds=1)


def _can_be_id(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_integer(type) or pa.types.is_binary(type))


def _can_be_time(type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type) or pa.types.is_integer(type) or pa.types.is_string(type))


def _type_at(type: pa.DataType, path: str) -> pa.DataType | None:
    steps = _steps(type, path)
    for index in steps or ():
        type = type.field(index).type
    return None if steps is None else type


def _column_at(rows: pa.StructArray, path: str) -> pa.Array:
    found: pa.Array = rows
    for index in _steps(rows.type, path) or ():
        found = found.flatten()[index]
    return found


def _steps(type: pa.DataType, path: str) -> list[int] | None:
    """Return the indexes of the fields on a path; None if it does not exist. Names may contain dots."""
    if not pa.types.is_struct(type):
        return None
    for index, field in enumerate(type):
        if field.name == path:
            return [index]
        if path.startswith(f"{field.name}."):
            rest = _steps(field.type, path[len(field.name) + 1 :])
            if rest is not None:
                return [index, *rest]
    return None
