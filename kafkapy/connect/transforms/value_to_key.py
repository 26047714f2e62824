"""Builds the key from fields of the value (`org.apache.kafka.connect.transforms.ValueToKey`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.config_def import Importance
from kafkapy.common.java_hash_order import hash_map, power_of_two
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import NonEmptyList
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.transforms.requirements import (
    SCHEMAS_KEPT,
    USE_DEFAULTS,
    define_use_defaults,
    require_map,
    require_struct,
)
from kafkapy.connect.transforms.transformation import R, Transformation

_PURPOSE = "copying fields from value to key"


class ValueToKey(Transformation):
    """Copies fields of the value to a new key.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = ValueToKey()
        >>> transform.configure({"fields": "a"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"a": 1, "b": 2})).key
        {'a': 1}
    """

    java_class = "org.apache.kafka.connect.transforms.ValueToKey"
    _DEFINITIONS = define_use_defaults(
        ConfigDef().define(
            "fields",
            ConfigType.LIST,
            validator=NonEmptyList(),
            importance=Importance.HIGH,
            doc="Names of the fields that make the key.",
        )
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._fields: list[str] = parsed["fields"]
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        if record.value_schema is None:
            value = require_map(record.value, _PURPOSE)
            entries = {name: value.get(name) for name in self._fields}
            key = hash_map(entries, power_of_two(len(self._fields)))
            return record.replace(key_schema=None, key=key)
        struct = require_struct(record.value, _PURPOSE)
        schema = self._schemas.get(struct.schema, self._key_schema)
        get = struct.get if self._use_defaults else struct.get_without_default
        made = Struct.of_values(schema, [get(name) for name in self._fields])
        return record.replace(key_schema=schema, key=made, value_schema=struct.schema)

    def _key_schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder(Type.STRUCT)
        for name in self._fields:
            field = schema.field(name)
            if field is None:
                raise DataException(f"Field does not exist: {name}")
            builder.field(name, field.schema)
        return builder.build()
