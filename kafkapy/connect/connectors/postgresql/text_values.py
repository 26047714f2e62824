"""Reads the text in which PostgreSQL writes values: arrays, times, intervals, hstore and others.

The sessions of the connector have `DateStyle` ISO, `IntervalStyle` postgres, time zone UTC and `bytea_output` hex.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from kafkapy.connect.connectors.debezium.iso_times import DAY_US, EPOCH, ERA_DAYS, US

POSITIVE_INFINITY_US: Final = 9_223_372_036_825_200_000
"""What Debezium has for `infinity` in microseconds."""
NEGATIVE_INFINITY_US: Final = -9_223_372_036_832_400_000
_INFINITIES: Final = {"infinity": POSITIVE_INFINITY_US, "-infinity": NEGATIVE_INFINITY_US}
_INFINITE_DAYS: Final = {"infinity": 2**31 - 1, "-infinity": -(2**31)}
_DATE: Final = re.compile(r"(\d+)-(\d\d)-(\d\d)( BC)?")
_TIME: Final = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?([+-]\d\d(?::\d\d){0,2})?")

ArrayText = list["str | ArrayText | None"]


def parse_days(text: str) -> int:
    """Return a date as days since 1970.

    Args:
        text: Of a date, also one before the year 1 (`BC`), after 9999, or infinity.

    Raises:
        ValueError: It is no date.

    Example:
        >>> parse_days("1970-01-03"), parse_days("0001-01-01 BC")
        (2, -719528)
    """
    if text in _INFINITE_DAYS:
        return _INFINITE_DAYS[text]
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no date")
    year = int(found[1])
    if found[4]:
        year = 1 - year
    eras, year_of_era = divmod(year - 1, 400)
    return dt.date(year_of_era + 1, int(found[2]), int(found[3])).toordinal() + eras * ERA_DAYS - EPOCH


def parse_time_us(text: str) -> int:
    """Return a time of day, or an interval's part of time, in microseconds; with a zone (`13:00:00+02`) in UTC.

    Args:
        text: Hours to seconds, `24:00:00` included.

    Raises:
        ValueError: It is no time.

    Example:
        >>> parse_time_us("00:00:01.5"), parse_time_us("13:00:00+02") // 3_600_000_000
        (1500000, 11)
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no time")
    time = (int(found[1]) * 60 + int(found[2])) * 60 + int(found[3])
    fraction = int((found[4] or "").ljust(6, "0"))
    return (time - _zone_seconds(found[5])) * US + fraction


def _zone_seconds(text: str | None) -> int:
    if not text:
        return 0
    parts = [int(part) for part in text[1:].split(":")] + [0, 0]
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2]
    return -seconds if text[0] == "-" else seconds


def parse_timestamp_us(text: str) -> int:
    """Return a timestamp, with or without a zone, in microseconds since 1970.

    Args:
        text: As PostgreSQL writes it with `DateStyle` ISO.

    Raises:
        ValueError: It is no timestamp.

    Example:
        >>> parse_timestamp_us("1970-01-01 00:00:01+00"), parse_timestamp_us("infinity")
        (1000000, 9223372036825200000)
    """
    if text in _INFINITIES:
        return _INFINITIES[text]
    era = " BC" if text.endswith(" BC") else ""
    date, _, time = text.removesuffix(" BC").partition(" ")
    return parse_days(date + era) * DAY_US + parse_time_us(time)


def parse_interval(text: str) -> tuple[int, int, int]:
    """Return an interval as months, days and microseconds.

    Args:
        text: As PostgreSQL writes it with `IntervalStyle` postgres.

    Raises:
        ValueError: It is no interval.

    Example:
        >>> parse_interval("1 year 2 mons -3 days -04:05:06.5")
        (14, -3, -14706500000)
    """
    months = days = us = 0
    words = text.split()
    while words:
        word = words.pop(0)
        if ":" in word:
            hours, _, rest = word.lstrip("+-").partition(":")
            size = int(hours) * 3600 * US + parse_time_us(f"00:{rest}")
            us += -size if word[0] == "-" else size
            continue
        count, unit = int(word), words.pop(0) if words else ""
        if unit.startswith("year"):
            months += 12 * count
        elif unit.startswith("mon"):
            months += count
        elif unit.startswith("day"):
            days += count
        else:
            raise ValueError(f"{text!r} is no interval")
    return months, days, us


def interval_us(months: int, days: int, us: int) -> int:
    """Return an interval in microseconds; a month has 365.25 / 12 days, as Debezium counts."""
    return round(months * 365.25 / 12 * DAY_US) + days * DAY_US + us


def interval_iso(months: int, days: int, us: int) -> str:
    """Return an interval in Debezium's form of ISO 8601.

    Example:
        >>> interval_iso(14, 3, 14706500000)
        'P1Y2M3DT4H5M6.5S'
    """
    direction = -1 if months < 0 else 1
    years, months = direction * (abs(months) // 12), direction * (abs(months) % 12)
    sign, size = ("-", -us) if us < 0 else ("", us)
    seconds, fraction = divmod(size, US)
    shown = f"{seconds % 60}.{fraction:06d}".rstrip("0").rstrip(".") if fraction else str(seconds % 60)
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = [f"{sign if part != '0' else ''}{part}" for part in (str(hours), str(minutes), shown)]
    return f"P{years}Y{months}M{days}DT{parts[0]}H{parts[1]}M{parts[2]}S"


def parse_array(text: str, delimiter: str = ",") -> ArrayText:
    """Return the elements of an array; those of more dimensions are lists in lists.

    Args:
        text: As PostgreSQL writes it. delimiter: Between elements; `;` for boxes.

    Raises:
        ValueError: It is no array.

    Example:
        >>> parse_array('{1,NULL,"a \\\\"b\\\\",{}"}'), parse_array("[0:1]={{a},{b}}")
        (['1', None, 'a "b",{}'], [['a'], ['b']])
    """
    start = text.index("{")  # bounds may come first
    stack: list[ArrayText] = []
    token, is_quoted, at = [], False, start
    while at < len(text):
        char = text[at]
        at += 1
        if char == '"':
            is_quoted = True
            while text[at] != '"':
                at += text[at] == "\\"
                token.append(text[at])
                at += 1
            at += 1
        elif char == "{":
            stack.append([])
        elif char == "}" or char == delimiter:
            if token or is_quoted:
                word = "".join(token)
                stack[-1].append(None if word == "NULL" and not is_quoted else word)
                token, is_quoted = [], False
            if char == "}":
                done = stack.pop()
                if not stack:
                    return done
                stack[-1].append(done)
        else:
            token.append(char)
    raise ValueError(f"{text[:64]!r} is no array")


_HSTORE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|NULL)(?:, )?', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)


def parse_hstore(text: str) -> dict[str, str | None]:
    """Return the pairs of an hstore.

    Args:
        text: As PostgreSQL writes it.

    Raises:
        ValueError: It is none.

    Example:
        >>> parse_hstore('"a"=>"1", "b"=>NULL')
        {'a': '1', 'b': None}
    """
    pairs: dict[str, str | None] = {}
    at = 0
    while at < len(text):
        found = _HSTORE.match(text, at)
        if found is None:
            raise ValueError(f"{text[:64]!r} is no hstore")
        pairs[_ESCAPE.sub(r"\1", found[1])] = None if found[2] is None else _ESCAPE.sub(r"\1", found[2])
        at = found.end()
    return pairs


def parse_bits(text: str) -> bytes:
    """Return a bit string as bytes, the least significant first, as Debezium does.

    Example:
        >>> parse_bits("100000001").hex()
        '0101'
    """
    return int(text or "0", 2).to_bytes((len(text) + 7) // 8, "little")


def parse_bytea(text: str) -> bytes:
    """Return the bytes of a bytea in hex format. Raises ValueError.

    Example:
        >>> parse_bytea(r"\\x6162")
        b'ab'
    """
    if not text.startswith("\\x"):
        raise ValueError("bytea_output is not hex")
    return bytes.fromhex(text[2:])
