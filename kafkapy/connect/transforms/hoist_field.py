"""Wraps a key or value in a struct or map with one field (`org.apache.kafka.connect.transforms.HoistField`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.config_def import Importance
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.transforms.requirements import SCHEMAS_KEPT
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation


class HoistField(SidedTransformation):
    """Wraps data; without a schema in a map.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = HoistFieldOnValue()
        >>> transform.configure({"field": "a"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value=1)).value
        {'a': 1}
    """

    _DEFINITIONS = ConfigDef().define("field", importance=Importance.MEDIUM, doc="Name of the only field.")

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        self._field: str = self._DEFINITIONS.parse(configs)["field"]
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if schema is None:
            return self.with_value(record, None, {self._field: value})
        updated = self._schemas.get(schema, self._wrapped)
        return self.with_value(record, updated, Struct(updated).put(self._field, value))

    def _wrapped(self, schema: Schema) -> Schema:
        return SchemaBuilder(Type.STRUCT).field(self._field, schema).build()


class HoistFieldOnKey(OnKey, HoistField):
    """`HoistField$Key`."""

    java_class = "org.apache.kafka.connect.transforms.HoistField$Key"


class HoistFieldOnValue(OnValue, HoistField):
    """`HoistField$Value`."""

    java_class = "org.apache.kafka.connect.transforms.HoistField$Value"
