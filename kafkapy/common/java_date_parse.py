"""Reads times by patterns of Java's `SimpleDateFormat`, leniently as Java does by default, in English.

Fields of weeks and weekdays are read, but a date is made of its year, month and day, or of the day of the year.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from kafkapy.common.java_date_format import DAYS, MONTHS, Offset, days_from_civil, local, pattern_parts

_NUMBER = re.compile(r"-?\d+")
_ZONE = re.compile(r"(?:GMT)?([+-])(\d\d?)(?::?(\d\d))?")
_ISO_ZONES = {
    1: re.compile(r"([+-])(\d\d)()"),
    2: re.compile(r"([+-])(\d\d)(\d\d)"),
    3: re.compile(r"([+-])(\d\d):(\d\d)"),
}
_NAMED_ZONES = {
    "UTC": 0,
    "GMT": 0,
    "UT": 0,
    "EST": -18_000,
    "EDT": -14_400,
    "CST": -21_600,
    "CDT": -18_000,
    "MST": -25_200,
    "MDT": -21_600,
    "PST": -28_800,
    "PDT": -25_200,
    "CET": 3600,
    "CEST": 7200,
}
_NEVER_ABUTTING = "GEazZX"
_CENTURY_BEGINS = 80
"""A year of two digits lies less than so many years ago, or up to 20 ahead."""


class _DateReader:
    """Reads fields of one text; `position` is where the next one begins, `values` are those that were read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.values: dict[str, int] = {}

    def literal(self, text: str) -> bool:
        if not self.text.startswith(text, self.position):
            return False
        self.position += len(text)
        return True

    def field(self, letter: str, width: int, abutting: bool) -> bool:
        while self.position < len(self.text) and self.text[self.position] in " \t":
            self.position += 1
        if self.position >= len(self.text):
            return False
        if letter in "ML" and width > 2:
            return self._name("M", MONTHS, 1)
        match letter:
            case "E":
                return self._name("E", DAYS, 0)
            case "G":
                return self._name("G", ("BC", "AD"), 0)
            case "a":
                return self._name("a", ("AM", "PM"), 0)
            case "z" | "Z":
                return self._zone()
            case "X":
                return (self.literal("Z") and self._set("Z", 0)) or self._offset(_ISO_ZONES[width])
        return self._number("M" if letter == "L" else letter, width, abutting)

    def _set(self, letter: str, value: int) -> bool:
        self.values.pop(letter, None)
        self.values[letter] = value
        return True

    def _number(self, letter: str, width: int, abutting: bool) -> bool:
        end = self.position + width if abutting else len(self.text)
        if end > len(self.text):
            return False
        found = _NUMBER.match(self.text, self.position, end)
        if found is None:
            return False
        value = _as_int(found[0])
        self.position = found.end()
        if letter == "y" and width <= 2 and re.fullmatch(r"\d\d", found[0]):
            begin = time.gmtime().tm_year - _CENTURY_BEGINS
            value += begin // 100 * 100 + (100 if value < begin % 100 else 0)
        return self._set(letter, value)

    def _name(self, letter: str, names: Sequence[str], first: int) -> bool:
        rest = self.text[self.position :].lower()
        for length in (None, 3):
            for index, name in enumerate(names):
                if rest.startswith(name[:length].lower()):
                    self.position += len(name[:length])
                    return self._set(letter, index + first)
        return False

    def _zone(self) -> bool:
        if self._offset(_ZONE):
            return True
        word = re.compile("[A-Za-z]+").match(self.text, self.position)
        seconds = None if word is None else _NAMED_ZONES.get(word[0].upper())
        if word is None or seconds is None:
            return False
        self.position = word.end()
        return self._set("Z", seconds)

    def _offset(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self.text, self.position)
        if found is None or int(found[2]) > 23 or int(found[3] or 0) > 59:
            return False
        self.position = found.end()
        seconds = int(found[2]) * 3600 + int(found[3] or 0) * 60
        return self._set("Z", -seconds if found[1] == "-" else seconds)


def _as_int(digits: str) -> int:
    """The low 32 bits, and the nearest integer of 32 bits for what is beyond 64, as Java's `Number.intValue`."""
    value = int(digits[:400])
    if not -(1 << 63) <= value < 1 << 63:
        return (1 << 31) - 1 if value > 0 else -(1 << 31)
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _milliseconds(values: dict[str, int], zone: Offset) -> int:
    year = values.get("y", 1970)
    if values.get("G", 1) == 0:
        year = 1 - year
    order = list(values)
    of_year = values.get("D")
    if of_year is not None and all(order.index(other) < order.index("D") for other in "Md" if other in values):
        days = days_from_civil(year, 1, 1) + of_year - 1
    else:
        days = days_from_civil(year, values.get("M", 1), values.get("d", 1))
    wall = days * 86_400_000 + _hours(values) * 3_600_000
    wall += values.get("m", 0) * 60_000 + values.get("s", 0) * 1000 + values.get("S", 0)
    if "Z" in values:
        return wall - values["Z"] * 1000
    near = wall - zone(wall)[0] * 1000
    return wall - zone(near)[0] * 1000


def _hours(values: dict[str, int]) -> int:
    for letter in reversed(values):
        match letter:
            case "H":
                return values["H"]
            case "k":
                return 0 if values["k"] == 24 else values["k"]
            case "K" | "h":
                hour = 0 if letter == "h" and values["h"] == 12 else values[letter]
                return hour + 12 * values.get("a", 0)
    return 12 * values.get("a", 0)


def date_parser(pattern: str, zone: Offset = local) -> Callable[[str], int]:
    """Return a function from text to ms since 1970 in UTC; it raises ValueError for text that does not begin as the
    pattern says, and ignores what follows.

    Args:
        pattern: Of `SimpleDateFormat`.
        zone: Of texts that name none. Default: the process's.

    Raises:
        ValueError: The pattern is invalid.

    Example:
        >>> from kafkapy.common.java_date_format import utc
        >>> date_parser("yyyy-MM-dd", utc)("1970-01-02")
        86400000
    """
    parts = pattern_parts(pattern)

    def parse(text: str) -> int:
        reader = _DateReader(text)
        for index, part in enumerate(parts):
            if isinstance(part, str):
                good = reader.literal(part)
            else:
                following = parts[index + 1] if index + 1 < len(parts) else ""
                good = reader.field(*part, _is_number(following))
            if not good:
                raise ValueError(f'Unparseable date: "{text}"')
        return _milliseconds(reader.values, zone)

    return parse


def _is_number(part: str | tuple[str, int]) -> bool:
    if isinstance(part, str):
        return False
    letter, width = part
    return letter not in _NEVER_ABUTTING and not (letter in "ML" and width > 2)
