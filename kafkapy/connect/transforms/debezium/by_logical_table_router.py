"""Sends the events of several tables to one topic (`io.debezium.transforms.ByLogicalTableRouter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.patterns import java
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import RegexPattern
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.transforms.debezium.envelopes import is_envelope
from kafkapy.connect.transforms.requirements import SCHEMAS_KEPT, require_struct
from kafkapy.connect.transforms.transformation import R, Transformation

_IDENTIFIER: Final = "__dbz__physicalTableIdentifier"


class ByLogicalTableRouter(Transformation):
    """Replaces the topic, and the names of the schemas of key and value, if a regular expression matches the topic.

    Settings:
        topic.regex, topic.replacement: Both are required. Matches the whole topic; `$1` stands for the first group.
        key.enforce.uniqueness (true): Whether the key has a field `__dbz__physicalTableIdentifier` besides, with the old
            topic, or with what `key.field.replacement` makes of it where `key.field.regex` matches.

    Raises:
        ConfigException: Only one of `key.field.regex` and `key.field.replacement` is given.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> router = ByLogicalTableRouter()
        >>> router.configure({"topic.regex": "(.*)_[0-9]+", "topic.replacement": "$1"})
        >>> router.apply(SourceRecord({}, {}, "orders_1")).topic
        'orders'
    """

    java_class = "io.debezium.transforms.ByLogicalTableRouter"
    version = "undefined"
    _DEFINITIONS = (
        ConfigDef()
        .define("topic.regex", validator=RegexPattern(), doc="Matches the topics that are replaced.")
        .define("topic.replacement", doc="The new topic.")
        .define("key.enforce.uniqueness", ConfigType.BOOLEAN, True, doc="Whether keys have the old topic besides.")
        .define("key.field.regex", default=None, doc="Matches the old topic in keys.")
        .define("key.field.replacement", default=None, doc="Replaces the old topic in keys.")
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._topics = java(parsed["topic.regex"])
        self._replacement: str = parsed["topic.replacement"]
        self._unique: bool = parsed["key.enforce.uniqueness"]
        regex, self._key_replacement = parsed["key.field.regex"], parsed["key.field.replacement"]
        if (regex is None) != (self._key_replacement is None):
            raise ConfigException("key.field.regex and key.field.replacement belong together; set both or none")
        self._keys = None if regex is None else java(regex)
        self._schemas = SchemaCache[tuple[Schema, str, bool], Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        old = record.topic or ""
        if not self._topics.fullmatch(old):
            return record
        new = self._topics.replace_first(old, self._replacement)
        if not new.strip():
            return record
        changed = record.replace(topic=new)
        if isinstance(record.key, Struct):
            changed = self._with_key(changed, record.key, new, old)
        return self._with_value(changed, new) if is_envelope(record) and record.value is not None else changed

    def _with_key(self, record: R, key: Struct, topic: str, old: str) -> R:
        schema = self._schemas.get((key.schema, f"{topic}.Key", self._unique), _renamed)
        made = Struct(schema, _values(key))
        if self._unique:
            matches = self._keys is not None and self._keys.fullmatch(old)
            shown = self._keys.replace_first(old, self._key_replacement) if self._keys and matches else old
            made.put(_IDENTIFIER, shown)
        return record.replace(key_schema=schema, key=made)

    def _with_value(self, record: R, topic: str) -> R:
        event = require_struct(record.value, "schema renaming")
        schema = self._schemas.get((event.schema, topic, False), _envelope)
        values = _values(event)
        for name in ("before", "after"):
            field, row = schema.field(name), values.get(name)
            if field is not None and isinstance(row, Struct):
                values[name] = Struct(field.schema, _values(row))
        return record.replace(value_schema=schema, value=Struct(schema, values))


def _values(struct: Struct) -> dict[str, Any]:
    return {field.name: struct.get(field.name) for field in struct.schema.fields}


def _renamed(key: tuple[Schema, str, bool]) -> Schema:
    schema, name, with_identifier = key
    builder = SchemaBuilder(Type.STRUCT).name(name).version(schema.version).doc(schema.doc)
    builder.parameters(schema.parameters or {})
    for field in schema.fields:
        builder.field(field.name, field.schema)
    if with_identifier and schema.field(_IDENTIFIER) is None:
        builder.field(_IDENTIFIER, STRING_SCHEMA)
    return builder.optional().build() if schema.optional else builder.build()


def _envelope(key: tuple[Schema, str, bool]) -> Schema:
    schema, topic, _ = key
    builder = SchemaBuilder(Type.STRUCT).name(f"{topic}.Envelope").version(schema.version).doc(schema.doc)
    builder.parameters(schema.parameters or {})
    for field in schema.fields:
        is_row = field.name in ("before", "after") and field.schema.type is Type.STRUCT
        builder.field(field.name, _renamed((field.schema, f"{topic}.Value", False)) if is_row else field.schema)
    return builder.build()
