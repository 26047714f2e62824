"""Times as Java writes them."""

from __future__ import annotations

import datetime as dt
from typing import Final

US: Final = 1_000_000
DAY_US: Final = 86_400 * US
ERA_DAYS: Final = 146_097
"""Days of 400 years: the calendar repeats."""
EPOCH: Final = dt.date(1970, 1, 1).toordinal()


def iso_timestamp(us: int, digits: int) -> str:
    """Return microseconds since 1970 as Java writes a time in UTC; `digits`: of the fraction.

    Example:
        >>> iso_timestamp(1_500_000, 6)
        '1970-01-01T00:00:01.500000Z'
    """
    days, rest = divmod(us, DAY_US)
    eras, day_of_era = divmod(days + EPOCH - 1, ERA_DAYS)
    date = dt.date.fromordinal(day_of_era + 1)
    year = date.year + eras * 400
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{date.month:02d}-{date.day:02d}T{_iso_time(rest, digits)}Z"


def iso_time(us: int) -> str:
    """Return a time of day in UTC as Java writes it, with the digits of the fraction that it needs.

    Example:
        >>> iso_time(1_500_000)
        '00:00:01.5Z'
    """
    text = _iso_time(us % DAY_US, 6).rstrip("0").rstrip(".") if us % US else _iso_time(us % DAY_US, 0)
    return f"{text}Z"


def _iso_time(us: int, digits: int) -> str:
    seconds, fraction = divmod(us, US)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}"[: len(text) + 1 + digits] if digits else text
