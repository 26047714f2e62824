"""Casts fields, or a whole key or value, to another type (`org.apache.kafka.connect.transforms.Cast`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.java_hash_order import hash_map, hash_map_copy
from kafkapy.common.java_text import java_trim
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import Described
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.conversions import instant_text, schema_type
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.java_str import java_str
from kafkapy.connect.data.logical import date_to_days, time_to_ms, timestamp_to_ms
from kafkapy.connect.data.numbers import (
    byte_value,
    double_value,
    float32,
    int_value,
    is_number,
    long_value,
    short_value,
)
from kafkapy.connect.data.scalars import Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import DATE, TIME, TIMESTAMP, Struct
from kafkapy.connect.errors import DataException, NumberFormatException
from kafkapy.connect.transforms.java_split import java_split
from kafkapy.connect.transforms.requirements import (
    SCHEMAS_KEPT,
    USE_DEFAULTS,
    copied_basics,
    define_use_defaults,
    field_value,
    require_map,
    require_struct,
)
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation

_PURPOSE: Final = "cast types"
_TYPE_CLASS: Final = "org.apache.kafka.connect.data.Schema.Type"
_TARGETS: Final = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
    Type.BOOLEAN,
    Type.STRING,
)
_SOURCES: Final = (*_TARGETS, Type.BYTES)
_FLOAT_TEXT = re.compile(r"([+-]?)(NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?", re.ASCII)


def parse_casts(pairs: Sequence[str]) -> dict[str | None, Type]:
    """Return the type that each field is cast to; None stands for the whole value.

    Args:
        pairs: `field:type`, or one `type`.

    Raises:
        ConfigException: A type is unknown, or is none that can be cast to.

    Example:
        >>> parse_casts(["a:int8"])
        {'a': <Type.INT8: 'int8'>}
    """
    casts: dict[str | None, Type] = {}
    for pair in pairs:
        parts = java_split(pair, ":")
        if len(parts) > 2:
            raise ConfigException.invalid("renames", list(pairs), f"Invalid rename mapping: {pair}")
        name = None if len(parts) == 1 else java_trim(parts[0])
        casts[name] = _target(java_trim(parts[-1] if len(parts) == 1 else parts[1]))
    if None in casts and len(pairs) > 1:
        raise ConfigException(
            "Cast transformations that specify a type to cast the entire value to may only specify a single cast in "
            "their spec"
        )
    return casts


def _target(name: str) -> Type:
    try:
        kind = Type[name.upper()]
    except KeyError:
        cause = f"java.lang.IllegalArgumentException: No enum constant {_TYPE_CLASS}.{name.upper()}"
        raise ConfigException.invalid(f"Invalid type found in casting spec: {name}", cause) from None
    if kind not in _TARGETS:
        raise ConfigException(
            f"Cast transformation does not support casting to {kind}; supported types are {_names(_TARGETS)}"
        )
    return kind


def _names(kinds: Sequence[Type]) -> str:
    return f"[{', '.join(map(str, kinds))}]"


def _check(name: str, pairs: Sequence[str] | None) -> None:
    if not pairs:
        raise ConfigException("Must specify at least one field to cast.")
    parse_casts(pairs)


class Cast(SidedTransformation):
    """Casts.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = CastOnValue()
        >>> transform.configure({"spec": "a:string"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"a": 1})).value
        {'a': '1'}
    """

    _DEFINITIONS = define_use_defaults(
        ConfigDef().define(
            "spec",
            ConfigType.LIST,
            validator=Described(_check, "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"),
            importance=Importance.HIGH,
            doc=(
                "Pairs of field and type, or one type for the whole key or value: int8, int16, int32, int64, float32, "
                "float64, boolean or string. Bytes can be cast to string only."
            ),
        )
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._casts = hash_map(parse_casts(parsed["spec"]))  # the order decides which error is first
        self._whole = self._casts.get(None)
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if value is None:
            return record
        if schema is None:
            return self.with_value(record, None, self._without_schema(value))
        updated = self._schemas.get(schema, self._updated)
        if self._whole is not None:
            return self.with_value(record, updated, cast_value(schema, value, self._whole))
        struct = require_struct(value, _PURPOSE)
        result = Struct(updated)
        for field in struct.schema.fields:
            each = field_value(struct, field, self._use_defaults)
            target = self._casts.get(field.name)
            result.put(field.name, each if target is None else cast_value(field.schema, each, target))
        return self.with_value(record, updated, result)

    def _without_schema(self, value: Any) -> Any:
        if self._whole is not None:
            return cast_value(None, value, self._whole)
        entries: dict[Any, Any] = require_map(value, _PURPOSE)
        changes = {name: cast_value(None, entries.get(name), target) for name, target in self._casts.items()}
        return hash_map_copy(entries, changes)

    def _updated(self, schema: Schema) -> Schema:
        if self._whole is not None:
            builder = copied_basics(schema, SchemaBuilder(self._whole))
        else:
            builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
            for field in schema.fields:
                target = self._casts.get(field.name)
                builder.field(field.name, field.schema if target is None else _cast_field(field.schema, target))
        if schema.optional:
            builder.optional()
        if schema.default is not None:
            builder.default(cast_value(schema, schema.default, builder.type))
        return builder.build()


def _cast_field(schema: Schema, target: Type) -> Schema:
    builder = SchemaBuilder(target)
    if schema.optional:
        builder.optional()
    if schema.default is not None:
        builder.default(cast_value(schema, schema.default, target))
    return builder.build()


class CastOnKey(OnKey, Cast):
    """`Cast$Key`."""

    java_class = "org.apache.kafka.connect.transforms.Cast$Key"


class CastOnValue(OnValue, Cast):
    """`Cast$Value`."""

    java_class = "org.apache.kafka.connect.transforms.Cast$Value"


def cast_value(schema: Schema | None, value: Any, target: Type) -> Any:
    """Cast a value.

    Args:
        schema: The value's. None: it has none.
        value: None stays.
        target: The type.

    Raises:
        DataException: It cannot be cast.

    Example:
        >>> cast_value(None, "5", Type.INT8), cast_value(None, 300, Type.INT8)
        (5, 44)
    """
    if value is None:
        return None
    source = schema_type(value) if schema is None else schema.type
    if source is None:
        raise DataException(
            f"Cast transformation was passed a value of type class {java_class_name(value)} which is not supported by "
            "Connect's data API"
        )
    if source not in _SOURCES:
        raise DataException(
            f"Cast transformation does not support casting from {source}; supported types are {_names(_SOURCES)}"
        )
    if target is Type.STRING:
        return _as_text(value)
    if schema is not None and schema.name in _ENCODE:
        value = _ENCODE[schema.name](schema, value)
    try:
        return _cast(value, target)
    except NumberFormatException as error:
        raise DataException(f"Value ({java_str(value)}) was out of range for requested data type") from error


_ENCODE: dict[str | None, Callable[[Schema, Any], Any]] = {
    DATE: date_to_days,
    TIME: time_to_ms,
    TIMESTAMP: timestamp_to_ms,
}


def _as_text(value: Any) -> str:
    if isinstance(value, Instant):
        return instant_text(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else java_str(value)


def _cast(value: Any, target: Type) -> Any:
    if target is Type.BOOLEAN:
        if is_number(value):
            return long_value(value) != 0
        if isinstance(value, str):
            return value.lower() == "true"
    if isinstance(value, bool):
        return value if target is Type.BOOLEAN else _NUMBERS[target](int(value))
    if is_number(value):
        return _NUMBERS[target](value)
    if not isinstance(value, str):
        raise DataException(f"Unexpected type in Cast transformation: class {java_class_name(value)}")
    if target in _INTEGERS:
        return _parse_integer(value, *_INTEGERS[target])
    return _NUMBERS[target](_parse_float(value))


_NUMBERS: dict[Type, Callable[[Any], Any]] = {
    Type.INT8: byte_value,
    Type.INT16: short_value,
    Type.INT32: int_value,
    Type.INT64: long_value,
    Type.FLOAT32: float32,
    Type.FLOAT64: double_value,
}
_INTEGERS: dict[Type, tuple[type, int]] = {
    Type.INT8: (Int8, 8),
    Type.INT16: (Int16, 16),
    Type.INT32: (Int32, 32),
    Type.INT64: (Int64, 64),
}


def _parse_integer(text: str, kind: type, bits: int) -> Any:
    """Read digits with an optional sign. Raises NumberFormatException."""
    if not re.fullmatch(r"[+-]?\d+", text) or len(text) > 1000:
        raise NumberFormatException(f'For input string: "{text[:100]}"')
    number = int(text)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise NumberFormatException(f'Value out of range. Value:"{text[:100]}" Radix:10')
    return kind(number)


def _parse_float(text: str) -> float:
    """Read as `Double.parseDouble`. Raises NumberFormatException."""
    match = _FLOAT_TEXT.fullmatch(java_trim(text))
    if match is not None and not (match[2] in ("NaN", "Infinity") and text.rstrip()[-1] in "fFdD"):
        return float(match[1] + match[2])
    try:
        if re.fullmatch(r"\s*[+-]?0[xX][\da-fA-F.]+[pP][+-]?\d+[fFdD]?\s*", text):
            return float.fromhex(text.strip().rstrip("fFdD"))
    except (ValueError, OverflowError):
        pass
    raise NumberFormatException(f'For input string: "{text[:100]}"')
