"""Hides values of fields (`org.apache.kafka.connect.transforms.MaskField`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import NonEmptyString
from kafkapy.common.java_hash_order import hash_map, hash_map_copy
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import NonEmptyList
from kafkapy.connect.data.conversions import (
    convert_to_byte,
    convert_to_double,
    convert_to_float,
    convert_to_integer,
    convert_to_long,
    convert_to_short,
)
from kafkapy.connect.data.decimals import parse_decimal
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.scalars import BigInt, Float32, Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException, NumberFormatException
from kafkapy.connect.transforms.requirements import (
    USE_DEFAULTS,
    define_use_defaults,
    require_map,
    require_struct,
)
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation

_PURPOSE = "mask fields"
_EMPTY: dict[type, Any] = {
    bool: False,
    Int8: Int8(0),
    Int16: Int16(0),
    Int32: Int32(0),
    Int64: Int64(0),
    int: 0,
    Float32: Float32(0.0),
    float: 0.0,
    BigInt: BigInt(0),
    Decimal: Decimal(0),
    Instant: Instant(0),
    str: "",
}


def _big_integer(text: str) -> BigInt:
    if not re.fullmatch(r"[+-]?\d+", text) or len(text) > 4000:
        raise NumberFormatException(f'For input string: "{text[:100]}"')
    return BigInt(text)


_REPLACE: dict[type, Callable[[str], Any]] = {
    Int8: lambda text: convert_to_byte(None, text),
    Int16: lambda text: convert_to_short(None, text),
    Int32: lambda text: convert_to_integer(None, text),
    Int64: lambda text: convert_to_long(None, text),
    int: lambda text: convert_to_long(None, text),
    Float32: lambda text: convert_to_float(None, text),
    float: lambda text: convert_to_double(None, text),
    str: lambda text: text,
    Decimal: parse_decimal,
    BigInt: _big_integer,
}


def _define() -> ConfigDef:
    definitions = ConfigDef()
    definitions.define(
        "fields",
        ConfigType.LIST,
        validator=NonEmptyList(),
        importance=Importance.HIGH,
        doc="Names of the fields that are hidden.",
    )
    definitions.define(
        "replacement",
        ConfigType.STRING,
        None,
        validator=NonEmptyString(),
        importance=Importance.LOW,
        doc="What numbers and texts become. Default: 0, or the empty text.",
    )
    return define_use_defaults(definitions)


class MaskField(SidedTransformation):
    """Replaces values of fields by 0, False, an empty text, list or map, or by a fixed number or text.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = MaskFieldOnValue()
        >>> transform.configure({"fields": "a"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"a": "secret"})).value
        {'a': ''}
    """

    _DEFINITIONS = _define()

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._fields = hash_map(dict.fromkeys(parsed["fields"]))
        self._replacement: str | None = parsed["replacement"]
        self._use_defaults: bool = parsed[USE_DEFAULTS]

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if schema is None:
            entries = require_map(value, _PURPOSE)
            masked = {name: self._masked(entries.get(name)) for name in self._fields}
            return self.with_value(record, None, hash_map_copy(entries, masked))
        struct = require_struct(value, _PURPOSE)
        values = struct.values(self._use_defaults)
        for field in struct.schema.fields:
            if field.name in self._fields:
                values[field.index] = self._masked(values[field.index])
        return self.with_value(record, schema, Struct.of_values(struct.schema, values))

    def _masked(self, value: Any) -> Any:
        if value is None:
            return None
        return _emptied(value) if self._replacement is None else _replaced(value, self._replacement)


def _emptied(value: Any) -> Any:
    known = _EMPTY.get(type(value))
    if known is not None:
        return known
    if isinstance(value, list):
        return []
    if isinstance(value, dict):
        return {}
    raise DataException(f"Cannot mask value of type: class {java_class_name(value)}")


def _replaced(value: Any, replacement: str) -> Any:
    convert = _REPLACE.get(type(value))
    if convert is None:
        raise DataException(f"Cannot mask value of type class {java_class_name(value)} with custom replacement.")
    try:
        return convert(replacement)
    except NumberFormatException as error:
        raise DataException(f"Unable to convert {replacement} (class java.lang.String) to number") from error


class MaskFieldOnKey(OnKey, MaskField):
    """`MaskField$Key`."""

    java_class = "org.apache.kafka.connect.transforms.MaskField$Key"


class MaskFieldOnValue(OnValue, MaskField):
    """`MaskField$Value`."""

    java_class = "org.apache.kafka.connect.transforms.MaskField$Value"
