"""Names and settings of the mapping between Connect's data and JSON Schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkapy.connect.converters.registry.format_options import FormatOptions
from kafkapy.connect.data.schema import Schema, Type

NAMESPACE: Final = "io.confluent.connect.json"
ENUM: Final = f"{NAMESPACE}.Enum"
ONE_OF: Final = f"{NAMESPACE}.OneOf"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
NULL_SYMBOL: Final = "<NULL>"


@dataclass(frozen=True)
class JsonOptions(FormatOptions):
    """Settings of the mapping; the names are those of the converter, with `_` for `.`."""

    decimal_format: str = "BASE64"
    object_additional_properties: bool = True
    use_optional_for_nonrequired: bool = False
    generalized_sum_type_support: bool = False
    flatten_singleton_unions: bool = True
    ignore_default_for_nullables: bool = False

    @property
    def numeric_decimals(self) -> bool:
        return self.decimal_format.upper() == "NUMERIC"

    @property
    def enum_parameter(self) -> str:
        return GENERAL_ENUM if self.generalized_sum_type_support else ENUM


def is_one_of(schema: Schema) -> bool:
    """Return whether a struct stands for a union: one of its fields has a value."""
    return schema.type is Type.STRUCT and (schema.name == ONE_OF or GENERAL_UNION in (schema.parameters or {}))


def has_text_keys(schema: Schema) -> bool:
    """Return whether a map is an object in JSON."""
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


def sum_name(schema: Schema, index: int) -> str:
    """Return the name of the field of a union's struct that has the member of an index."""
    is_general = GENERAL_UNION in (schema.parameters or {})
    return f"connect_union_field_{index}" if is_general else f"{ONE_OF}.field.{index}"
