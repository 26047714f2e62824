"""Records out of bytes: lines, several lines, JSON, CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kafkapy.connect.errors import ConnectException, DataException

LINES, JSON, CSV = "lines", "json", "csv"
FORMATS: Final = (LINES, JSON, CSV)


class LineJoiner:
    r"""Splits bytes into records of one or more lines.

    Invariant: `_lines` are the lines of a record that may continue, `_rest` are the bytes after the last whole line, and
    `_position` is where `_rest` begins.

    Args:
        position: Of the first byte.
        begins: Matches the first line of a record, others continue it. None: each line is a record.
        quotes: Whether a line with an odd number of quotes continues (CSV).
        max_bytes: The longest record.

    Example:
        >>> import re
        >>> joiner = LineJoiner(0, re.compile("[A-Z]"), False, 100)
        >>> list(joiner.feed(b"Error:\n  at x\nWarning\n")), joiner.finish()
        ([('Error:\n  at x', 14)], [('Warning', 22)])
    """

    def __init__(self, position: int, begins: re.Pattern[str] | None, quotes: bool, max_bytes: int) -> None:
        self._position, self._begins, self._quotes, self._max = position, begins, quotes, max_bytes
        self._rest = b""
        self._lines: list[str] = []
        self._size = 0

    @property
    def waits(self) -> bool:
        """Whether there is a record that may continue."""
        return bool(self._lines)

    def feed(self, data: bytes) -> Iterator[tuple[str, int]]:
        """Take the next bytes and yield the texts that are whole, each with its end. Raises ConnectException."""
        whole, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest
        if newline:
            for line in whole.split(b"\n"):
                yield from self._add(line, len(line) + 1)
        if len(self._rest) + self._size > self._max:
            raise ConnectException(
                f"A record at position {self._position} is longer than max.record.bytes={self._max}."
            )

    def finish(self, with_rest: bool = False) -> list[tuple[str, int]]:
        """Return the record that may continue, if there is one.

        Args:
            with_rest: Whether bytes without an end of line are a line, because nothing follows. Default: no.
        """
        found: list[tuple[str, int]] = []
        if with_rest and self._rest:
            line, self._rest = self._rest, b""
            found.extend(self._add(line, len(line)))
        return [*found, self._take()] if self._lines else found

    def _add(self, line: bytes, size: int) -> Iterator[tuple[str, int]]:
        text = _text(line)
        if self._begins is not None and self._lines and self._begins.search(text):
            yield self._take()
        self._lines.append(text)
        self._position += size
        self._size += size
        is_open = self._quotes and sum(each.count('"') for each in self._lines) % 2 == 1
        if self._begins is None and not is_open:
            yield self._take()

    def _take(self) -> tuple[str, int]:
        text, self._lines, self._size = "\n".join(self._lines), [], 0
        return text, self._position


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")


class RecordParser:
    """Makes values of texts.

    Args:
        format: lines, json or csv.
        header: Names of the columns of CSV. None: the first record has them.
        delimiter: Between the columns.

    Example:
        >>> parser = RecordParser("csv", None, ",")
        >>> parser.value("a,b"), parser.value("1,2")
        (None, {'a': '1', 'b': '2'})
    """

    def __init__(self, format: str, header: Sequence[str] | None, delimiter: str) -> None:
        self._format, self._header, self._delimiter = format, header, delimiter

    def value(self, text: str) -> Any:
        """Return the value, None for nothing (a header, an empty line of JSON or CSV). Raises DataException."""
        if self._format == LINES:
            return text
        if not text.strip():
            return None
        if self._format == JSON:
            try:
                return json.loads(text)
            except ValueError as error:
                raise DataException(f"A line is no JSON: {error}") from error
        try:
            row = next(csv.reader([text], delimiter=self._delimiter, strict=True))
        except csv.Error as error:
            raise DataException(f"A line is no CSV: {error}") from error
        if self._header is None:
            self._header = row
            return None
        if len(row) != len(self._header):
            raise DataException(f"A line has {len(row)} columns in place of {len(self._header)}.")
        return dict(zip(self._header, row, strict=True))
