"""Reads values from JSON, each as its schema says."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from kafkapy.common.java_hash_order import hash_map
from kafkapy.connect.converters.json_schemas import node_type
from kafkapy.connect.data.decimals import decimal_of
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.logical import date_from_days, decimal_from_bytes, time_from_ms, timestamp_from_ms
from kafkapy.connect.data.numbers import byte_value, double_value, float32, int_value, long_value, short_value
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct
from kafkapy.connect.errors import DataException, NullPointerException


class JsonDataReader:
    """Reads JSON.

    Args:
        use_defaults: The default of a field stands for a null.

    Example:
        >>> JsonDataReader(True).value(None, [1, Decimal("1.5")])
        [1, 1.5]
    """

    def __init__(self, use_defaults: bool) -> None:
        self._use_defaults = use_defaults

    def value(self, schema: Schema | None, node: Any) -> Any:
        """Return the value of JSON.

        Args:
            schema: None: the JSON's own types decide.
            node: As `read_json` gives it.

        Raises:
            DataException: The JSON does not fit the schema.
        """
        if schema is None:
            return self._guessed(node)
        if node is None:
            if schema.default is not None and self._use_defaults:
                return schema.default
            if schema.optional:
                return None
            raise DataException(f"Invalid null value for required {schema.type} field")
        logical = _LOGICAL.get(schema.name) if schema.name is not None else None
        if logical is not None:
            return logical(schema, node)
        scalar = _SCALARS.get(schema.type)
        if scalar is not None:
            return scalar(node)
        if schema.type is Type.STRUCT:
            return self._struct(schema, node)
        return self._array(schema, node) if schema.type is Type.ARRAY else self._map(schema, node)

    def _guessed(self, node: Any) -> Any:
        match node:
            case None | bool() | str():
                return node
            case int():
                return long_value(node)
            case Decimal():
                return double_value(node)
            case list():
                return [self._guessed(each) for each in node]
        return hash_map({name: self._guessed(each) for name, each in node.items()})

    def _array(self, schema: Schema, node: Any) -> list[Any]:
        items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return [self.value(schema.value_schema, each) for each in items]

    def _map(self, schema: Schema, node: Any) -> dict[Any, Any]:
        keys, values = schema.key_schema, schema.value_schema
        if keys is None:
            raise NullPointerException()
        if keys.type is Type.STRING:
            if not isinstance(node, dict):
                raise DataException(
                    f"Maps with string fields should be encoded as JSON objects, but found {node_type(node)}"
                )
            return hash_map({name: self.value(values, each) for name, each in node.items()})
        if not isinstance(node, list):
            raise DataException(
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {node_type(node)}"
            )
        result = {}
        for entry in node:
            if not isinstance(entry, list):
                raise DataException(f"Found invalid map entry instead of array tuple: {node_type(entry)}")
            if len(entry) != 2:
                raise DataException(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
            result[as_key(self.value(keys, entry[0]))] = self.value(values, entry[1])
        return hash_map(result)

    def _struct(self, schema: Schema, node: Any) -> Struct:
        if not isinstance(node, dict):
            raise DataException(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
        result = Struct(schema)
        for field in schema.fields:
            result.put(field.name, self.value(field.schema, node.get(field.name)))
        return result


def _is_integer(node: Any) -> bool:
    return isinstance(node, int) and not isinstance(node, bool)


def _number_or_zero(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read(node: Any) -> Any:
        return convert(node if _is_integer(node) or isinstance(node, Decimal) else 0)

    return read


def _bytes(node: Any) -> bytes | None:
    if not isinstance(node, str):
        return None
    try:
        return base64.b64decode(node, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DataException("Invalid bytes field") from error


_SCALARS: dict[Type, Callable[[Any], Any]] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.INT8: _number_or_zero(byte_value),
    Type.INT16: _number_or_zero(short_value),
    Type.INT32: _number_or_zero(int_value),
    Type.INT64: _number_or_zero(long_value),
    Type.FLOAT32: _number_or_zero(float32),
    Type.FLOAT64: _number_or_zero(double_value),
    Type.STRING: lambda node: node if isinstance(node, str) else None,
    Type.BYTES: _bytes,
}


def _decimal(schema: Schema, node: Any) -> Decimal:
    if isinstance(node, Decimal):
        return node
    if _is_integer(node):
        return decimal_of(node, 0)
    if not isinstance(node, str):
        raise DataException(
            f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {node_type(node)}"
        )
    try:
        return decimal_from_bytes(schema, _bytes(node) or b"")
    except (ValueError, DataException) as error:
        raise DataException("Invalid bytes for Decimal field") from error


def _days_or_ms(name: str, convert: Callable[[Schema, int], Any]) -> Callable[[Schema, Any], Any]:
    def read(schema: Schema, node: Any) -> Any:
        if not _is_integer(node) or not -(1 << 31) <= node < 1 << 31:
            kind = node_type(node)
            raise DataException(f"Invalid type for {name}, underlying representation should be integer but was {kind}")
        return convert(schema, node)

    return read


def _timestamp(schema: Schema, node: Any) -> Any:
    if not _is_integer(node):
        kind = node_type(node)
        raise DataException(f"Invalid type for Timestamp, underlying representation should be integral but was {kind}")
    return timestamp_from_ms(schema, long_value(node))


_LOGICAL: dict[str, Callable[[Schema, Any], Any]] = {
    DECIMAL: _decimal,
    DATE: _days_or_ms("Date", date_from_days),
    TIME: _days_or_ms("Time", time_from_ms),
    TIMESTAMP: _timestamp,
}
