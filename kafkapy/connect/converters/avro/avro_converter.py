"""Avro with a schema registry (`io.confluent.connect.avro.AvroConverter`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.converters.avro.avro_anything import ANYTHING, ANYTHING_TYPE
from kafkapy.connect.converters.avro.avro_encoding import AvroInput
from kafkapy.connect.converters.avro.avro_from_connect import AvroSchemaMaker
from kafkapy.connect.converters.avro.avro_options import AvroOptions
from kafkapy.connect.converters.avro.avro_reader import reader
from kafkapy.connect.converters.avro.avro_to_connect import ConnectSchemas
from kafkapy.connect.converters.avro.avro_type import AvroTypeNode, avro_text, avro_type
from kafkapy.connect.converters.avro.avro_writer import AvroWriters
from kafkapy.connect.converters.registry.registry_configs import Row
from kafkapy.connect.converters.registry.registry_converter import Read, RegistryConverter, Target, Write
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.errors import DataException
from kafkapy.schemas.avro_text import json_of
from kafkapy.schemas.serde import with_references
from kafkapy.schemas.types import AVRO
from kafkapy.schemas.types import Schema as RegistrySchema

_BOOLEAN = ConfigType.BOOLEAN
_ROWS: Final[tuple[Row, ...]] = (
    (
        "connect.meta.data",
        _BOOLEAN,
        True,
        "Whether Avro's schemas have names, versions, docs and parameters of Connect's.",
    ),
    ("enhanced.avro.schema.support", _BOOLEAN, False, "Whether enums and the namespaces of union members are kept."),
    ("scrub.invalid.names", _BOOLEAN, False, "Whether characters that Avro does not allow in names are replaced by _."),
    ("generalized.sum.type.support", _BOOLEAN, False, "Whether enums and unions have the same form in all formats."),
    (
        "discard.type.doc.default",
        _BOOLEAN,
        False,
        "Whether docs of types are left out, and docs of fields are Connect's.",
    ),
    ("allow.optional.map.keys", _BOOLEAN, False, "Whether maps with optional text as keys are maps in Avro."),
    ("flatten.singleton.unions", _BOOLEAN, True, "Whether a union of one type is that type."),
    ("ignore.default.for.nullables", _BOOLEAN, False, "Whether null is written for null, and not the default."),
)


class AvroConverter(RegistryConverter):
    """Reads and writes Avro; each schema of Connect is registered as one of Avro.

    Settings: `schema.registry.url` (required), those of the page on Connect's data, and the credentials of the registry.

    Example:
        >>> from kafkapy.connect.data.schema import INT8_SCHEMA
        >>> converter = AvroConverter()
        >>> converter.configure({"schema.registry.url": "http://localhost:8081"})
        >>> converter.target(INT8_SCHEMA).schema.schema_str
        '{"type":"int","connect.type":"int8"}'
    """

    java_class = "io.confluent.connect.avro.AvroConverter"
    format_name, registry_type = "Avro", AVRO
    rows = _ROWS

    def set_options(self, parsed: Mapping[str, Any]) -> None:
        self._options = AvroOptions.of(parsed)
        self._writing = AvroWriters(self._options)

    def target(self, schema: Schema | None) -> Target:
        made = self._type(schema)
        return Target(RegistrySchema(avro_text(made)), made.name)

    def _type(self, schema: Schema | None) -> AvroTypeNode:
        return ANYTHING_TYPE if schema is None else AvroSchemaMaker(self._options).convert(schema)

    def writer(self, schema: Schema | None, written_with: RegistrySchema, own: bool) -> Write:
        put = self._writing.writer(schema, self._type(schema) if own else self._parsed_type(written_with))

        def write(value: Any) -> bytes:
            out = bytearray()
            put(out, value)
            return bytes(out)

        return write

    def reader(self, written_with: RegistrySchema, version: int | None) -> Read:
        found = self._parsed_type(written_with)
        schema = None if found.name == ANYTHING else ConnectSchemas(self._options).convert(found, version=version)
        read_value = reader(schema, found)

        def read(data: bytes) -> SchemaAndValue:
            source = AvroInput(data)
            value = read_value(source)
            if source.at != len(data):
                raise DataException(f"{len(data) - source.at} bytes are left behind the Avro value")
            return SchemaAndValue(schema, value)

        return read

    def _parsed_type(self, schema: RegistrySchema) -> AvroTypeNode:
        named: dict[str, AvroTypeNode] = {}
        if schema.references:
            for used in with_references(self.registry, schema).values():
                avro_type(json_of(used.schema_str), named)
        return avro_type(json_of(schema.schema_str), named)
