"""Paths from times: the letters of Joda's `DateTimeFormat` that number days and hours."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from itertools import groupby
from typing import Final

from kafkapy.common.config_def import ConfigException

_FIELDS: Final[dict[str, Callable[[dt.datetime], int]]] = {
    "Y": lambda time: time.year,
    "y": lambda time: time.year,
    "x": lambda time: time.isocalendar().year,
    "M": lambda time: time.month,
    "w": lambda time: time.isocalendar().week,
    "D": lambda time: time.timetuple().tm_yday,
    "d": lambda time: time.day,
    "e": lambda time: time.isoweekday(),
    "H": lambda time: time.hour,
    "h": lambda time: time.hour % 12 or 12,
    "m": lambda time: time.minute,
    "s": lambda time: time.second,
    "S": lambda time: time.microsecond // 1000,
}
_NAMES: Final = {
    "M": list(calendar.month_name)[1:],
    "E": list(calendar.day_name),
}


class PathFormat:
    """A pattern of `path.format`.

    Args:
        pattern: Letters of Joda's patterns, and text in quotes. Names of months and days are English.

    Raises:
        ConfigException: It has another letter, or a quote is not closed.

    Example:
        >>> PathFormat("'year'=YYYY/'month'=MM").text(dt.datetime(2024, 2, 29))
        'year=2024/month=02'
    """

    def __init__(self, pattern: str) -> None:
        self._parts: list[str | tuple[str, int]] = []
        pieces = pattern.split("'")
        for index, piece in enumerate(pieces):
            if index % 2 or (not piece and 0 < index < len(pieces) - 1):
                self._parts.append(piece or "'")
                continue
            for letter, run in groupby(piece):
                size = len(list(run))
                if not letter.isalpha():
                    self._parts.append(letter * size)
                elif letter in _FIELDS or letter in _NAMES:
                    self._parts.append((letter, size))
                else:
                    raise ConfigException.invalid("path.format", pattern, f"The letter {letter} is not supported.")
        if pattern.count("'") % 2:
            raise ConfigException.invalid("path.format", pattern, "A quote is not closed.")

    def text(self, time: dt.datetime) -> str:
        """Return the path for a local time."""
        return "".join(part if isinstance(part, str) else _field(*part, time) for part in self._parts)


def _field(letter: str, size: int, time: dt.datetime) -> str:
    if letter == "E" or (letter == "M" and size > 2):
        name = _NAMES[letter][(time.weekday() if letter == "E" else time.month - 1)]
        return name if size > 3 else name[:3]
    number = _FIELDS[letter](time)
    if letter in "Yyx" and size == 2:
        number %= 100
    if letter == "S":
        return f"{number:03}"[:size].ljust(size, "0")
    return str(number).zfill(size)
