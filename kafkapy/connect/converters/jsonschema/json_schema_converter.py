"""JSON with a schema registry (`io.confluent.connect.json.JsonSchemaConverter`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from kafkapy.common.config_validators import OneOf
from kafkapy.common.java_text import java_double, java_float
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.converters.json_text import MISSING, json_string, read_json
from kafkapy.connect.converters.jsonschema.json_data import ABSENT, JsonData
from kafkapy.connect.converters.jsonschema.json_from_connect import JsonSchemaMaker
from kafkapy.connect.converters.jsonschema.json_options import JsonOptions
from kafkapy.connect.converters.jsonschema.json_to_connect import JsonSchemaReader
from kafkapy.connect.converters.registry.registry_configs import Row
from kafkapy.connect.converters.registry.registry_converter import Read, RegistryConverter, Target, Write
from kafkapy.connect.data.decimals import decimal_text
from kafkapy.connect.data.scalars import Float32
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.errors import DataException
from kafkapy.schemas.serde import with_references
from kafkapy.schemas.types import JSON
from kafkapy.schemas.types import Schema as RegistrySchema

_BOOLEAN: Final = ConfigType.BOOLEAN
_ROWS: Final[tuple[Row, ...]] = (
    ("object.additional.properties", _BOOLEAN, True, "Whether objects may have other properties."),
    ("use.optional.for.nonrequired", _BOOLEAN, False, "Whether properties that are not required are optional."),
    ("generalized.sum.type.support", _BOOLEAN, False, "Whether enums and unions have the same form in all formats."),
    ("flatten.singleton.unions", _BOOLEAN, True, "Whether a union of one type is that type."),
    ("ignore.default.for.nullables", _BOOLEAN, False, "Whether null is written for null, and not the default."),
)


class JsonSchemaConverter(RegistryConverter):
    """Reads and writes JSON; each schema of Connect is registered as a JSON Schema. Values are not validated.

    Settings: `schema.registry.url` (required), those of the page on Connect's data, and the credentials of the registry.

    Example:
        >>> from kafkapy.connect.data.schema import INT8_SCHEMA
        >>> converter = JsonSchemaConverter()
        >>> converter.configure({"schema.registry.url": "http://localhost:8081"})
        >>> converter.target(INT8_SCHEMA).schema.schema_str
        '{"type":"integer","connect.type":"int8"}'
    """

    java_class = "io.confluent.connect.json.JsonSchemaConverter"
    format_name, registry_type = "Json", JSON
    rows = _ROWS

    def config(self) -> ConfigDef:
        definitions = super().config()
        return definitions.define(
            "decimal.format",
            default="BASE64",
            validator=OneOf("NUMERIC", "BASE64", case_insensitive=True),
            doc="How decimals are written: BASE64, the bytes of their digits; or NUMERIC, a number.",
        )

    def set_options(self, parsed: Mapping[str, Any]) -> None:
        self._options = JsonOptions.of(parsed)
        self._data = JsonData(self._options)

    def writes_none(self, schema: Schema | None) -> bool:
        return schema is not None and self._data.node(schema, None) is not ABSENT

    def target(self, schema: Schema | None) -> Target:
        if schema is None:
            raise DataException("Values without a schema cannot be written with a JSON Schema; use JsonConverter")
        made = JsonSchemaMaker(self._options).convert(schema)
        text = json.dumps(made, separators=(",", ":"), ensure_ascii=False, default=float)
        return Target(RegistrySchema(text, JSON), made.get("title"))

    def writer(self, schema: Schema | None, written_with: RegistrySchema, own: bool) -> Write:
        return lambda value: json_text(self._data.node(schema, value)).encode(errors="replace")

    def reader(self, written_with: RegistrySchema, version: int | None) -> Read:
        used = with_references(self.registry, written_with) if written_with.references else {}
        others = {name: read_json(each.schema_str.encode()) for name, each in used.items()}
        document = read_json(written_with.schema_str.encode())
        schema = JsonSchemaReader(self._options, document, others).convert(version)

        def read(data: bytes) -> SchemaAndValue:
            node = read_json(data)
            return SchemaAndValue(schema, self._data.value(schema, None if node is MISSING else node))

        return read


def json_text(node: Any) -> str:
    """Return the text of a node, with numbers as Java writes them.

    Args:
        node: As `JsonData.node` gives it.

    Example:
        >>> json_text({"a": [1, 1.0, None]})
        '{"a":[1,1.0,null]}'
    """
    match node:
        case None:
            return "null"
        case bool():
            return "true" if node else "false"
        case str():
            return json_string(node)
        case int():
            return int.__repr__(node)
        case Decimal():
            return decimal_text(node)
        case float():
            text = java_float(node) if isinstance(node, Float32) else java_double(node)
            return text if node - node == 0 else f'"{text}"'
        case list():
            return f"[{','.join(map(json_text, node))}]"
    return "{" + ",".join(f"{json_string(key)}:{json_text(each)}" for key, each in node.items()) + "}"
