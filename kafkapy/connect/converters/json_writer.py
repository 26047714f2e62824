"""Writes values as JSON, each as its schema says."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from kafkapy.common.java_text import java_double, java_float
from kafkapy.connect.converters.json_text import json_string
from kafkapy.connect.data.conversions import schema_type
from kafkapy.connect.data.decimals import decimal_text
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.logical import date_to_days, decimal_to_bytes, time_to_ms, timestamp_to_ms
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct, fits_type
from kafkapy.connect.errors import DataException

_TIMES = {
    DATE: ("Date", date_to_days),
    TIME: ("Time", time_to_ms),
    TIMESTAMP: ("Timestamp", timestamp_to_ms),
}
_SCHEMAS_KEPT = 1000


class JsonDataWriter:
    """Writes JSON.

    Args:
        numeric_decimals: Decimals are numbers, not base 64.
        use_defaults: The default of a field stands for a None.
        map_entries: Which maps with a schema are arrays of objects `{"key": …, "value": …}`: `documents` are those whose keys are
            no strings, `all` are all. Default: `pairs`, none; maps whose keys are no strings are arrays of pairs.

    Example:
        >>> from kafkapy.connect.data.schema import BYTES_SCHEMA
        >>> JsonDataWriter(False, True).text(BYTES_SCHEMA, b"ab")
        '"YWI="'
    """

    def __init__(
        self, numeric_decimals: bool, use_defaults: bool, map_entries: Literal["pairs", "documents", "all"] = "pairs"
    ) -> None:
        self._numeric_decimals, self._use_defaults = numeric_decimals, use_defaults
        self._members = SchemaCache[Schema, list[_Member]](_SCHEMAS_KEPT)
        self._map_entries = map_entries

    def text(self, schema: Schema | None, value: Any) -> str:
        """Return the JSON of a value.

        Args:
            schema: None: the value has none.
            value: The value.

        Raises:
            DataException: The value does not fit the schema.
        """
        if value is None:
            return self._null(schema)
        if schema is None:
            kind = schema_type(value)
            if kind is None:
                name = java_class_name(value)
                raise DataException(f"Java class class {name} does not have corresponding schema type.")
            return self._plain(None, kind, value)
        if schema.name is not None:
            if schema.name == DECIMAL:
                return self._decimal(schema, value)
            if schema.name in _TIMES:
                return _time(schema, value)
        if not fits_type(schema.type, value):
            raise DataException(_mismatch(schema.type, value))
        return self._plain(schema, schema.type, value)

    def _null(self, schema: Schema | None) -> str:
        if schema is None:
            return "null"
        if schema.default is not None and self._use_defaults:
            return self.text(schema, schema.default)
        if schema.optional:
            return "null"
        raise DataException("Conversion error: null value for field that is required and has no default value")

    def _decimal(self, schema: Schema, value: Any) -> str:
        if not isinstance(value, Decimal):
            raise DataException(f"Invalid type for Decimal, expected BigDecimal but was class {java_class_name(value)}")
        return decimal_text(value) if self._numeric_decimals else _base64(decimal_to_bytes(schema, value))

    def _plain(self, schema: Schema | None, kind: Type, value: Any) -> str:
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            return scalar(value)
        match kind:
            case Type.ARRAY:
                items = None if schema is None else schema.value_schema
                return f"[{','.join([self.text(items, each) for each in value])}]"
            case Type.MAP:
                return self._map(schema, value)
            case _:
                return self._struct(schema, value)

    def _map(self, schema: Schema | None, value: dict[Any, Any]) -> str:
        keys = values = None
        if schema is not None:
            keys, values = schema.key_schema, schema.value_schema
        has_names = keys.type is Type.STRING if keys is not None else all(isinstance(key, str) for key in value)
        if has_names and (keys is None or self._map_entries != "all"):
            members = {self._key(keys, key): self.text(values, each) for key, each in value.items()}
            return f"{{{','.join([f'{name}:{text}' for name, text in members.items()])}}}"
        if keys is not None and self._map_entries != "pairs":
            entries = [f'{{"key":{self.text(keys, k)},"value":{self.text(values, v)}}}' for k, v in value.items()]
            return f"[{','.join(entries)}]"
        pairs = [f"[{self.text(keys, key)},{self.text(values, each)}]" for key, each in value.items()]
        return f"[{','.join(pairs)}]"

    def _key(self, schema: Schema | None, key: Any) -> str:
        text = self.text(schema, key)
        return text if text.startswith('"') else f'"{text}"'

    def _struct(self, schema: Schema | None, value: Struct) -> str:
        if value.schema != schema:
            raise DataException("Mismatching schema." if schema else "Couldn't convert a struct without its schema.")
        shown = [
            member.begin + (member.write(each) if type(each) is member.kind else self.text(member.schema, each))
            for member, each in zip(self._members.get(schema, _members), value.values(), strict=True)
        ]
        return f"{{{','.join(shown)}}}"


class _Member(NamedTuple):
    """How the values of a field are written. `begin`: the member's name; `write`: writes values of the class `kind`."""

    begin: str
    schema: Schema
    kind: type | None
    write: Callable[[Any], str]


def _members(schema: Schema) -> list[_Member]:
    fields = [(json_string(field.name), field.schema) for field in schema.fields]
    return [_Member(f"{name}:", own, own.value_class, _SCALARS.get(own.type, str)) for name, own in fields]


def _mismatch(kind: Type, value: Any) -> str:
    name = f"class {java_class_name(value)}"
    return f"Invalid type for bytes type: {name}" if kind is Type.BYTES else f"Invalid type for {kind}: {name}"


def _time(schema: Schema, value: Any) -> str:
    name, convert = _TIMES[schema.name or ""]
    if not isinstance(value, Instant):
        raise DataException(f"Invalid type for {name}, expected Date but was class {java_class_name(value)}")
    return java_str(convert(schema, value))


def _base64(data: bytes) -> str:
    return f'"{base64.b64encode(data).decode()}"'


def _boolean(value: Any) -> str:
    return "true" if value else "false"


def _float(value: Any) -> str:
    return java_float(value) if math.isfinite(value) else f'"{java_float(value)}"'


def _double(value: Any) -> str:
    return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'


_SCALARS: dict[Type, Callable[[Any], str]] = {
    Type.INT8: int.__repr__,
    Type.INT16: int.__repr__,
    Type.INT32: int.__repr__,
    Type.INT64: int.__repr__,
    Type.FLOAT32: _float,
    Type.FLOAT64: _double,
    Type.BOOLEAN: _boolean,
    Type.STRING: json_string,
    Type.BYTES: _base64,
}
