"""Names and settings of the mapping between Connect's data and Avro."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_plus

from kafkapy.connect.converters.registry.format_options import FormatOptions
from kafkapy.connect.data.schema import Schema, Type

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
DEFAULT_FULL_NAME: Final = f"{NAMESPACE}.{DEFAULT_NAME}"
MAP_ENTRY: Final = "MapEntry"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
DEFAULT_PRECISION: Final = 64
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_]")
_AVRO_KINDS: Final = {
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
    Type.ARRAY: "array",
    Type.MAP: "map",
    Type.INT8: "int",
    Type.INT16: "int",
}


@dataclass(frozen=True)
class AvroOptions(FormatOptions):
    """Settings of the mapping; the names are those of the converter, with `_` for `.`."""

    connect_meta_data: bool = True
    enhanced_avro_schema_support: bool = False
    scrub_invalid_names: bool = False
    generalized_sum_type_support: bool = False
    discard_type_doc_default: bool = False
    allow_optional_map_keys: bool = False
    flatten_singleton_unions: bool = True
    ignore_default_for_nullables: bool = False

    @property
    def enum_parameter(self) -> str:
        return GENERAL_ENUM if self.generalized_sum_type_support else ENUM

    def is_enum(self, schema: Schema) -> bool:
        """Return whether a schema of strings becomes an enum."""
        supported = self.generalized_sum_type_support or self.enhanced_avro_schema_support
        return supported and _has_enum(schema) and self.enum_parameter in (schema.parameters or {})

    def has_text_keys(self, schema: Schema) -> bool:
        """Return whether the keys of a map are those that Avro's maps have."""
        keys = schema.key_schema
        return keys is not None and keys.type is Type.STRING and (not keys.optional or self.allow_optional_map_keys)

    def name(self, name: str) -> str:
        """Return a name of a field as Avro has it."""
        return scrubbed(name) if self.scrub_invalid_names else name

    def full_name(self, name: str) -> str:
        """Return a full name as Avro has it."""
        return ".".join(map(scrubbed, name.split("."))) if self.scrub_invalid_names else name

    def member_name(self, schema: Schema, index: int) -> str:
        """Return the name of the field of a union's struct that has a member with this schema."""
        if self.generalized_sum_type_support:
            return f"connect_union_field_{index}"
        if schema.type is Type.STRUCT or _has_enum(schema) or is_fixed(schema):
            full = self.full_name(schema.name or "")
            return full if self.enhanced_avro_schema_support else full.rpartition(".")[2]
        return _AVRO_KINDS[schema.type]


def scrubbed(name: str) -> str:
    """Return a name with only the characters that Avro allows; others are replaced as in URLs, with _ for %."""
    if not name or _PLAIN.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*-._", errors="replace").replace("~", "%7E")
    return _OTHER.sub("_", f"x{encoded}" if encoded[0].isdigit() else encoded)


def is_union(schema: Schema) -> bool:
    """Return whether a struct stands for a union: one of its fields has a value."""
    return schema.type is Type.STRUCT and (schema.name == UNION or GENERAL_UNION in (schema.parameters or {}))


def is_fixed(schema: Schema) -> bool:
    """Return whether a schema stands for bytes of a fixed number."""
    return schema.type is Type.BYTES and schema.name is not None and FIXED_SIZE in (schema.parameters or {})


def _has_enum(schema: Schema) -> bool:
    parameters = schema.parameters or {}
    return schema.type is Type.STRING and (GENERAL_ENUM in parameters or ENUM in parameters)
