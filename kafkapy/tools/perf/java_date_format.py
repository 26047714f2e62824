"""Formats times by patterns of Java's `SimpleDateFormat`, in the local time zone and in English."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")

Field = Callable[[datetime, int], str]
"""The text of a field: a letter and how often it is repeated."""


def _number(value: Callable[[datetime], int]) -> Field:
    return lambda time, width: str(value(time)).zfill(width)


def _year(time: datetime, width: int) -> str:
    return f"{time.year % 100:02}" if width == 2 else str(time.year).zfill(width)


def _name(names: Sequence[str], value: Callable[[datetime], int], numbers_below: int) -> Field:
    """A name from four letters on, otherwise its first three letters; a number below `numbers_below` letters."""

    def show(time: datetime, width: int) -> str:
        index = value(time)
        if width < numbers_below:
            return str(index + 1).zfill(width)
        return names[index] if width >= 4 else names[index][:3]

    return show


def _offset(time: datetime, width: int) -> str:
    """The zone of RFC 822: +0100."""
    return time.strftime("%z")[:5]


def _iso_offset(time: datetime, width: int) -> str:
    text = time.strftime("%z")[:5]
    if text in ("+0000", ""):
        return "Z"
    return {1: text[:3], 2: text}.get(width, f"{text[:3]}:{text[3:]}")


_FIELDS: dict[str, Field] = {
    "G": lambda time, width: "AD",
    "y": _year,
    "M": _name(_MONTHS, lambda time: time.month - 1, 3),
    "L": _name(_MONTHS, lambda time: time.month - 1, 3),
    "d": _number(lambda time: time.day),
    "D": _number(lambda time: time.timetuple().tm_yday),
    "E": _name(_DAYS, lambda time: time.weekday(), 0),
    "u": _number(lambda time: time.isoweekday()),
    "a": lambda time, width: "AM" if time.hour < 12 else "PM",
    "H": _number(lambda time: time.hour),
    "k": _number(lambda time: time.hour or 24),
    "K": _number(lambda time: time.hour % 12),
    "h": _number(lambda time: time.hour % 12 or 12),
    "m": _number(lambda time: time.minute),
    "s": _number(lambda time: time.second),
    "S": _number(lambda time: time.microsecond // 1000),
    "z": lambda time, width: time.tzname() or "",
    "Z": _offset,
    "X": _iso_offset,
}


def date_format(pattern: str) -> Callable[[float], str]:
    """A function from ms since the epoch to text. Raises ValueError for an invalid pattern."""
    parts: list[str | tuple[Field, int]] = []
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            raise ValueError("Unterminated quote")
        position = match.end()
        if match[1] is not None:
            parts.append(match[1].replace("''", "'") or "'")
        elif match[2] is None:
            parts.append(match[0])
        elif match[2] in _FIELDS:
            parts.append((_FIELDS[match[2]], len(match[0])))
        else:
            raise ValueError(f"Illegal pattern character '{match[2]}'")

    def show(milliseconds: float) -> str:
        time = datetime.fromtimestamp(milliseconds / 1000).astimezone()
        return "".join(part if isinstance(part, str) else part[0](time, part[1]) for part in parts)

    return show
