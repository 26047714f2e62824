"""Flattens nested fields (`org.apache.kafka.connect.transforms.Flatten`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import Importance
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.conversions import schema_type
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ClassCastException, DataException
from kafkapy.connect.transforms.requirements import SCHEMAS_KEPT, copied_basics, require_map, require_struct
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation

_PURPOSE = "flattening"


class Flatten(SidedTransformation):
    """Flattens structs and maps; a field's name is prefixed by its parents' names. Arrays remain unchanged.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = FlattenOnValue()
        >>> transform.configure({})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"a": {"b": 1}})).value
        {'a.b': 1}
    """

    _DEFINITIONS = ConfigDef().define(
        "delimiter", default=".", importance=Importance.MEDIUM, doc="Stands between the names of parent and field."
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        self._delimiter: str = self._DEFINITIONS.parse(configs)["delimiter"]
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if value is None:
            return record
        if schema is None:
            entries: dict[str, Any] = {}
            self._flatten_map(require_map(value, _PURPOSE), "", entries)
            return self.with_value(record, None, entries)
        struct = require_struct(value, _PURPOSE)
        updated = self._schemas.get(schema, self._updated)
        result = Struct(updated)
        self._flatten_struct(struct, "", result)
        return self.with_value(record, updated, result)

    def _name(self, prefix: str, name: Any) -> str:
        if not isinstance(name, str):
            raise ClassCastException(f"class {java_class_name(name)} cannot be cast to class java.lang.String")
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _flatten_map(self, value: dict[str, Any], prefix: str, entries: dict[str, Any]) -> None:
        for key, each in value.items():
            name = self._name(prefix, key)
            kind = None if each is None else schema_type(each)
            if each is not None and kind is None:
                raise DataException(
                    f"Flatten transformation was passed a value of type class {java_class_name(each)} which is not "
                    "supported by Connect's data API"
                )
            if kind is Type.STRUCT:
                raise DataException(
                    f"Flatten transformation does not support class {java_class_name(each)} for record without "
                    f"schemas (for field {name})."
                )
            if kind is Type.MAP:
                self._flatten_map(each, name, entries)
            else:
                entries[name] = each

    def _updated(self, schema: Schema) -> Schema:
        builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
        self._add_fields(schema, "", builder, schema.optional, schema.default)
        return builder.build()

    def _add_fields(self, schema: Schema, prefix: str, builder: SchemaBuilder, optional: bool, default: Any) -> None:
        for field in schema.fields:
            name = self._name(prefix, field.name)
            optional_here = optional or field.schema.optional
            default_here = field.schema.default
            if default_here is None and default is not None:
                default_here = default.get(field.name)
            if field.schema.type is Type.MAP:
                raise _unsupported(field.schema.type, name)
            if field.schema.type is Type.STRUCT:
                self._add_fields(field.schema, name, builder, optional_here, default_here)
            else:
                builder.field(name, _flat(field.schema, optional_here, default_here))

    def _flatten_struct(self, struct: Struct | None, prefix: str, result: Struct) -> None:
        if struct is None:
            return
        for field in struct.schema.fields:
            name = self._name(prefix, field.name)
            if field.schema.type is Type.MAP:
                raise _unsupported(field.schema.type, name)
            if field.schema.type is Type.STRUCT:
                self._flatten_struct(struct.get(field.name), name, result)
            else:
                result.put(name, struct.get(field.name))


def _unsupported(kind: Type, name: str) -> DataException:
    return DataException(f"Flatten transformation does not support {kind} for record with schemas (for field {name}).")


def _flat(schema: Schema, optional: bool, default: Any) -> Schema:
    builder = copied_basics(schema)
    if optional:
        builder.optional()
    if default is not None:
        builder.default(default)
    return builder.build()


class FlattenOnKey(OnKey, Flatten):
    """`Flatten$Key`."""

    java_class = "org.apache.kafka.connect.transforms.Flatten$Key"


class FlattenOnValue(OnValue, Flatten):
    """`Flatten$Value`."""

    java_class = "org.apache.kafka.connect.transforms.Flatten$Value"
