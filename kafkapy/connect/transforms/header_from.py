"""Copies or moves fields to headers (`org.apache.kafka.connect.transforms.HeaderFrom`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import OneOf
from kafkapy.common.java_hash_order import hash_map_copy
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import NonEmptyList
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import NullPointerException
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


def _define() -> ConfigDef:
    definitions = ConfigDef()
    for name, doc in (("fields", "Names of the fields."), ("headers", "Names of their headers, in the same order.")):
        definitions.define(name, ConfigType.LIST, validator=NonEmptyList(), importance=Importance.HIGH, doc=doc)
    definitions.define(
        "operation",
        validator=OneOf("move", "copy"),
        importance=Importance.HIGH,
        doc="`move` removes the fields from the key or value, `copy` leaves them there.",
    )
    return define_use_defaults(definitions)


class HeaderFrom(SidedTransformation):
    """Adds a header for each of some fields.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = HeaderFromOnValue()
        >>> transform.configure({"fields": "a", "headers": "h", "operation": "move"})
        >>> record = transform.apply(SourceRecord({}, {}, "topic", value={"a": 1}))
        >>> record.headers.last_with_name("h").value, record.value
        (1, {})
    """

    _DEFINITIONS = _define()

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._fields: list[str] = parsed["fields"]
        self._headers: list[str] = parsed["headers"]
        if len(self._fields) != len(self._headers):
            raise ConfigException("'fields' config must have the same number of elements as 'headers' config.")
        self._operation: str = parsed["operation"]
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        return self._without_schema(record, value) if schema is None else self._with_schema(record, value, schema)

    def _without_schema(self, record: R, value: Any) -> R:
        entries = require_map(value, f"header {self._operation}")
        rest, headers = hash_map_copy(entries), record.headers.duplicate()
        for name, header in zip(self._fields, self._headers, strict=True):
            if self._operation == "move":
                rest.pop(name, None)
            headers.add(header, entries.get(name))
        return self.with_value(record, None, rest, headers)

    def _with_schema(self, record: R, value: Any, schema: Schema) -> R:
        struct, headers = require_struct(value, f"header {self._operation}"), record.headers.duplicate()
        rest = struct
        rest_schema = schema
        if self._operation == "move":
            rest_schema = self._schemas.get(schema, self._without_fields)
            values = [field_value(struct, field, self._use_defaults) for field in rest_schema.fields]
            rest = Struct.of_values(rest_schema, values)
        for name, header in zip(self._fields, self._headers, strict=True):
            own, found = struct.schema.field(name), schema.field(name)
            moved = None if own is None else field_value(struct, own, self._use_defaults)
            if found is None:
                raise NullPointerException(f"There is no field {name}")
            headers.add(header, moved, found.schema)
        return self.with_value(record, rest_schema, rest, headers)

    def _without_fields(self, schema: Schema) -> Schema:
        builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
        for field in schema.fields:
            if field.name not in self._fields:
                builder.field(field.name, field.schema)
        return builder.build()


class HeaderFromOnKey(OnKey, HeaderFrom):
    """`HeaderFrom$Key`."""

    java_class = "org.apache.kafka.connect.transforms.HeaderFrom$Key"


class HeaderFromOnValue(OnValue, HeaderFrom):
    """`HeaderFrom$Value`."""

    java_class = "org.apache.kafka.connect.transforms.HeaderFrom$Value"
