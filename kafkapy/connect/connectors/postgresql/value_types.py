"""Schemas of columns, and the conversion of PostgreSQL's text to Connect's values."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.connect.connectors.debezium import semantic_types as semantic
from kafkapy.connect.connectors.debezium.iso_times import DAY_US, iso_time, iso_timestamp
from kafkapy.connect.connectors.debezium.value_type import BINARY_ENCODINGS, ValueType, plain_schema
from kafkapy.connect.connectors.postgresql.column_types import (
    PgType,
    numeric_precision,
    text_length,
    time_precision,
)
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.text_values import (
    ArrayText,
    interval_iso,
    interval_us,
    parse_array,
    parse_bits,
    parse_bytea,
    parse_days,
    parse_hstore,
    parse_interval,
    parse_time_us,
    parse_timestamp_us,
)
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import (
    date_builder,
    decimal_builder,
    time_builder,
    timestamp_builder,
)
from kafkapy.connect.data.numbers import float32
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import STRING_SCHEMA, Type
from kafkapy.connect.errors import ConnectException

_STRINGS: Final = frozenset(
    ("text", "varchar", "bpchar", "char", "name", "citext", "inet", "cidr", "macaddr", "macaddr8")
)
_NAMED: Final = {
    "json": "Json",
    "jsonb": "Json",
    "xml": "Xml",
    "uuid": "Uuid",
    "ltree": "Ltree",
    "tsvector": "TsVector",
}
_INTEGERS: Final = {"int2": Type.INT16, "int4": Type.INT32, "int8": Type.INT64, "oid": Type.INT64}


class ValueTypes:
    """Finds the representation of types of columns.

    Args:
        settings: Has the modes.

    Example:
        >>> base = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "shop"}
        >>> found = ValueTypes(CaptureSettings.of(base)).find(PgType(23, "int4"), -1)
        >>> found.read("5"), found.schema(True)
        (5, Schema{INT32})
    """

    def __init__(self, settings: CaptureSettings) -> None:
        self._settings = settings
        self._placeholder: str = settings["unavailable.value.placeholder"]
        self._others: Mapping[str, Callable[[int], ValueType]] = {
            "bool": lambda _: ValueType(lambda: SchemaBuilder(Type.BOOLEAN), lambda text: text == "t", False, False),
            "float4": lambda _: ValueType(
                plain_schema(Type.FLOAT32), lambda text: float32(float(text)), float32(0.0), float32(0.0)
            ),
            "float8": lambda _: ValueType(plain_schema(Type.FLOAT64), float, 0.0, 0.0),
            "numeric": self._numeric,
            "money": lambda _: self._money(),
            "bytea": lambda _: self._bytea(),
            "bit": self._bits,
            "varbit": lambda modifier: self._bits(modifier if modifier > 1 else -1),
            "date": lambda _: self._date(),
            "time": self._time,
            "timetz": lambda _: self._named(
                semantic.ZONED_TIME, lambda text: iso_time(parse_time_us(text)), "00:00:00Z"
            ),
            "timestamp": self._timestamp,
            "timestamptz": self._zoned_timestamp,
            "interval": lambda _: self._interval(),
            "hstore": lambda _: self._hstore(),
            "point": lambda _: ValueType(
                semantic.point_builder, semantic.read_point, *[semantic.read_point("(0,0)")] * 2
            ),
        }

    def find(self, type: PgType, modifier: int) -> ValueType | None:
        """Return the representation; None: the column is left out, because its type is unknown.

        Args:
            type: Of the column. modifier: The column's, -1 without one.
        """
        type, modifier = type.resolved(modifier)
        if type.element is not None:
            return self._array(type.element, modifier)
        if type.kind == "e":
            return self._enum(type.labels)
        if type.name in _INTEGERS:
            return ValueType(plain_schema(_INTEGERS[type.name]), int, 0, 0)
        if type.name in _STRINGS or type.kind in ("r", "m"):
            return ValueType(plain_schema(Type.STRING), str, "", self._placeholder)
        if type.name in _NAMED:
            return self._text(f"{semantic.DATA}{_NAMED[type.name]}")
        if type.name in self._others:
            return self._others[type.name](modifier)
        if not self._settings["include.unknown.datatypes"]:
            return None
        return self._binary(lambda text: text.encode())

    def _text(self, name: str) -> ValueType:
        if name.endswith("Uuid"):
            hidden = str(_java_name_uuid(self._placeholder.encode()))
            return ValueType(semantic.named(Type.STRING, name), str, "", hidden)
        return ValueType(semantic.named(Type.STRING, name), str, "", self._placeholder)

    def _named(self, name: str, read: Callable[[str], str], zero: str) -> ValueType:
        return ValueType(semantic.named(Type.STRING, name), read, zero, zero)

    def _enum(self, labels: tuple[str, ...]) -> ValueType:
        allowed = ",".join(labels)
        return ValueType(
            lambda: semantic.named(Type.STRING, semantic.ENUM)().parameter("allowed", allowed),
            str,
            "",
            self._placeholder,
        )

    def _array(self, element: PgType, modifier: int) -> ValueType | None:
        found = self.find(element, modifier)
        if found is None:
            return None
        read, hidden = found.read, self._placeholder

        def elements(items: ArrayText) -> list[Any]:
            # More dimensions are laid out in a row: the schema of a column cannot say how many there are.
            values: list[Any] = []
            for item in items:
                values += elements(item) if isinstance(item, list) else [None if item is None else read(item)]
            return values

        if found.builder().type in (Type.INT32, Type.INT64) and element.name in _INTEGERS:
            unavailable = list(hidden.encode())
        else:
            unavailable = [found.unavailable]
        return ValueType(
            lambda: SchemaBuilder.array(found.schema(True)),
            lambda text: elements(parse_array(text, element.delimiter)),
            [],
            unavailable,
        )

    def _numeric(self, modifier: int) -> ValueType:
        mode, precision = self._settings.word("decimal.handling.mode"), numeric_precision(modifier)
        if mode == "double":
            return ValueType(plain_schema(Type.FLOAT64), float, 0.0, 0.0)
        if mode == "string":
            return ValueType(plain_schema(Type.STRING), semantic.decimal_string, "0", "0")
        if precision is None:
            return ValueType(semantic.variable_decimal_builder, semantic.read_variable_decimal, *_VARIABLE_ZEROS)
        digits, scale = precision
        zero = semantic.read_decimal("0", scale)
        return ValueType(
            lambda: decimal_builder(scale).parameter("connect.decimal.precision", str(digits)),
            lambda text: semantic.read_decimal(text, scale),
            zero,
            zero,
        )

    def _money(self) -> ValueType:
        mode, scale = self._settings.word("decimal.handling.mode"), self._settings["money.fraction.digits"]
        if mode == "double":
            return ValueType(plain_schema(Type.FLOAT64), lambda text: float(semantic.money_text(text)), 0.0, 0.0)
        if mode == "string":
            return ValueType(plain_schema(Type.STRING), semantic.money_text, "0", "0")
        zero = semantic.read_decimal("0", scale)
        return ValueType(
            lambda: decimal_builder(scale),
            lambda text: semantic.read_decimal(semantic.money_text(text), scale),
            zero,
            zero,
        )

    def _bytea(self) -> ValueType:
        return self._binary(parse_bytea)

    def _binary(self, read: Callable[[str], bytes]) -> ValueType:
        mode, hidden = self._settings.word("binary.handling.mode"), self._placeholder.encode()
        if mode == "bytes":
            return ValueType(plain_schema(Type.BYTES), read, b"", hidden)
        encode = BINARY_ENCODINGS[mode]
        return ValueType(plain_schema(Type.STRING), lambda text: encode(read(text)), "", encode(hidden))

    def _bits(self, modifier: int) -> ValueType:
        length = text_length(modifier)
        if length == 1:
            return ValueType(plain_schema(Type.BOOLEAN), lambda text: text == "1", False, False)
        shown = str(2**31 - 1 if length is None else length)
        return ValueType(
            lambda: semantic.named(Type.BYTES, semantic.BITS)().parameter("length", shown), parse_bits, b"", b""
        )

    def _date(self) -> ValueType:
        if self._is_connect_time:
            zero = Instant(0)
            return ValueType(date_builder, lambda text: Instant(parse_days(text) * DAY_US // 1000), zero, zero)
        return ValueType(semantic.named(Type.INT32, semantic.DATE), parse_days, 0, 0)

    @property
    def _is_connect_time(self) -> bool:
        return self._settings.word("time.precision.mode") == "connect"

    def _time(self, modifier: int) -> ValueType:
        if self._is_connect_time:
            return ValueType(time_builder, lambda text: Instant(parse_time_us(text) // 1000), Instant(0), Instant(0))
        if self._settings.word("time.precision.mode") == "adaptive" and time_precision(modifier) <= 3:
            return ValueType(semantic.named(Type.INT32, semantic.TIME), lambda text: parse_time_us(text) // 1000, 0, 0)
        return ValueType(semantic.named(Type.INT64, semantic.MICRO_TIME), parse_time_us, 0, 0)

    def _timestamp(self, modifier: int) -> ValueType:
        if self._is_connect_time:
            zero = Instant(0)
            return ValueType(timestamp_builder, lambda text: Instant(parse_timestamp_us(text) // 1000), zero, zero)
        if time_precision(modifier) <= 3:
            name = semantic.named(Type.INT64, semantic.TIMESTAMP)
            return ValueType(name, lambda text: parse_timestamp_us(text) // 1000, 0, 0)
        return ValueType(semantic.named(Type.INT64, semantic.MICRO_TIMESTAMP), parse_timestamp_us, 0, 0)

    def _zoned_timestamp(self, modifier: int) -> ValueType:
        digits = time_precision(modifier)
        return self._named(
            semantic.ZONED_TIMESTAMP,
            lambda text: text if text.endswith("infinity") else iso_timestamp(parse_timestamp_us(text), digits),
            iso_timestamp(0, digits),
        )

    def _interval(self) -> ValueType:
        if self._settings.word("interval.handling.mode") == "numeric":
            name = semantic.named(Type.INT64, semantic.MICRO_DURATION)
            return ValueType(name, lambda text: interval_us(*parse_interval(text)), 0, 0)
        return self._named(semantic.INTERVAL, lambda text: interval_iso(*parse_interval(text)), interval_iso(0, 0, 0))

    def _hstore(self) -> ValueType:
        if self._settings.word("hstore.handling.mode") == "json":
            name = semantic.named(Type.STRING, f"{semantic.DATA}Json")
            return ValueType(name, lambda text: semantic.json_object(parse_hstore(text)), "{}", self._placeholder)
        return ValueType(
            lambda: SchemaBuilder.map(STRING_SCHEMA, SchemaBuilder(Type.STRING).optional().build()),
            parse_hstore,
            {},
            {self._placeholder: self._placeholder},
        )


def read_value(type: ValueType, text: str | bytes, column: str) -> Any:
    """Convert a value.

    Args:
        type: The column's.
        text: PostgreSQL's.
        column: Its name, for the message.

    Raises:
        ConnectException: The value cannot be represented.
    """
    try:
        if isinstance(text, bytes):
            raise ValueError("it is in binary format")
        return type.read(text)
    except (ValueError, ArithmeticError, IndexError) as error:
        raise ConnectException(f"The value {text[:64]!r} of column {column} cannot be represented: {error}") from error


def _java_name_uuid(name: bytes) -> uuid.UUID:
    """`UUID.nameUUIDFromBytes`."""
    import hashlib

    return uuid.UUID(bytes=hashlib.md5(name, usedforsecurity=False).digest(), version=3)


_VARIABLE_ZEROS: Final = [semantic.read_variable_decimal("0")] * 2
