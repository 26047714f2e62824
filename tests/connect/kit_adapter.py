"""Kafkapy's side of the acceptance kit of Connect: `python kit_adapter.py transforms|converters < cases > results`.

The kit's folder is the present one, or named by the variable CONNECT_KIT; its `lib/adapter_template.py` does all that
is not said here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.data.decimals import decimal_of, scale_of, unscaled_of
from kafkapy.connect.data.scalars import BigInt, Float32, Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Field, Schema, Type
from kafkapy.connect.data.schema_and_value import NULL
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import NullPointerException, java_class_of
from kafkapy.connect.headers import Header, Headers
from kafkapy.connect.java_classes import TRANSFORMS, class_of
from kafkapy.connect.records import ConnectRecord, SinkRecord, SourceRecord

_KINDS: dict[str, type] = {
    "int8": Int8,
    "int16": Int16,
    "int32": Int32,
    "int64": Int64,
    "bigint": BigInt,
    "float32": Float32,
    "date": Instant,
}
_TAGS: dict[type, str] = {kind: tag for tag, kind in _KINDS.items()} | {
    bool: "boolean",
    int: "int64",
    float: "float64",
    str: "string",
    bytes: "bytes",
    Decimal: "decimal",
    list: "array",
    dict: "map",
    Struct: "struct",
}


class Api:
    """What the kit's template asks for; each method is explained there."""

    def schema(
        self,
        type: str,
        optional: bool,
        name: str | None,
        version: int | None,
        doc: str | None,
        parameters: Mapping[str, str] | None,
        fields: Iterable[tuple[str, Schema]],
        keys: Schema | None,
        values: Schema | None,
        default: Any,
        raw_default: Any,
    ) -> Schema:
        made = [Field(field, index, schema) for index, (field, schema) in enumerate(fields)]
        return Schema(Type(type), optional, default, name, version, doc, parameters, made, keys, values)

    def read_schema(self, schema: Schema) -> dict[str, Any]:
        known: dict[str, Any] = {
            "type": schema.type.value,
            "optional": schema.optional,
            "name": schema.name,
            "version": schema.version,
            "doc": schema.doc,
            "parameters": schema.parameters,
            "default": schema.default,
        }
        if schema.type is Type.STRUCT:
            known["fields"] = [(field.name, field.schema) for field in schema.fields]
        known["keys"], known["values"] = self.element_schemas(schema)
        return known

    def struct(self, schema: Schema, values: Mapping[str, Any]) -> Struct:
        return Struct(schema, values)

    def read_struct(self, struct: Struct) -> tuple[Schema, dict[str, Any]]:
        return struct.schema, {field.name: struct.get_without_default(field.name) for field in struct.schema.fields}

    def field_schema(self, schema: Schema, name: str) -> Schema:
        field = schema.field(name)
        assert field is not None
        return field.schema

    def element_schemas(self, schema: Schema) -> tuple[Schema | None, Schema | None]:
        keys = schema.key_schema if schema.type is Type.MAP else None
        return keys, schema.value_schema if schema.type in (Type.MAP, Type.ARRAY) else None

    def equal_schemas(self, one: Schema, other: Schema) -> bool:
        """A default that only the second one has, which is being read, does not count."""
        if one.default is not None or other.default is None:
            return one == other
        without = Schema(
            other.type,
            other.optional,
            None,
            other.name,
            other.version,
            other.doc,
            other.parameters,
            other.fields if other.type is Type.STRUCT else (),
            *self.element_schemas(other),
        )
        return one == without

    def typed(self, tag: str, value: Any) -> Any:
        if tag == "decimal":
            return decimal_of(*value)
        return _KINDS[tag](value) if tag in _KINDS else value

    def bare(self, value: Any) -> Any:
        if isinstance(value, Decimal):
            return unscaled_of(value), scale_of(value)
        return value.ms if isinstance(value, Instant) else value

    def tag_of(self, value: Any, schema: Schema | None) -> str:
        if type(value) is int and schema is not None and schema.type.value in _KINDS:
            return schema.type.value
        return _TAGS[type(value)] if type(value) in _TAGS else "array" if isinstance(value, list) else "map"

    def record(
        self,
        kind: str,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        headers: Iterable[tuple[str, Schema | None, Any]],
        offset: int,
    ) -> ConnectRecord:
        made = Headers(Header(*each) for each in headers)
        if kind == "sink":
            contents = (key_schema, key, value_schema, value)
            return SinkRecord(topic, partition, *contents, offset, timestamp, headers=made)
        return SourceRecord({}, {}, topic, partition, key_schema, key, value_schema, value, timestamp, made)

    def read_record(self, record: ConnectRecord) -> tuple[Any, ...]:
        contents = (record.key_schema, record.key, record.value_schema, record.value)
        headers = [(header.key, header.schema, header.value) for header in record.headers]
        return (record.topic, record.kafka_partition, record.timestamp, *contents, headers)

    def transform(self, class_name: str, config: Mapping[str, str]) -> Any:
        return self._configured(class_name, config)

    predicate = transform

    def _configured(self, class_name: str, config: Mapping[str, str]) -> Any:
        if f"{class_name}$Key" in TRANSFORMS:
            raise _AbstractClass(class_name)
        made = class_of(class_name)()
        made.configure(config)
        return made

    def converter(self, class_name: str, config: Mapping[str, str], is_key: bool, is_header: bool) -> Any:
        made = class_of(class_name)()
        made.configure(config, is_key)
        return _HeaderForm(made) if is_header else _DataForm(made)

    def error(self, error: Exception) -> tuple[str, str | None]:
        message = getattr(error, "message", str(error))
        return java_class_of(error), message


def _schema_out(template: Any, schema: Schema | None) -> dict[str, Any] | None:
    """As the template's, which takes defaults and versions of 0 for none and has no arrays without a schema."""
    if schema is None:
        return None
    known = {name: value for name, value in template.api.read_schema(schema).items() if value not in (None, {})}
    if not schema.optional:
        del known["optional"]
    if "fields" in known:
        known["fields"] = [{"name": name, "schema": _schema_out(template, each)} for name, each in known["fields"]]
    if schema.type is Type.MAP:
        known["keys"] = _schema_out(template, schema.key_schema)
    if schema.type in (Type.MAP, Type.ARRAY):
        known["values"] = _schema_out(template, schema.value_schema)
    if schema.default is not None:
        known["default"] = template.value_out(schema.default, schema)
    if schema.parameters:
        known["parameters"] = dict(sorted(schema.parameters.items()))
    return known


class _AbstractClass(Exception):
    java_class = "java.lang.InstantiationException"


class _DataForm:
    def __init__(self, converter: Converter) -> None:
        self.from_connect = converter.from_connect_data
        self.to_connect = converter.to_connect_data


class _HeaderForm:
    def __init__(self, converter: HeaderConverter) -> None:
        self.from_connect = converter.from_connect_header
        self._to_connect = converter.to_connect_header

    def to_connect(self, topic: str, name: str, data: bytes | None) -> Any:
        """Java has a null instead of a value and a schema for the text `null`, which the kit trips over."""
        found = self._to_connect(topic, name, data)
        if data is not None and found == NULL:
            raise NullPointerException()
        return found


def main() -> None:
    """Answer each case of standard input."""
    sys.path.insert(0, str(Path(os.environ.get("CONNECT_KIT", ".")) / "lib"))
    import adapter_template as template  # type: ignore[import-not-found]  # the kit's

    template.api = Api()
    template.schema_out = lambda schema: _schema_out(template, schema)
    run = getattr(template, sys.argv[1])
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(run(json.loads(line)), ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
