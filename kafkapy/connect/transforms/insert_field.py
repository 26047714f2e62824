"""Adds fields with a record's metadata or a fixed text (`org.apache.kafka.connect.transforms.InsertField`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.java_hash_order import hash_map_copy
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import TIMESTAMP_SCHEMA, timestamp_builder
from kafkapy.connect.data.scalars import Instant, Int32, Int64
from kafkapy.connect.data.schema import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.records import ConnectRecord
from kafkapy.connect.transforms.requirements import (
    SCHEMAS_KEPT,
    USE_DEFAULTS,
    copied_basics,
    define_use_defaults,
    require_map,
    require_sink_record,
    require_struct,
)
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation

_PURPOSE = "field insertion"
_SCHEMAS: dict[str, tuple[Schema, Schema]] = {
    "topic.field": (STRING_SCHEMA, OPTIONAL_STRING_SCHEMA),
    "partition.field": (INT32_SCHEMA, OPTIONAL_INT32_SCHEMA),
    "offset.field": (INT64_SCHEMA, OPTIONAL_INT64_SCHEMA),
    "timestamp.field": (TIMESTAMP_SCHEMA, timestamp_builder().optional().build()),
    "static.field": (STRING_SCHEMA, OPTIONAL_STRING_SCHEMA),
}
"""Schemas of what is inserted, required and optional, in the order in which it is inserted."""
_DOCS = {
    "topic.field": "Field for the topic.",
    "partition.field": "Field for the partition.",
    "offset.field": "Field for the offset; of sinks only.",
    "timestamp.field": "Field for the timestamp.",
    "static.field": "Field for a fixed text.",
}


class _Insertion(NamedTuple):
    """A field to be inserted. `kind` is the setting that names it."""

    kind: str
    name: str
    optional: bool

    @classmethod
    def parse(cls, kind: str, text: str) -> _Insertion:
        return cls(kind, text[:-1] if text[-1:] in ("?", "!") else text, text[-1:] != "!")


def _define() -> ConfigDef:
    definitions = ConfigDef()
    for name, doc in _DOCS.items():
        optional = f"{doc} A `!` at the end makes it a required field; `?`, the default, an optional one."
        definitions.define(name, ConfigType.STRING, None, importance=Importance.MEDIUM, doc=optional)
    definitions.define(
        "static.value", ConfigType.STRING, None, importance=Importance.MEDIUM, doc="Text for `static.field`."
    )
    return define_use_defaults(definitions)


class InsertField(SidedTransformation):
    """Adds fields.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = InsertFieldOnValue()
        >>> transform.configure({"topic.field": "a"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"b": 1})).value
        {'a': 'topic', 'b': 1}
    """

    _DEFINITIONS = _define()

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._insertions = [_Insertion.parse(kind, parsed[kind]) for kind in _SCHEMAS if parsed[kind] is not None]
        self._text: str | None = parsed["static.value"]
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        if not self._insertions:
            raise ConfigException("No field insertion configured")
        if parsed["static.field"] is not None and self._text is None:
            name = parsed["static.field"]
            raise ConfigException.invalid("static.value", None, f"No value specified for static field: {name}")
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value = self.value_of(record)
        if value is None:
            return record
        if self.schema_of(record) is None:
            entries = require_map(value, _PURPOSE)
            inserted = {
                name: Int64(each.ms) if isinstance(each, Instant) else each for name, each in self._inserted(record)
            }
            return self.with_value(record, None, hash_map_copy(entries, inserted))
        struct = require_struct(value, _PURPOSE)
        schema = self._schemas.get(struct.schema, self._updated)
        updated = Struct.of_values(schema, struct.values(self._use_defaults))
        for name, each in self._inserted(record):
            updated.put(name, each)
        return self.with_value(record, schema, updated)

    def _inserted(self, record: ConnectRecord) -> Iterator[tuple[str, Any]]:
        for insertion in self._insertions:
            match insertion.kind:
                case "topic.field":
                    yield insertion.name, record.topic
                case "partition.field" if record.kafka_partition is not None:
                    yield insertion.name, Int32(record.kafka_partition)
                case "offset.field":
                    yield insertion.name, Int64(require_sink_record(record, _PURPOSE).kafka_offset)
                case "timestamp.field" if record.timestamp is not None:
                    yield insertion.name, Instant(record.timestamp)
                case "static.field":
                    yield insertion.name, self._text

    def _updated(self, schema: Schema) -> Schema:
        builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
        for field in schema.fields:
            builder.field(field.name, field.schema)
        for insertion in self._insertions:
            builder.field(insertion.name, _SCHEMAS[insertion.kind][insertion.optional])
        return builder.build()


class InsertFieldOnKey(OnKey, InsertField):
    """`InsertField$Key`."""

    java_class = "org.apache.kafka.connect.transforms.InsertField$Key"


class InsertFieldOnValue(OnValue, InsertField):
    """`InsertField$Value`."""

    java_class = "org.apache.kafka.connect.transforms.InsertField$Value"
