"""Formats and reads times by patterns of Java's `SimpleDateFormat`, in English.

Days before 1582-10-15 are those of the Julian calendar, as in Java's `GregorianCalendar`; years may have any number of
digits.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

MONTHS: Final = [
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
DAYS: Final = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")
_DAY_MS: Final = 86_400_000
_CUT_OVER: Final = -141_427
"""The first day of the Gregorian calendar, 1582-10-15, in days since 1970."""
_EPOCH_DAY: Final = 719_468
"""Days from 0000-03-01 (Gregorian) to 1970-01-01; the Julian 0000-03-01 is two days earlier."""

Offset = Callable[[int], tuple[int, str]]
"""A zone: from ms since 1970 in UTC to its distance from UTC in seconds and its name."""


def utc(ms: int) -> tuple[int, str]:
    """The zone UTC."""
    return 0, "UTC"


def local(ms: int) -> tuple[int, str]:
    """The process's zone. Times that the platform cannot convert are in its present offset."""
    try:
        moment = time.localtime(ms // 1000)
    except (OverflowError, OSError, ValueError):
        moment = time.localtime(0)
    return moment.tm_gmtoff, moment.tm_zone


class _Moment(NamedTuple):
    era: int
    year: int
    month: int
    day: int
    day_of_year: int
    weekday: int
    ms_of_day: int
    offset: int
    zone: str

    @property
    def hour(self) -> int:
        return self.ms_of_day // 3_600_000


Field = Callable[[_Moment, int], str]
"""The text of a field: a letter and how often it is repeated."""


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Convert days since 1970 to year (0 is 1 BC), month and day."""
    julian = days < _CUT_OVER
    shifted = days + _EPOCH_DAY + (2 if julian else 0)
    if julian:
        year, of_year = divmod(4 * shifted + 3, 1461)
        of_year //= 4
    else:
        era, of_era = divmod(shifted, 146_097)
        of_cycle = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
        year, of_year = of_cycle + era * 400, of_era - (365 * of_cycle + of_cycle // 4 - of_cycle // 100)
    shifted_month = (5 * of_year + 2) // 153
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return year + (month <= 2), month, of_year - (153 * shifted_month + 2) // 5 + 1


def days_from_civil(year: int, month: int, day: int) -> int:
    """Convert year (0 is 1 BC), month and day to days since 1970; months and days may be out of range."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    shifted_year = year - (month <= 2)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    gregorian = 365 * shifted_year + shifted_year // 4 - shifted_year // 100 + shifted_year // 400 + of_year
    days = gregorian - _EPOCH_DAY
    return days if days >= _CUT_OVER else 365 * shifted_year + shifted_year // 4 + of_year - _EPOCH_DAY - 2


def _moment(ms: int, offset: Offset) -> _Moment:
    seconds, zone = offset(ms)
    days, of_day = divmod(ms + seconds * 1000, _DAY_MS)
    year, month, day = civil_from_days(days)
    era = 1 if year > 0 else 0
    of_year = days - days_from_civil(year, 1, 1) + 1
    return _Moment(era, year if era else 1 - year, month, day, of_year, (days + 3) % 7, of_day, seconds, zone)


def _number(value: Callable[[_Moment], int]) -> Field:
    return lambda moment, width: str(value(moment)).zfill(width)


def _year(moment: _Moment, width: int) -> str:
    return f"{moment.year % 100:02}" if width == 2 else str(moment.year).zfill(width)


def _name(names: Sequence[str], value: Callable[[_Moment], int], numbers_below: int) -> Field:
    """A name from four letters on, otherwise its first three letters; a number below `numbers_below` letters."""

    def show(moment: _Moment, width: int) -> str:
        index = value(moment)
        if width < numbers_below:
            return str(index + 1).zfill(width)
        return names[index] if width >= 4 else names[index][:3]

    return show


def _zone_text(seconds: int, colon: bool = False) -> str:
    minutes = abs(seconds) // 60
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02}{':' if colon else ''}{minutes % 60:02}"


def _iso_offset(moment: _Moment, width: int) -> str:
    if moment.offset == 0:
        return "Z"
    text = _zone_text(moment.offset, width == 3)
    return text[:3] if width == 1 else text


def _week_of_month(moment: _Moment) -> int:
    """Weeks begin on Sundays; the first one may be short."""
    first = (moment.weekday + 1 - (moment.day - 1)) % 7
    return (moment.day - 1 + first) // 7 + 1


def _week_year(moment: _Moment) -> tuple[int, int]:
    """Week and its year: week 1 is the one that holds January 1, weeks begin on Sundays."""
    days = days_from_civil(moment.year, moment.month, moment.day)
    saturday = days + (5 - moment.weekday) % 7
    year = civil_from_days(saturday)[0]
    return (saturday - days_from_civil(year, 1, 1)) // 7 + 1, year


_FIELDS: dict[str, Field] = {
    "G": lambda moment, width: ("BC", "AD")[moment.era],
    "y": _year,
    "Y": lambda moment, width: _year(moment._replace(year=_week_year(moment)[1]), width),
    "M": _name(MONTHS, lambda moment: moment.month - 1, 3),
    "L": _name(MONTHS, lambda moment: moment.month - 1, 3),
    "w": _number(lambda moment: _week_year(moment)[0]),
    "W": _number(_week_of_month),
    "d": _number(lambda moment: moment.day),
    "D": _number(lambda moment: moment.day_of_year),
    "F": _number(lambda moment: (moment.day - 1) // 7 + 1),
    "E": _name(DAYS, lambda moment: moment.weekday, 0),
    "u": _number(lambda moment: moment.weekday + 1),
    "a": lambda moment, width: "AM" if moment.hour < 12 else "PM",
    "H": _number(lambda moment: moment.hour),
    "k": _number(lambda moment: moment.hour or 24),
    "K": _number(lambda moment: moment.hour % 12),
    "h": _number(lambda moment: moment.hour % 12 or 12),
    "m": _number(lambda moment: moment.ms_of_day // 60_000 % 60),
    "s": _number(lambda moment: moment.ms_of_day // 1000 % 60),
    "S": _number(lambda moment: moment.ms_of_day % 1000),
    "z": lambda moment, width: "Coordinated Universal Time" if width >= 4 and moment.zone == "UTC" else moment.zone,
    "Z": lambda moment, width: _zone_text(moment.offset),
    "X": _iso_offset,
}


@lru_cache(64)
def pattern_parts(pattern: str) -> tuple[str | tuple[str, int], ...]:
    """Texts, and letters with how often they are repeated. Raises ValueError for an invalid pattern."""
    parts: list[str | tuple[str, int]] = []
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
        elif match[2] not in _FIELDS:
            raise ValueError(f"Illegal pattern character '{match[2]}'")
        elif match[2] == "X" and len(match[0]) > 3:
            raise ValueError(f"invalid ISO 8601 format: length={len(match[0])}")
        else:
            parts.append((match[2], len(match[0])))
    return tuple(parts)


def date_format(pattern: str, zone: Offset = local) -> Callable[[float], str]:
    """Return a function from ms since the epoch to text.

    Args:
        pattern: Of `SimpleDateFormat`.
        zone: Default: the process's.

    Raises:
        ValueError: The pattern is invalid.

    Example:
        >>> date_format("yyyy-MM-dd", utc)(0)
        '1970-01-01'
    """
    parts = pattern_parts(pattern)

    def show(milliseconds: float) -> str:
        moment = _moment(int(milliseconds // 1), zone)
        return "".join(part if isinstance(part, str) else _FIELDS[part[0]](moment, part[1]) for part in parts)

    return show


def java_date(ms: int, zone: Offset = local) -> str:
    """Return the text of `java.util.Date.toString`.

    Args:
        ms: Since 1970 in UTC.
        zone: Default: the process's.

    Example:
        >>> java_date(0, utc)
        'Thu Jan 01 00:00:00 UTC 1970'
    """
    return date_format("EEE MMM dd HH:mm:ss zzz yyyy", zone)(ms)
