"""Schemas of columns, and the conversion of plain values to Connect's."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any, Final

from kafkapy.connect.connectors.debezium import semantic_types as semantic
from kafkapy.connect.connectors.debezium.iso_times import DAY_US, iso_timestamp
from kafkapy.connect.connectors.debezium.value_type import BINARY_ENCODINGS, ValueType, plain_schema
from kafkapy.connect.connectors.mysql.column_types import INTEGERS, MyColumn
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.numbers import float32
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException

_SIGNED: Final = {
    "tinyint": Type.INT16,
    "smallint": Type.INT16,
    "mediumint": Type.INT32,
    "int": Type.INT32,
    "bigint": Type.INT64,
}
_UNSIGNED: Final = {**_SIGNED, "smallint": Type.INT32, "int": Type.INT64}
_BIGINT_DIGITS: Final = "20"
_SRID_BYTES: Final = 4


class PlainValueTypes:
    """Finds the representation of types of columns.

    Args:
        settings: Has the modes.

    Example:
        >>> base = {"database.hostname": "h", "database.user": "u", "topic.prefix": "dbs"}
        >>> PlainValueTypes(BinlogSettings.of(base)).find(MyColumn("id", "int")).schema(True)
        Schema{INT32}
    """

    def __init__(self, settings: BinlogSettings) -> None:
        self._settings = settings
        self._is_connect_time = settings.word("time.precision.mode") == "connect"

    def find(self, column: MyColumn) -> ValueType:
        """Return the representation. Raises ConnectException for a type that cannot be captured."""
        kind = column.kind
        if kind in INTEGERS:
            return self._integer(column)
        match kind:
            case "float":
                return ValueType(plain_schema(Type.FLOAT32), float32, float32(0.0), None)
            case "double":
                return ValueType(plain_schema(Type.FLOAT64), float, 0.0, None)
            case "decimal":
                return self._decimal(column.length, column.scale)
            case "bit":
                return _bits(column.length)
            case "year":
                return ValueType(semantic.named(Type.INT32, semantic.YEAR), int, 0, None)
            case "char" | "varchar" | "text":
                return ValueType(plain_schema(Type.STRING), str, "", None)
            case "binary" | "varbinary" | "blob":
                return self._binary()
            case "enum" | "set":
                name = semantic.ENUM if kind == "enum" else semantic.ENUM_SET
                allowed = ",".join(column.labels)
                return ValueType(
                    lambda: semantic.named(Type.STRING, name)().parameter("allowed", allowed), str, "", None
                )
            case "json":
                return ValueType(semantic.named(Type.STRING, f"{semantic.DATA}Json"), str, "", None)
            case "date" | "time" | "datetime" | "timestamp":
                return self._moment(kind, column.length)
            case "point" | "geometry":
                return _shape(is_point=kind == "point")
        raise ConnectException(
            f"Column {column.name} has the type {kind}, which cannot be captured: add it to column.exclude.list"
        )

    def _integer(self, column: MyColumn) -> ValueType:
        is_big = column.is_unsigned and column.kind == "bigint"
        if is_big and self._settings.word("bigint.unsigned.handling.mode") == "precise":
            return ValueType(
                lambda: decimal_builder(0).parameter("connect.decimal.precision", _BIGINT_DIGITS),
                Decimal,
                Decimal(0),
                None,
            )
        type = (_UNSIGNED if column.is_unsigned else _SIGNED)[column.kind]
        return ValueType(plain_schema(type), _wrapped if is_big else int, 0, None)

    def _decimal(self, precision: int, scale: int) -> ValueType:
        mode = self._settings.word("decimal.handling.mode")
        if mode == "double":
            return ValueType(plain_schema(Type.FLOAT64), float, 0.0, None)
        if mode == "string":
            return ValueType(plain_schema(Type.STRING), lambda value: f"{value:f}", "0", None)
        shown = str(precision)
        zero = Decimal((0, (0,), -scale))
        return ValueType(
            lambda: decimal_builder(scale).parameter("connect.decimal.precision", shown),
            lambda value: value,
            zero,
            None,
        )

    def _binary(self) -> ValueType:
        mode = self._settings.word("binary.handling.mode")
        if mode == "bytes":
            return ValueType(plain_schema(Type.BYTES), bytes, b"", None)
        return ValueType(plain_schema(Type.STRING), BINARY_ENCODINGS[mode], "", None)

    def _moment(self, kind: str, digits: int) -> ValueType:
        if kind == "timestamp":
            return ValueType(
                semantic.named(Type.STRING, semantic.ZONED_TIMESTAMP),
                lambda us: iso_timestamp(us, digits),
                iso_timestamp(0, digits),
                None,
            )
        if self._is_connect_time:
            builder = {"date": date_builder, "time": time_builder, "datetime": timestamp_builder}[kind]
            factor = DAY_US if kind == "date" else 1
            return ValueType(builder, lambda value: Instant(value * factor // 1000), Instant(0), None)
        if kind == "date":
            return ValueType(semantic.named(Type.INT32, semantic.DATE), int, 0, None)
        if kind == "time":
            return ValueType(semantic.named(Type.INT64, semantic.MICRO_TIME), int, 0, None)
        if digits <= 3:
            return ValueType(semantic.named(Type.INT64, semantic.TIMESTAMP), lambda us: us // 1000, 0, None)
        return ValueType(semantic.named(Type.INT64, semantic.MICRO_TIMESTAMP), int, 0, None)


def _wrapped(value: int) -> int:
    """What a signed number of 8 bytes has for the same bits."""
    return value - 2**64 if value >= 2**63 else value


def _bits(length: int) -> ValueType:
    if length == 1:
        return ValueType(plain_schema(Type.BOOLEAN), bool, False, None)
    size = (length + 7) // 8
    return ValueType(
        lambda: semantic.named(Type.BYTES, semantic.BITS)().parameter("length", str(length)),
        lambda value: value.to_bytes(size, "little"),
        b"",
        None,
    )


def _shape(is_point: bool) -> ValueType:
    builder = semantic.point_builder if is_point else semantic.geometry_builder

    def read(data: bytes) -> Struct:
        srid = int.from_bytes(data[:_SRID_BYTES], "little") or None
        wkb = data[_SRID_BYTES:]
        values: dict[str, Any] = {"wkb": wkb, "srid": srid}
        if is_point:
            x, y = struct.unpack_from("<dd" if wkb[:1] == b"\x01" else ">dd", wkb, 5)
            values |= {"x": x, "y": y}
        return Struct(builder().optional().build(), values)

    zero = read(bytes(_SRID_BYTES) + struct.pack("<BIdd", 1, 1, 0, 0))
    return ValueType(builder, read, zero, None)
