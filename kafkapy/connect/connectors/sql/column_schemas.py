"""Connect's types for columns."""

from __future__ import annotations

import datetime as dt
import json
import re
import uuid
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import plain_text
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.errors import DataException

NUMERIC_MAPPINGS: Final = ("none", "precision_only", "best_fit", "best_fit_eager_double", "string")
GRANULARITIES: Final = (
    "connect_logical",
    "micros_long",
    "micros_string",
    "micros_iso_datetime_string",
    "nanos_long",
    "nanos_string",
    "nanos_iso_datetime_string",
)
_UNKNOWN_SCALE: Final = 127
"""Scale of NUMERIC columns without one (Confluent's)."""
_LONGEST_INTEGER: Final = 18
_EXACT: Final = Context(prec=1200)
_UTC: Final = ZoneInfo("UTC")
_ZERO_DATE: Final = re.compile(r"0000-|\d+-00-|\d+-\d+-00")
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


class ColumnSchema(NamedTuple):
    """A column's schema, and what converts the driver's values, which are not None.

    Attributes:
        schema: Of the field.
        convert: Raises DataException.
        as_text: Whether the database itself must convert values to text.
    """

    schema: Schema
    convert: Callable[[Any], Any]
    as_text: bool = False


class ColumnTypes:
    """Chooses the schemas of columns.

    Args:
        kind: Of the database.
        numeric_mapping: One of `NUMERIC_MAPPINGS`.
        granularity: One of `GRANULARITIES`.
        zone: Of timestamps without one.
    """

    def __init__(self, kind: str, numeric_mapping: str, granularity: str, zone: ZoneInfo) -> None:
        self._kind, self._numeric, self._granularity, self._zone = kind, numeric_mapping, granularity, zone

    def of_type(self, kind: Any, is_nullable: bool) -> ColumnSchema:
        """Return the schema for a type of SQLAlchemy."""
        import sqlalchemy as sa

        name = type(kind).__name__.upper()
        if isinstance(kind, sa.Boolean) or (name == "TINYINT" and getattr(kind, "display_width", None) == 1):
            return _plain(Type.BOOLEAN, is_nullable, bool)
        if isinstance(kind, sa.Integer):
            return _plain(self._integer(name, bool(getattr(kind, "unsigned", False))), is_nullable, int)
        if isinstance(kind, sa.Float) or name in (
            "DOUBLE",
            "DOUBLE_PRECISION",
            "REAL",
            "BINARY_FLOAT",
            "BINARY_DOUBLE",
        ):
            is_short = self._kind != "sqlite" and (
                name == "REAL" or (name == "FLOAT" and self._kind in ("mysql", "mariadb"))
            )
            return _plain(Type.FLOAT32 if is_short else Type.FLOAT64, is_nullable, float)
        if isinstance(kind, sa.Numeric):
            return self._decimal(kind.precision, kind.scale, is_nullable)
        if name == "YEAR":
            return _plain(Type.INT16, is_nullable, int)
        if isinstance(kind, sa.DateTime):
            is_in_utc = name == "TIMESTAMP" and self._kind in ("mysql", "mariadb")  # as the session's zone is
            return self._unless_zero(self._timestamp(is_nullable, _UTC if is_in_utc else self._zone))
        if isinstance(kind, sa.Date):
            return self._unless_zero(ColumnSchema(_optional(date_builder(), is_nullable), _date))
        if isinstance(kind, sa.Time):
            return ColumnSchema(_optional(time_builder(), is_nullable), _time)
        if (
            isinstance(kind, sa.LargeBinary)
            or name.endswith(("BLOB", "BINARY"))
            or (name == "BIT" and self._kind != "postgresql")
        ):
            return _plain(Type.BYTES, is_nullable, bytes)
        as_text = self._kind == "postgresql" and not (isinstance(kind, sa.String) and not isinstance(kind, sa.Enum))
        return _plain(Type.STRING, is_nullable, _text)._replace(as_text=as_text)

    def _integer(self, name: str, is_unsigned: bool) -> Type:
        if self._kind == "sqlite":
            return Type.INT64  # its integers have up to 8 bytes, whatever the column says
        sizes = {"TINYINT": Type.INT8, "SMALLINT": Type.INT16, "MEDIUMINT": Type.INT32, "BIGINT": Type.INT64}
        signed = sizes.get(name, Type.INT32)
        wider = {Type.INT8: Type.INT16, Type.INT16: Type.INT32, Type.INT32: Type.INT64, Type.INT64: Type.INT64}
        return wider[signed] if is_unsigned else signed

    def _decimal(self, precision: int | None, scale: int | None, is_nullable: bool) -> ColumnSchema:
        mapping = self._numeric
        if mapping == "string":
            return _plain(Type.STRING, is_nullable, lambda value: plain_text(_as_decimal(value)))
        if precision is not None and precision <= _LONGEST_INTEGER and mapping != "none":
            if not scale or scale < 0:
                size = (
                    Type.INT64
                    if precision > 9
                    else Type.INT32
                    if precision > 4
                    else Type.INT16
                    if precision > 2
                    else Type.INT8
                )
                return _plain(size, is_nullable, int)
            if mapping.startswith("best_fit"):
                return _plain(Type.FLOAT64, is_nullable, float)
        if mapping == "best_fit_eager_double" and (precision is None or (scale or 0) > 0):
            return _plain(Type.FLOAT64, is_nullable, float)
        if mapping == "best_fit" and precision is None:
            return _plain(Type.FLOAT64, is_nullable, float)
        places = _UNKNOWN_SCALE if precision is None else scale or 0
        return ColumnSchema(_optional(decimal_builder(places), is_nullable), lambda value: _scaled(value, places))

    def _unless_zero(self, column: ColumnSchema) -> ColumnSchema:
        """MySQL's dates without a year, month or day become NULL; the driver leaves them as text."""
        if self._kind not in ("mysql", "mariadb"):
            return column
        return column._replace(
            convert=lambda value: None if isinstance(value, str) and _ZERO_DATE.match(value) else column.convert(value)
        )

    def _timestamp(self, is_nullable: bool, zone: ZoneInfo) -> ColumnSchema:
        def convert(value: Any) -> Any:
            moment = as_moment(value, zone)
            if self._granularity == "connect_logical":
                return Instant.of(moment)
            micros = (moment - _EPOCH) // _MICROSECOND
            number = micros if self._granularity.startswith("micros") else micros * 1000
            if self._granularity.endswith("_iso_datetime_string"):
                digits = moment.strftime("%Y-%m-%dT%H:%M:%S.%f")
                return digits if self._granularity.startswith("micros") else digits + "000"
            return str(number) if self._granularity.endswith("string") else number

        if self._granularity == "connect_logical":
            return ColumnSchema(_optional(timestamp_builder(), is_nullable), convert)
        return _plain(Type.INT64 if self._granularity.endswith("long") else Type.STRING, is_nullable, convert)

    def of_values(self, values: list[Any]) -> ColumnSchema:
        """Return the schema for values of a column whose type the driver does not tell."""
        kinds = {type(value) for value in values if value is not None}
        if kinds <= {int} and kinds:
            return _plain(Type.INT64, True, int)
        if kinds <= {int, float} and kinds:
            return _plain(Type.FLOAT64, True, float)
        if kinds == {bytes}:
            return _plain(Type.BYTES, True, bytes)
        if kinds <= {dt.datetime} and kinds:
            return self._timestamp(True, self._zone)
        return _plain(Type.STRING, True, _text)


def as_moment(value: Any, zone: ZoneInfo) -> dt.datetime:
    """Return a timestamp of a database as a time in UTC.

    Args:
        value: A `datetime`, or text or ms since 1970, as SQLite has them.
        zone: Of times without one.

    Raises:
        DataException: It is no time.

    Example:
        >>> as_moment("2024-02-29 12:00:00", ZoneInfo("Europe/Berlin")).isoformat()
        '2024-02-29T11:00:00+00:00'
    """
    if isinstance(value, int | float):
        return _EPOCH + dt.timedelta(milliseconds=value)
    if isinstance(value, str | bytes):
        text = value.decode() if isinstance(value, bytes) else value
        try:
            value = dt.datetime.fromisoformat(text)
        except ValueError as error:
            raise DataException(f"{text!r} is no timestamp") from error
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if not isinstance(value, dt.datetime):
        raise DataException(f"{value!r} is no timestamp")
    aware = value if value.tzinfo is not None else value.replace(tzinfo=zone)
    return aware.astimezone(dt.UTC)


def _optional(builder: SchemaBuilder, is_nullable: bool) -> Schema:
    return (builder.optional() if is_nullable else builder).build()


def _plain(kind: Type, is_nullable: bool, convert: Callable[[Any], Any]) -> ColumnSchema:
    return ColumnSchema(_optional(SchemaBuilder(kind), is_nullable), convert)


def _as_decimal(value: Any) -> Decimal:
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    if not number.is_finite():
        raise DataException(f"{number} has no decimal representation; set numeric.mapping=best_fit")
    return number


def _scaled(value: Any, scale: int) -> Decimal:
    return _as_decimal(value).quantize(Decimal((0, (1,), -scale)), ROUND_HALF_EVEN, _EXACT)


def _date(value: Any) -> Instant:
    if isinstance(value, str):
        value = dt.date.fromisoformat(value[:10])
    return Instant.of(value.date() if isinstance(value, dt.datetime) else value)


def _time(value: Any) -> Instant:
    if isinstance(value, dt.timedelta):  # PyMySQL's
        return Instant(value // dt.timedelta(milliseconds=1))
    if isinstance(value, str):
        value = dt.time.fromisoformat(value)
    return Instant.of(value.replace(tzinfo=None))


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bytes() | bytearray() | memoryview():
            return bytes(value).decode("utf-8", "replace")
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=str)
        case uuid.UUID() | _:
            return str(value)
