"""Reads values from text (`org.apache.kafka.connect.data.Values.parseString`)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from kafkapy.common.java_date_parse import date_parser
from kafkapy.common.java_text import java_trim
from kafkapy.connect.data.conversions import convert_parsed
from kafkapy.connect.data.decimals import integer_part, parse_decimal, scale_of
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from kafkapy.connect.data.numbers import double_value, float32
from kafkapy.connect.data.scalars import Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.schema_and_value import NULL, SchemaAndValue
from kafkapy.connect.data.schema_merger import SchemaMerger
from kafkapy.connect.errors import DataException, NumberFormatException

DATE_PATTERN: Final = "yyyy-MM-dd"
TIME_PATTERN: Final = "HH:mm:ss.SSS'Z'"
TIMESTAMP_PATTERN: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|[^\\:,{}\[\]"])+\\?|\\', re.DOTALL)
_TEMPORAL: dict[int, tuple[Schema, str]] = {
    13: (TIME_SCHEMA, TIME_PATTERN),
    24: (TIMESTAMP_SCHEMA, TIMESTAMP_PATTERN),
    10: (DATE_SCHEMA, DATE_PATTERN),
}
_INTEGERS: tuple[tuple[type, int, Schema], ...] = (
    (Int8, 8, INT8_SCHEMA),
    (Int16, 16, INT16_SCHEMA),
    (Int32, 32, INT32_SCHEMA),
    (Int64, 64, INT64_SCHEMA),
)
_MORE_THAN_64_BITS = Decimal("1e19")


def parse_string(text: str | None) -> SchemaAndValue:
    """Read a value from text: null, a boolean, a number, a time, an array or a map; anything else is a string.

    Args:
        text: As `convert_to_string` writes it; None gives no value and no schema.

    Example:
        >>> parse_string("[1, 2.5]").value, parse_string("a").schema
        ([1.0, 2.5], Schema{STRING})
    """
    if text is None:
        return NULL
    if not text:
        return SchemaAndValue(STRING_SCHEMA, text)
    return _ValueParser(text).parse(False) or NULL


class _ValueTokens:
    """The tokens of a text: delimiters, and the text between them. `position` is the end of the last token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.previous: str | None = None
        self._ahead: str | None = None

    def mark(self) -> int:
        return self.position - len(self._ahead or "")

    def rewind(self, position: int) -> None:
        self.position = position
        self.previous = self._ahead = None

    def more(self) -> bool:
        return self._ahead is not None or self.position < len(self.text)

    def next(self) -> str:
        if self._ahead is None:
            token = self._read()
        else:
            token, self._ahead = self._ahead, None
        self.previous = token
        return token

    def next_ones(self, count: int) -> str | None:
        """Consume `count` tokens and return their text; None, without consuming any, if there are fewer."""
        start = self.mark()
        for _ in range(count):
            if not self.more():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self.position]

    def consume(self, expected: str) -> bool:
        """Consume the next token, after blanks, if it is the expected one; return whether it was."""
        if self._ahead is None:
            if not self.more():
                return False
            self._ahead = self._read()
        while not java_trim(self._ahead) and self.position < len(self.text):
            self._ahead = self._read()
        if java_trim(self._ahead) != expected:
            return False
        self._ahead = None
        return True

    def _read(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        return match[0]


class _ValueParser:
    def __init__(self, text: str) -> None:
        self._tokens = _ValueTokens(text)
        self._text = text

    def parse(self, embedded: bool) -> SchemaAndValue | None:
        """Parse a value; None stands for null. `embedded`: within an array or a map."""
        tokens = self._tokens
        if not tokens.more():
            return None
        if embedded and tokens.consume('"'):
            return self._quoted()
        for literal, value in _LITERALS.items():
            if self._single(embedded, literal):
                return value
        start = tokens.mark()
        try:
            if tokens.consume("["):
                return self._array()
            if tokens.consume("{"):
                return self._map()
        except DataException:
            tokens.rewind(start)
        token = tokens.next()
        if not java_trim(token):
            return SchemaAndValue(STRING_SCHEMA, token)
        return self._scalar(embedded, java_trim(token))

    def _single(self, embedded: bool, literal: str) -> bool:
        start = self._tokens.mark()
        if self._tokens.consume(literal) and (embedded or not self._tokens.more()):
            return True
        self._tokens.rewind(start)
        return False

    def _scalar(self, embedded: bool, token: str) -> SchemaAndValue:
        digit = token[0].isdecimal()
        if digit:
            found = self._temporal_tokens(token)
            if found is not None:
                return found
        if digit or token[0] in "+-":
            try:
                return _number(token)
            except NumberFormatException:
                pass
        if embedded:
            raise DataException("Failed to parse embedded value")
        return SchemaAndValue(STRING_SCHEMA, self._text)

    def _temporal_tokens(self, token: str) -> SchemaAndValue | None:
        """Return a time, which is five tokens because colons are delimiters, or a date, which is one."""
        start = self._tokens.mark()
        rest = self._tokens.next_ones(4)
        if rest is not None:
            found = _temporal(token + rest)
            if found is not None:
                return found
        self._tokens.rewind(start)
        return _temporal(token)

    def _quoted(self) -> SchemaAndValue:
        parts = []
        while self._tokens.more():
            if self._tokens.consume('"'):
                break
            parts.append(self._tokens.next())
        content = "".join(parts)
        return _temporal(content) or SchemaAndValue(STRING_SCHEMA, content)

    def _array(self) -> SchemaAndValue:
        tokens, result, merger = self._tokens, list[Any](), SchemaMerger()
        while tokens.more():
            if tokens.consume("]"):
                schema = Schema(Type.ARRAY, value_schema=merger.schema)
                return SchemaAndValue(schema, _aligned_list(merger.schema, result))
            if tokens.consume(","):
                raise DataException(f"Unable to parse an empty array element: {self._text}")
            element = self.parse(True)
            merger.merge(element)
            result.append(element.value if element is not None else None)
            start = tokens.mark()
            if tokens.consume("]"):
                tokens.rewind(start)
            elif not tokens.consume(","):
                raise DataException("Array elements missing ',' delimiter")
        if tokens.previous == ",":
            raise DataException(f"Array is missing element after ',': {self._text}")
        raise DataException(f"Array is missing terminating ']': {self._text}")

    def _map(self) -> SchemaAndValue:
        tokens, result, keys, values = self._tokens, dict[Any, Any](), SchemaMerger(), SchemaMerger()
        while tokens.more():
            if tokens.consume("}"):
                value_schema = values.schema if keys.schema is not None else None
                schema = Schema(Type.MAP, key_schema=keys.schema, value_schema=value_schema)
                return SchemaAndValue(schema, _aligned_map(keys.schema, value_schema, result))
            if tokens.consume(","):
                raise DataException(f"Unable to parse a map entry with no key or value: {self._text}")
            key = self.parse(True)
            if key is None or key.value is None:
                raise DataException(f"Map entry may not have a null key: {self._text}")
            if not tokens.consume(":"):
                raise DataException(f"Map entry is missing ':' at {tokens.position} in {self._text}")
            value = self.parse(True)
            result[as_key(key.value)] = value.value if value is not None else None
            tokens.consume(",")
            keys.merge(key)
            values.merge(value)
        if tokens.previous == ",":
            raise DataException(f"Map is missing element after ',': {self._text}")
        raise DataException(f"Map is missing terminating '}}': {self._text}")


_LITERALS: dict[str, SchemaAndValue | None] = {
    "null": None,
    "true": SchemaAndValue(BOOLEAN_SCHEMA, True),
    "false": SchemaAndValue(BOOLEAN_SCHEMA, False),
}


def _aligned_list(schema: Schema | None, values: list[Any]) -> list[Any]:
    return values if schema is None else [convert_parsed(schema, None, value) for value in values]


def _aligned_map(keys: Schema | None, values: Schema | None, entries: dict[Any, Any]) -> dict[Any, Any]:
    if keys is None:
        return entries
    return {
        as_key(convert_parsed(keys, None, key)): value if values is None else convert_parsed(values, None, value)
        for key, value in entries.items()
    }


def _temporal(token: str) -> SchemaAndValue | None:
    token = token.replace("\\:", ":")
    schema, pattern = _TEMPORAL.get(len(token), (None, ""))
    if schema is None:
        return None
    try:
        return SchemaAndValue(schema, Instant(date_parser(pattern)(token)))
    except ValueError:
        return None


def _number(token: str) -> SchemaAndValue:
    """Parse a number to the smallest type that holds it. Raises NumberFormatException."""
    value = parse_decimal(token)
    whole = _whole_number(value)
    if whole is not None:
        return whole
    short, exact, scale = float32(value), double_value(value), scale_of(value)
    if short not in _INFINITE and scale != 0:
        return SchemaAndValue(FLOAT32_SCHEMA, short)
    if exact not in _INFINITE and scale != 0:
        return SchemaAndValue(FLOAT64_SCHEMA, exact)
    return SchemaAndValue(decimal_schema(scale), value)


_INFINITE = (float("inf"), float("-inf"))


def _whole_number(value: Decimal) -> SchemaAndValue | None:
    size = value.copy_abs()
    if size > _MORE_THAN_64_BITS or (size < 1 and size != 0):
        return None
    number = integer_part(value)
    if number != value:
        return None
    for kind, bits, schema in _INTEGERS:
        if -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            return SchemaAndValue(schema, kind(number))
    return None
