"""Parses lines as records (Kafka's `ConsoleProducer.LineMessageReader`): key, headers and value by their separators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafkapy.common.patterns import PatternError, java
from kafkapy.tools.common.command_line import ToolError

Header = tuple[str, bytes | None]


class LineRecord(NamedTuple):
    """A parsed line; None is null."""

    value: bytes | None
    key: bytes | None = None
    headers: list[Header] | None = None


class LineMessageReader:
    """Parses lines `headers<delimiter>key<separator>value`; headers and key exist if the properties request them.

    Raises ToolError for properties that contradict each other, and for a line without a separator unless
    `ignore.error` is set.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._parse_key = _is_true(properties, "parse.key")
        self._parse_headers = _is_true(properties, "parse.headers")
        self._ignore_error = _is_true(properties, "ignore.error")
        self._key_separator = properties.get("key.separator", "\t")
        self._headers_delimiter = properties.get("headers.delimiter", "\t")
        self._headers_separator = properties.get("headers.separator", ",")
        self._headers_key_separator = properties.get("headers.key.separator", ":")
        self.null_marker = properties.get("null.marker")
        self._check_separators()
        try:
            self._pattern = java(self._headers_separator)
        except PatternError as error:
            raise ToolError(f"headers.separator is an invalid regex: {error}") from error
        self._line_number = 0

    def _check_separators(self) -> None:
        named = {
            "headers.delimiter": self._headers_delimiter,
            "headers.separator": self._headers_separator,
            "headers.key.separator": self._headers_key_separator,
        }
        pairs = [
            ("headers.delimiter", "headers.separator"),
            ("headers.delimiter", "headers.key.separator"),
            ("headers.separator", "headers.key.separator"),
        ]
        for one, other in pairs:
            if named[one] == named[other]:
                raise ToolError(f"{one} and {other} may not be equal")
        for name in ("key.separator", "headers.separator", "headers.delimiter", "headers.key.separator"):
            if self.null_marker == named.get(name, self._key_separator):
                raise ToolError(f"null.marker and {name} may not be equal")

    def records(self, lines: Iterable[str]) -> Iterator[LineRecord]:
        """A record for each line; lines may end with their line ends."""
        for line in lines:
            yield self.record(line.removesuffix("\n"))

    def record(self, line: str) -> LineRecord:
        self._line_number += 1
        if not self._parse_key and not self._parse_headers:
            return LineRecord(self._bytes(line))
        headers, start = self._field(self._parse_headers, line, 0, self._headers_delimiter, "headers delimiter")
        key, start = self._field(self._parse_key, line, start, self._key_separator, "key separator")
        split = None
        if headers is not None and headers != self.null_marker:
            split = self._split_headers(headers)
        return LineRecord(self._bytes(line[start:]), None if key is None else self._bytes(key), split)

    def _field(self, wanted: bool, line: str, start: int, separator: str, name: str) -> tuple[str | None, int]:
        """The field that begins at `start`, and the start of the next one."""
        if not wanted:
            return None, start
        end = line.find(separator, start)
        if end >= 0:
            return line[start:end], end + len(separator)
        if self._ignore_error:
            return None, start
        raise ToolError(f"No {name} found on line number {self._line_number}: '{line}'")

    def _split_headers(self, text: str) -> list[Header]:
        pairs = self._pattern.split(text)
        if len(pairs) > 1:  # Java's split drops empty strings at the end
            while pairs and not pairs[-1]:
                pairs.pop()
        return [self._header(pair) for pair in pairs]

    def _header(self, pair: str) -> Header:
        name, separator, value = pair.partition(self._headers_key_separator)
        if not separator:
            if self._ignore_error:
                return pair, None
            raise ToolError(f"No header key separator found in pair '{pair}' on line number {self._line_number}")
        if name == self.null_marker:
            raise ToolError(
                f"Header keys should not be equal to the null marker '{self.null_marker}' as they can't be null"
            )
        return name, self._bytes(value)

    def _bytes(self, text: str) -> bytes | None:
        return None if text == self.null_marker else text.encode("utf-8", "replace")


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"
