"""Sets name and version of a schema (`org.apache.kafka.connect.transforms.SetSchemaMetadata`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.transforms.requirements import SCHEMAS_KEPT, USE_DEFAULTS, define_use_defaults
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation


def _define() -> ConfigDef:
    definitions = ConfigDef()
    definitions.define("schema.name", ConfigType.STRING, None, importance=Importance.HIGH, doc="The schema's name.")
    definitions.define("schema.version", ConfigType.INT, None, importance=Importance.HIGH, doc="The schema's version.")
    return define_use_defaults(definitions)


class SetSchemaMetadata(SidedTransformation):
    """Sets name, version or both of a struct's schema.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = SetSchemaMetadataOnValue()
        >>> transform.configure({"schema.name": "Row"})
        >>> schema = Schema(Type.STRUCT)
        >>> transform.apply(SourceRecord({}, {}, "topic", value_schema=schema, value=Struct(schema))).value_schema
        Schema{Row:STRUCT}
    """

    _DEFINITIONS = _define()

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._name: str | None = parsed["schema.name"]
        self._version: int | None = parsed["schema.version"]
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        if self._name is None and self._version is None:
            raise ConfigException("Neither schema name nor version configured")
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if value is None and schema is None:
            return record
        if schema is None:
            raise DataException("Schema required for [updating schema metadata]")
        updated = self._schemas.get(schema, self._updated)
        return self.with_value(record, updated, self._with_schema(value, updated))

    def _updated(self, schema: Schema) -> Schema:
        return Schema(
            schema.type,
            schema.optional,
            schema.default,
            schema.name if self._name is None else self._name,
            schema.version if self._version is None else self._version,
            schema.doc,
            schema.parameters,
            schema.fields,
            schema.key_schema if schema.type is Type.MAP else None,
            schema.value_schema if schema.type in (Type.MAP, Type.ARRAY) else None,
        )

    def _with_schema(self, value: Any, schema: Schema) -> Any:
        if not isinstance(value, Struct):
            return value
        return Struct.of_values(schema, value.values(self._use_defaults))


class SetSchemaMetadataOnKey(OnKey, SetSchemaMetadata):
    """`SetSchemaMetadata$Key`."""

    java_class = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key"


class SetSchemaMetadataOnValue(OnValue, SetSchemaMetadata):
    """`SetSchemaMetadata$Value`."""

    java_class = "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"
