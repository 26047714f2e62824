"""Converts times between their representations (`org.apache.kafka.connect.transforms.TimestampConverter`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import OneOf
from kafkapy.common.java_date_format import date_format, utc
from kafkapy.common.java_date_parse import date_parser
from kafkapy.common.java_hash_order import hash_map_copy
from kafkapy.common.java_text import java_trim
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import wrap
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.logical import DAY_MS, date_builder, time_builder, timestamp_builder
from kafkapy.connect.data.scalars import Instant, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import DATE, TIME, TIMESTAMP, Struct
from kafkapy.connect.errors import ConnectException, DataException, NullPointerException
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

_PURPOSE: Final = "converting timestamp formats"
_BUILDERS: dict[str, Callable[[], SchemaBuilder]] = {
    "string": lambda: SchemaBuilder(Type.STRING),
    "unix": lambda: SchemaBuilder(Type.INT64),
    "Date": date_builder,
    "Time": time_builder,
    "Timestamp": timestamp_builder,
}
_LOGICAL = {DATE: "Date", TIME: "Time", TIMESTAMP: "Timestamp"}
_UNITS_PER_SECOND = {"seconds": 1, "milliseconds": 1000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}
_MOST: Final = (1 << 63) - 1


def _define() -> ConfigDef:
    definitions = ConfigDef()
    definitions.define(
        "field",
        default="",
        importance=Importance.HIGH,
        doc="Field with the time. Empty: the whole key or value is one.",
    )
    definitions.define(
        "target.type",
        validator=OneOf(*_BUILDERS),
        importance=Importance.HIGH,
        doc="What the time becomes: string, unix, Date, Time, or Timestamp.",
    )
    definitions.define(
        "format",
        default="",
        importance=Importance.MEDIUM,
        doc="Pattern of texts, those that are read and those that are written, as `java.text.SimpleDateFormat` has it.",
    )
    definitions.define(
        "unix.precision",
        default="milliseconds",
        validator=OneOf("nanoseconds", "microseconds", "milliseconds", "seconds"),
        importance=Importance.LOW,
        doc="Unit of numbers, those that are read and those that are written. What is below a millisecond is lost.",
    )
    return define_use_defaults(definitions)


class TimestampConverter(SidedTransformation):
    """Converts a field, or the whole key or value; times are in UTC.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = TimestampConverterOnValue()
        >>> transform.configure({"target.type": "string", "format": "yyyy-MM-dd"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value=86400000)).value
        '1970-01-02'
    """

    _DEFINITIONS = _define()

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._field: str = parsed["field"]
        self._target: str = parsed["target.type"]
        self._pattern: str | None = parsed["format"] if java_trim(parsed["format"]) else None
        self._units: int = _UNITS_PER_SECOND[parsed["unix.precision"]]
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)
        if self._pattern is None:
            if self._target == "string":
                raise ConfigException(
                    "TimestampConverter requires format option to be specified when using string timestamps"
                )
            return
        try:
            self._show = date_format(self._pattern, utc)
            self._parse = date_parser(self._pattern, utc)
        except ValueError as error:
            raise ConfigException(
                "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: "
                f"{self._pattern}"
            ) from error

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if schema is None:
            return self.with_value(record, None, self._without_schema(value))
        if not self._field:
            updated = self._target_schema(schema.optional)
            return self.with_value(record, updated, self._converted(value, _type_of(schema)))
        struct = None if value is None else require_struct(value, _PURPOSE)
        updated = self._schemas.get(schema, self._updated)
        return self.with_value(record, updated, self._with_schema(struct, updated))

    def _without_schema(self, value: Any) -> Any:
        if value is None or not self._field:
            return self._converted(value, None)
        entries = require_map(value, _PURPOSE)
        return hash_map_copy(entries, {self._field: self._converted(entries.get(self._field), None)})

    def _with_schema(self, struct: Any, schema: Schema) -> Struct | None:
        if struct is None:
            return None
        updated = Struct(schema)
        for field in struct.schema.fields:
            each = field_value(struct, field, self._use_defaults)
            if field.name == self._field:
                each = self._converted(each, _type_of(field.schema))
            updated.put(field.name, each)
        return updated

    def _updated(self, schema: Schema) -> Schema:
        builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
        for field in schema.fields:
            target = self._target_schema(field.schema.optional) if field.name == self._field else field.schema
            builder.field(field.name, target)
        if schema.optional:
            builder.optional()
        if schema.default is not None:
            builder.default(self._with_schema(schema.default, builder.build()))
        return builder.build()

    def _target_schema(self, optional: bool) -> Schema:
        builder = _BUILDERS[self._target]()
        return (builder.optional() if optional else builder).build()

    def _converted(self, value: Any, source: str | None) -> Any:
        if value is None:
            return None
        return self._written(self._read(value, _guessed(value) if source is None else source))

    def _read(self, value: Any, source: str) -> int:
        """Milliseconds since 1970."""
        found = f"but found class {java_class_name(value)}"
        if source == "string":
            if not isinstance(value, str):
                raise DataException(f"Expected string timestamp to be a String, {found}")
            if self._pattern is None:
                raise NullPointerException()
            try:
                return self._parse(value)
            except ValueError as error:
                raise DataException(
                    f"Could not parse timestamp: value ({value}) does not match pattern ({self._pattern})"
                ) from error
        if source == "unix":
            if type(value) not in (int, Int64):
                raise DataException(f"Expected Unix timestamp to be a Long, {found}")
            return _scaled(value, self._units, 1000)
        if not isinstance(value, Instant):
            raise DataException(f"Expected {source} to be a java.util.Date, {found}")
        return value.ms

    def _written(self, ms: int) -> Any:
        match self._target:
            case "string":
                return self._show(ms)
            case "unix":
                return Int64(_scaled(ms, 1000, self._units))
            case "Date":
                return Instant(wrap(ms - ms % DAY_MS, 64))
            case "Time":
                return Instant(ms % DAY_MS)
        return Instant(ms)


def _scaled(number: int, per_second: int, wanted: int) -> int:
    """Convert to another unit as `TimeUnit` does: fractions are cut off, what is too large becomes the largest."""
    if wanted >= per_second:
        return max(-_MOST - 1, min(_MOST, number * (wanted // per_second)))
    factor = per_second // wanted
    return number // factor if number >= 0 else -(-number // factor)


def _type_of(schema: Schema) -> str:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name or ""]
    if schema.type is Type.STRING:
        return "string"
    if schema.type is Type.INT64:
        return "unix"
    raise ConnectException(f"Schema {schema} does not correspond to a known timestamp type format")


def _guessed(value: Any) -> str:
    if isinstance(value, Instant):
        return "Timestamp"
    if type(value) in (int, Int64):
        return "unix"
    if isinstance(value, str):
        return "string"
    kind = java_class_name(value)
    raise DataException(f"TimestampConverter does not support class {kind} objects as timestamps")


class TimestampConverterOnKey(OnKey, TimestampConverter):
    """`TimestampConverter$Key`."""

    java_class = "org.apache.kafka.connect.transforms.TimestampConverter$Key"


class TimestampConverterOnValue(OnValue, TimestampConverter):
    """`TimestampConverter$Value`."""

    java_class = "org.apache.kafka.connect.transforms.TimestampConverter$Value"
